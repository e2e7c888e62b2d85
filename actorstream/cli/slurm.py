"""`actorstream slurm`: the batch script that runs a topology under SLURM. Writes text; submits nothing."""

from __future__ import annotations

import re
import shlex
import sys
from datetime import timedelta
from math import inf
from pathlib import Path
from string import Template
from typing import Annotated, Any

from cyclopts import Parameter

from actorstream.cli.main import DONE
from actorstream.errors import ConfigurationError, Problem

SCRIPT = Template("""\
#!/usr/bin/env bash
#SBATCH --job-name=$name
#SBATCH --nodes=$nodes
#SBATCH --ntasks=$tasks$even
#SBATCH --cpus-per-task=$cpus
#SBATCH --time=$time
#SBATCH --signal=$to_whom@$notice
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --chdir=$folder
# Made by `actorstream slurm`. Each task is a rank of the run, and worker i of the plan is rank i.
#
# SLURM sends SIGTERM to the run $notice s before the time limit. $ending
${resume}status=0
$start
${requeue}exit "$$status"
""")
RESUME = """\
resume=()
if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then
    resume=(--resume)
fi
"""
REQUEUE = """\
if [ "$status" -eq 75 ]; then # suspended at a checkpoint
    scontrol requeue "$SLURM_JOB_ID"
fi
"""
BY_SRUN = """\
srun --mpi={mpi} --kill-on-bad-exit=0 --wait=15 \\
    {command} || status=$?"""
BY_MPIEXEC = """\
{command} & # calls mpiexec, which starts ranks on all nodes by itself
run=$!
trap 'told=yes; kill -TERM "$run" 2>/dev/null' TERM
while
    told=
    status=0
    wait "$run" || status=$?
    [ -n "$told" ] # the signal has ended the wait, and not the run
do :; done"""
MPIEXEC = "mpiexec"
_LIMIT = re.compile(r"(?:(?P<days>\d+)-)?(\d+)(?::(\d\d?))?(?::(?P<seconds>\d\d?))?")
TRANSPORTS = ("mpi", "zmq")
SUSPENDS = (
    "The run makes a checkpoint and stops with status 75.\n"
    "# Then the job goes back into the queue, and the next one goes on from there. So does a job whose node has failed."
)
DRAINS = (
    "Without [checkpoint] in the deployment the sources end\n"
    "# there, and what they have read is committed (status 130). A job whose node has failed starts anew."
)


def slurm(
    topology: Path,
    /,
    *,
    nodes: Annotated[int, Parameter(name=["--nodes", "-N"])] = 1,
    tasks: Annotated[int | None, Parameter(name=["--ntasks", "-n"])] = None,
    cpus: Annotated[int | None, Parameter(name=["--cpus-per-task", "-c"])] = None,
    time: Annotated[str, Parameter(name=["--time", "-t"])] = "1:00:00",
    notice: timedelta | None = None,
    transport: str | None = None,
    mpi: str = MPIEXEC,
    deploy: Path | None = None,
    plan: Path | None = None,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    report: Path | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
) -> int:
    """Write the batch script that runs a topology on several machines under SLURM.

    `sbatch SCRIPT` submits it. Before the time limit, and before the job makes room for another one, the run makes a
    checkpoint and stops; the job is queued again and goes on from there. This needs a deployment with [checkpoint] whose
    folder all nodes share. Exit status: 0 written, 2 the input is wrong.

    Parameters
    ----------
    topology
        The topology file (TOML), on a file system that all nodes share.
    nodes
        How many machines.
    tasks
        How many ranks: worker processes; one a node unless given.
    cpus
        Cores of each rank: 1 and the threads of the deployment's pool unless given.
    time
        The time limit, as SLURM writes it: minutes, or H:MM:SS.
    notice
        How long before the time limit the run is told to stop; 2 minutes unless given. A checkpoint has to fit in.
    transport
        mpi, or zmq, which needs no MPI; that of the deployment unless given, and mpi if that is another.
    mpi
        How ranks of MPI start: by the mpiexec of this environment, or by srun with this process manager (pmi2, pmix;
        `srun --mpi=list` shows what there is).
    deploy
        The deployment file (TOML); its workers are the ranks.
    plan
        An execution plan with as many workers as ranks, instead of `deploy`.
    set
        Overrides one key: actors.ACTOR.KEY=VALUE or deploy.KEY=VALUE; may be given several times.
    report
        Where the job writes its report.
    output
        Writes the script to this file; to stdout unless given.
    """
    from actorstream.cli.output_file import check_output, write_output
    from actorstream.launch.files import JobFiles
    from actorstream.plan.compile import read_job

    count = nodes if tasks is None else tasks
    notice = timedelta(minutes=2) if notice is None else notice
    _check(nodes, count, cpus, time, notice)
    keys: dict[str, Any] = {}
    if plan is None:
        keys = {"transport": _transport(transport, deploy, set or []), "workers": count}
    job = read_job(topology, deploy, set or [], plan, **keys)
    way = job.deploy.transport
    if plan is not None and (job.deploy.workers != count or way not in TRANSPORTS):
        raise ConfigurationError(
            Problem(
                "--plan",
                f"is for {job.deploy.workers} workers over {way!r}",
                f"{count} workers over 'mpi' or 'zmq', one for each rank",
            )
        )
    by_mpiexec = way == "mpi" and mpi == MPIEXEC
    files = JobFiles(topology.absolute(), _absolute(deploy), tuple(set or []), _absolute(plan))
    words = [sys.executable, "-m", "actorstream", "launch", *files.arguments()]
    words += [] if plan is not None else ["--transport", way]
    words += ["--workers", str(count)] if by_mpiexec and plan is None else []
    words += [] if report is None else ["--report", str(report.absolute())]
    suspends = job.deploy.checkpoint is not None
    command = shlex.join(words) + (' "${resume[@]}"' if suspends else "")
    text = SCRIPT.substitute(
        name=shlex.quote(" ".join(job.graph.name.split())),
        nodes=nodes,
        tasks=count,
        even="" if count % nodes else f"\n#SBATCH --ntasks-per-node={count // nodes}",
        cpus=cpus or 1 + job.deploy.threads,
        time=time,
        notice=round(notice.total_seconds()),
        folder=shlex.quote(str(Path.cwd())),
        to_whom="B:TERM" if by_mpiexec else "TERM",
        start=(BY_MPIEXEC if by_mpiexec else BY_SRUN).format(
            mpi=shlex.quote(mpi) if way == "mpi" else "none", command=command
        ),
        ending=SUSPENDS if suspends else DRAINS,
        resume=RESUME if suspends else "",
        requeue=REQUEUE if suspends else "",
    )
    if output is None:
        print(text, end="")
    else:
        check_output(output, "--output")
        write_output(output, text, "--output")
    return DONE


def _transport(given: str | None, deploy: Path | None, sets: list[str]) -> str:
    """The transport of the job. ConfigurationError: it is none that goes between machines."""
    from actorstream.topology.load import load_deploy

    if given is None:
        said = load_deploy(deploy, sets).transport
        return said if said in TRANSPORTS else TRANSPORTS[0]
    if given not in TRANSPORTS:
        raise ConfigurationError(Problem("--transport", f"is {given!r}", "mpi or zmq"))
    return given


def _check(nodes: int, tasks: int, cpus: int | None, time: str, notice: timedelta) -> None:
    """ConfigurationError lists what SLURM would refuse, or do in another way than its user expects."""
    given: list[tuple[str, Any, int]] = [("--nodes", nodes, 1), ("--ntasks", tasks, nodes)]
    given += [] if cpus is None else [("--cpus-per-task", cpus, 1)]
    problems = [
        Problem(name, f"is {value}", f"at least {least}") for name, value, least in given if value < least
    ]
    limit = _seconds(time)
    if limit is None:
        allowed = "minutes, M:SS, H:MM:SS, D-H, D-H:MM, D-H:MM:SS, or unlimited"
        problems.append(Problem("--time", f"is {time!r}", allowed))
    if notice < timedelta(seconds=1):
        problems.append(Problem("--notice", f"is {notice.total_seconds():g} s", "at least 1s"))
    elif limit is not None and limit <= notice.total_seconds():
        what = f"is {notice.total_seconds():g} s, and the time limit is {limit:g} s: the run would stop as it starts"
        problems.append(Problem("--notice", what, "less than --time"))
    if problems:
        raise ConfigurationError(problems)


def _seconds(time: str) -> float | None:
    """A time limit as SLURM writes it. None: it is none."""
    if time.lower() in ("unlimited", "infinite"):
        return inf
    found = _LIMIT.fullmatch(time)
    if found is None:
        return None
    days, first, second, third = (int(each or 0) for each in found.groups())
    if found["days"] is not None or found["seconds"] is not None:
        return float(days * 86400 + first * 3600 + second * 60 + third)
    return float(first * 60 + second)


def _absolute(path: Path | None) -> Path | None:
    return path.absolute() if path is not None else None
