"""`actorstream launch`: runs a topology under a deployment. Parses and shows; what runs is `launch.run`."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from actorstream.cli.main import DONE, INTERRUPTED, SUSPENDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.launch.files import JobFiles
    from actorstream.launch.run import RunResult
    from actorstream.plan.job import Job
    from actorstream.plan.replanning import PlanComparison
    from actorstream.plan.rlas_inputs import RankHosts
    from actorstream.topology.findings import HostFindings


def launch(
    topology: Path,
    /,
    *,
    deploy: Path | None = None,
    plan: Path | None = None,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    workers: int | None = None,
    transport: str | None = None,
    rank: int | None = None,
    report: Path | None = None,
    resume: Annotated[bool, Parameter(negative=())] = False,
    replan: Path | None = None,
    on: str | None = None,
    spark: Annotated[list[str] | None, Parameter(negative=())] = None,
    spark_logs: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Run a topology to the end of its input.

    The first Ctrl-C ends the sources and commits what has been read. SIGTERM does the same without [checkpoint]; with it,
    the run makes a checkpoint and stops there, and --resume goes on. A second signal stops at once and commits nothing.
    Exit status: 0 done, 1 the run failed, 2 the input is wrong, 75 suspended, 130 interrupted.

    Parameters
    ----------
    topology
        The topology file (TOML): what runs.
    deploy
        The deployment file (TOML): how and where.
    plan
        An execution plan written by `actorstream plan --save` or `--json`; it has its own deployment, which is used
        instead of `deploy`, `workers` and `transport`.
    set
        Overrides one key: actors.ACTOR.KEY=VALUE or deploy.KEY=VALUE; may be given several times.
    workers
        Worker processes; short for --set deploy.workers=N.
    transport
        How bytes move between them; short for --set deploy.transport=T.
    rank
        Which worker this process is, from 0, where each host starts its own (ACTORSTREAM_RANK says the same).
    report
        Writes the report of the run to this file, as one JSON object.
    resume
        Goes on from the last checkpoint of the deployment's [checkpoint]; from the beginning if there is none yet.
    replan
        After a run with placement "rlas": writes the plan that the measured costs lead to into this file, for --plan of a
        new run; this run's own plan if no other is worth a change. Refused at the start where the plan has no model.
    on
        Runs the workers on a Spark cluster, as the tasks of one barrier stage: spark://HOST:7077, local-cluster[2,1,1024],
        yarn, k8s://… (needs actorstream[spark,zmq]).
    spark
        With --on, one setting of Spark: NAME=VALUE; may be given several times.
    spark_logs
        With --on, shows Spark's logs on stderr.
    quiet
        Shows no progress.
    json_
        Prints the report to stdout.
    """
    from actorstream.cli.output_file import check_output
    from actorstream.launch.files import JobFiles
    from actorstream.launch.progress import Progress
    from actorstream.launch.ranks.launch_way import LaunchWay
    from actorstream.launch.resume import restore_job
    from actorstream.launch.run import run_job
    from actorstream.launch.signals import COMMAND, Terminated
    from actorstream.plan.compile import check_replan, read_job

    if not gc.isenabled():
        gc.freeze()  # the modules are there
        gc.enable()
    started = time.monotonic() - since_process_start()
    _check_on(
        on,
        {"--replan": replan, "--plan": plan, "--rank": rank},
        {"--spark": spark, "--spark-logs": spark_logs},
    )
    if on is not None:
        from actorstream.cli.launch_on import launch_on

        files = JobFiles(topology, deploy, tuple(set or []), plan)
        return launch_on(
            on,
            files,
            workers,
            transport,
            report=report,
            resume=resume,
            quiet=quiet,
            json_=json_,
            options=spark or [],
            logs=spark_logs,
        )
    if rank is not None:
        os.environ["ACTORSTREAM_RANK"] = str(rank)
    files = JobFiles(topology, deploy, tuple(set or []), plan)
    try:
        with COMMAND.raising():
            way = LaunchWay.of(files, transport, workers)
    except Terminated:
        raise terminated_early(files, resume) from None
    if way.assembly is not None:
        from actorstream.cli.rank import launch_rank

        return launch_rank(
            way.assembly,
            files,
            workers,
            transport,
            report=report,
            replan=replan,
            resume=resume,
            quiet=quiet,
            json_=json_,
            started=started,
        )
    if report is not None:
        check_output(report, "--report")
    if replan is not None:
        check_output(replan, "--replan")
    if way.starter is not None:
        if rank is not None:
            raise _rank_of_none(rank)
        way.start()
    try:
        with COMMAND.raising():
            job = read_job(topology, deploy, set or [], plan, workers=workers, transport=transport)
            if replan is not None:
                check_replan(job, "--replan")
            if resume:
                restore_job(job)
    except Terminated:
        raise terminated_early(files, resume) from None
    if rank is not None:
        raise _rank_of_none(rank)
    if not quiet:
        _note_copies(job.deploy.transport)
    shown: list[Progress] = []

    def on_start(launcher: Any, sampler: Any) -> Any:
        if quiet:
            return None
        shown.append(Progress(job, sampler))
        return shown[0].tick

    try:
        signals = COMMAND if COMMAND.is_installed else None
        memory = report is not None or json_
        result = run_job(job, started=started, memory=memory, on_start=on_start, signals=signals)
    finally:
        for progress in shown:
            progress.stop()
    found = compare_plan(job, result, topology, set or [])
    status = told(result, job.processes, report=report, quiet=quiet, json_=json_)
    tell_comparison(found, replan, quiet=quiet)
    return status


def compare_plan(
    job: Job,
    result: RunResult,
    topology: Path,
    sets: Sequence[str],
    hosts: RankHosts | None = None,
    findings: HostFindings | None = None,
) -> PlanComparison | None:
    """Compares the run with its plan, and puts what came out into its report. None: the plan was not made from a model, or
    what it was made from has changed. `hosts`: of its ranks. `findings`: of this host."""
    if job.plan.model is None:
        return None
    from actorstream.plan.compile import compared
    from actorstream.plan.replanning import as_json

    found = compared(job, result.report, topology, sets, hosts, findings)
    if found is not None:
        result.report["model"] = as_json(found)
    return found


def tell_comparison(found: PlanComparison | None, replan: Path | None, *, quiet: bool) -> None:
    """Says what came out of a comparison, and writes the plan that is to be written. RunError: it cannot be."""
    from actorstream.cli.output_file import write_output

    lines: list[str] = []
    if found is not None:
        from actorstream.plan.replanning import described

        lines = described(found)
    if replan is not None and found is not None:
        write_output(replan, found.plan.saved(), "--replan")
        lines.append(f"wrote {replan}: {'another plan' if found.is_other else 'the plan of this run'}")
    elif replan is not None:
        lines.append(
            f"{replan} is not written: topology, profile or machine have changed since the run began"
        )
    for line in lines if not quiet else ():
        print(line, file=sys.stderr)


def told(result: RunResult, processes: int, *, report: Path | None, quiet: bool, json_: bool) -> int:
    """Says how a run has ended, as its options ask. Returns the exit status."""
    from actorstream.cli.output_file import write_output

    if report is not None:
        write_output(report, json.dumps(result.report, indent=2) + "\n", "--report")
    if json_:
        print(json.dumps(result.report, indent=2))
    if not quiet:
        summary(result, processes)
    if result.suspended is not None:
        return SUSPENDED
    return INTERRUPTED if result.interrupted is not None else DONE


def _rank_of_none(rank: int) -> Exception:
    """Returns the error of a `--rank` where no process is started for each worker."""
    from actorstream.errors import ConfigurationError, Problem

    allowed = (
        "with transport zmq and [[hosts]] or network.discovery; other runs start their workers themselves"
    )
    return ConfigurationError(Problem("--rank", f"is {rank}", allowed))


def _check_on(master: str | None, against: dict[str, Any], only: dict[str, Any]) -> None:
    """Raises ConfigurationError for options that do not go with `--on`, and for those that go only with it.

    against, only: the options of each kind, by name, as given."""
    from actorstream.errors import ConfigurationError, Problem

    problems = []
    if master is None:
        problems = [
            Problem(name, "is given without --on", "with --on MASTER, on a Spark cluster")
            for name, value in only.items()
            if value
        ]
    else:
        what = f"is given with --on {master}, whose executors are not the hosts of a plan"
        problems = [
            Problem(name, what, "without --on") for name, value in against.items() if value is not None
        ]
    if problems:
        raise ConfigurationError(problems)


def _note_copies(transport: str) -> None:
    """Says that mpiexec or srun has started several launches, each of which is a whole run."""
    from actorstream.transports.mpi.world import is_first_rank, is_rank, started_ranks

    if is_rank() and started_ranks() > 1 and is_first_rank():
        print(
            f"note: {started_ranks()} processes were started, and each runs the whole topology by itself, since workers of "
            f"transport {transport!r} are no ranks; --transport mpi makes the processes the workers of one run",
            file=sys.stderr,
        )


def terminated_early(files: JobFiles, resume: bool) -> Exception:
    """Returns the error of a command that SIGTERM ends before its run begins."""
    from actorstream.errors import ActorstreamError
    from actorstream.launch.resume import stopped_early

    try:
        spec = files.deployment().checkpoint
    except ActorstreamError:
        spec = None
    return stopped_early(spec, resumes=resume)


def summary(result: RunResult, processes: int) -> None:
    """One line on stderr about what happened."""
    report = result.report
    read = sum(rows[0] for rows in _sources(report))
    ending = "interrupted, committed what was read" if result.interrupted is not None else "done"
    if result.suspended is not None:
        ending = f"{result.suspended}; read until it stopped"
    dead = f", {report['dead']:,} dead letters" if report["dead"] else ""
    workers = f"{report['workers']} worker{'s' if report['workers'] > 1 else ''}"
    if processes < report["workers"]:
        workers += " in one process, which share one interpreter lock"
    print(
        f"{report['topology']}: {ending}: {read:,} events in {report['elapsed_s']:.2f} s on {workers} "
        f"({report['transport']}){dead}",
        file=sys.stderr,
    )
    for line in _refusals(report):
        print(line, file=sys.stderr)


def _refusals(report: dict[str, Any]) -> list[str]:
    """A line for each binding that the system has refused to some workers."""
    refused: dict[str, list[str]] = {}
    for each in report.get("placement", []):
        if "refused" in each:
            refused.setdefault(each["refused"], []).append(str(each["worker"]))
    return [
        f"workers {', '.join(workers)} could not be bound as planned, and ran where the system put them: {why}"
        for why, workers in refused.items()
    ]


def _sources(report: dict[str, Any]) -> list[tuple[int]]:
    rows = [
        (sum(row["out"] for row in replicas), sum(row["in"] for row in replicas))
        for replicas in report["actors"].values()
    ]
    return [(out,) for out, taken in rows if not taken]


def since_process_start() -> float:
    """Seconds since this process was started; 0 where /proc does not say."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return 0.0
