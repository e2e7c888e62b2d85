"""`actorstream launch --on MASTER`: runs the workers on a Spark cluster. Parses and shows; what runs is `launch.cluster`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from actorstream.cli.launch import terminated_early
from actorstream.errors import ConfigurationError, NotInstalledError, Problem

if TYPE_CHECKING:
    from actorstream.launch.files import JobFiles


def launch_on(
    master: str,
    files: JobFiles,
    workers: int | None,
    transport: str | None,
    *,
    report: Path | None,
    resume: bool,
    quiet: bool,
    json_: bool,
    options: list[str],
    logs: bool,
) -> int:
    """Returns the exit status of the run."""
    from actorstream.launch.signals import COMMAND, Terminated
    from actorstream.plan.compile import read_job

    for module, extra in (("pyspark", "spark"), ("zmq", "zmq")):
        if find_spec(module) is None:
            raise NotInstalledError("launch --on", extra)
    if transport not in (None, "zmq"):
        raise ConfigurationError(
            Problem(
                "--transport",
                f"is {transport!r} with --on",
                "zmq",
                "workers of one host share memory all the same",
            )
        )
    settings = dict(map(_setting, options))
    try:
        with COMMAND.raising():
            job = read_job(
                files.topology, files.deploy, files.sets, files.plan, workers=workers, transport="zmq"
            )
    except Terminated:
        raise terminated_early(files, resume) from None
    from actorstream.launch.cluster.cluster_run import ClusterRun
    from actorstream.spark.source import tasks_in_application

    arguments = files.arguments()
    given = (("--report", report), ("--resume", resume), ("--quiet", quiet), ("--json", json_))
    for name, value in given:
        if value:
            arguments += [name] if value is True else [name, str(value)]
    run = ClusterRun(
        master,
        arguments,
        files.topology,
        job.processes,
        tasks=sum(map(tasks_in_application, job.graph.sources())),
        resumes=job.deploy.checkpoint is not None,
        options=settings,
        logs=logs,
    )
    try:
        return run.run(COMMAND if COMMAND.is_installed else None)
    except Terminated:
        raise terminated_early(files, resume) from None


def _setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name.startswith("spark."):
        raise ConfigurationError(Problem("--spark", f"is {text!r}", "NAME=VALUE", "spark.executor.memory=2g"))
    return name, value
