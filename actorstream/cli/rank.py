"""`actorstream launch` in a process that mpiexec, srun or a user has started as one of several. Parses and shows; what runs is
`launch.ranks`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.cli.launch import compare_plan, tell_comparison, terminated_early, told
from actorstream.cli.main import DONE, FAILED, exit_code
from actorstream.cli.output_file import check_output
from actorstream.control.interrupted import Interrupted
from actorstream.control.messages import Leave
from actorstream.errors import ActorstreamError, ConfigurationError, Problem
from actorstream.launch.progress import Progress
from actorstream.launch.ranks.identity import RefusedError
from actorstream.launch.ranks.run import Rank
from actorstream.launch.resume import restore_job
from actorstream.launch.signals import COMMAND, Terminated
from actorstream.plan.compile import check_replan, read_job

if TYPE_CHECKING:
    from actorstream.launch.files import JobFiles
    from actorstream.launch.report import Sampler
    from actorstream.plan.job import Job
    from actorstream.plan.rlas_inputs import RankHosts
    from actorstream.topology.findings import HostFindings
    from actorstream.topology.plan import ExecutionPlan
    from actorstream.transports.assembly import Assembly


def launch_rank(
    assembly: Assembly,
    files: JobFiles,
    workers: int | None,
    transport: str | None,
    *,
    report: Path | None,
    replan: Path | None,
    resume: bool,
    quiet: bool,
    json_: bool,
    started: float,
) -> int:
    """Returns the exit status; it is the same for all ranks."""

    def compile_rank(
        findings: HostFindings, planned: ExecutionPlan | None = None, hosts: RankHosts | None = None
    ) -> Job:
        if workers not in (None, assembly.size):
            raise ConfigurationError(
                Problem(
                    "--workers", f"is {workers}", f"{assembly.size}, the number of ranks that were started"
                )
            )
        for path, name in ((report, "--report"), (replan, "--replan")):
            if path is not None and rank.is_home:
                check_output(path, name)
        with _raising(files, resume):
            job = read_job(
                files.topology,
                files.deploy,
                files.sets,
                files.plan,
                planned,
                hosts=hosts,
                undecided=hosts is None,
                findings=findings,
                workers=assembly.size,
                transport=transport,
            )
            if job.processes != assembly.size:
                raise ConfigurationError(
                    Problem("--plan", f"has {job.processes} workers", f"{assembly.size}, one for each rank")
                )
            if job.deploy.network.home >= assembly.size:
                allowed = f"a rank of the run, from 0 to {assembly.size - 1}"
                raise ConfigurationError(Problem("network.home", f"is {job.deploy.network.home}", allowed))
            if replan is not None:
                check_replan(job, "--replan")
            if resume:
                restore_job(job)
        return job

    shown: list[Progress] = []

    def on_start(sampler: Sampler) -> Any:
        if quiet:
            return None
        shown.append(Progress(sampler.job, sampler))
        return shown[0].tick

    rank = Rank(assembly, exit_code)
    status, text = FAILED, ""
    try:
        job = rank.agree(compile_rank)
        memory = report is not None or json_
        result = rank.run(COMMAND, started=started, memory=memory, on_start=on_start)
        for progress in shown:
            progress.stop()
        if isinstance(result, Leave):
            status, text = result.status, result.text
            if text and not assembly.shares_output:
                print(f"actorstream: {text}", file=sys.stderr)
        else:
            found = compare_plan(job, result, files.topology, files.sets, rank.hosts, rank.findings)
            status = told(result, job.processes, report=report, quiet=quiet, json_=json_)
            tell_comparison(found, replan, quiet=quiet)
    except BaseException as error:
        for progress in shown:
            progress.stop()
        status, text = _failed(error, assembly, rank)
        if not isinstance(error, Exception | KeyboardInterrupt):
            raise
    finally:
        rank.leave(status, text)
    return status


@contextmanager
def _raising(files: JobFiles, resume: bool) -> Iterator[None]:
    """Within, a signal ends what is done, by an error that this rank can tell the others."""
    try:
        with COMMAND.raising():
            yield
    except Terminated:
        raise terminated_early(files, resume) from None
    except KeyboardInterrupt:
        raise Interrupted(drained=False, began=False) from None


def _failed(error: BaseException, assembly: Assembly, rank: Rank) -> tuple[int, str]:
    """Says what has ended the run, once for all ranks that share an output. Returns exit status and text."""
    status = error.status if isinstance(error, RefusedError) else exit_code(error)
    text = str(error) if isinstance(error, ActorstreamError) else repr(error)
    if isinstance(error, KeyboardInterrupt):
        status, text = 130, "interrupted"
    if status is None:
        import traceback

        traceback.print_exception(error)
        return FAILED, text
    if _speaks(error, assembly, rank):
        print(f"actorstream: {text}", file=sys.stderr, flush=True)
    return status or DONE, text


def _speaks(error: BaseException, assembly: Assembly, rank: Rank) -> bool:
    """Whether this rank says what has ended the run: of those that share an output, only one."""
    if rank.is_home or not assembly.shares_output:
        return True
    if isinstance(error, RefusedError):
        return False
    speaker = rank.speaker
    return speaker is None or speaker == assembly.rank or assembly.outlives(speaker)
