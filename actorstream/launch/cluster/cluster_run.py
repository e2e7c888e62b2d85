"""ClusterRun: a launch whose workers are the tasks of one barrier stage of Spark. Reads no topology; the workers do."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from actorstream.errors import ConfigurationError, Problem
from actorstream.launch.cluster import rank_task
from actorstream.launch.cluster.archives import write_environment, write_project
from actorstream.launch.cluster.rank_monitor import RankMonitor
from actorstream.launch.signals import early_error
from actorstream.spark.failure import spark_error
from actorstream.spark.hub import DriverHub
from actorstream.spark.session import QUICK_START, spark_session
from actorstream.spark.session_driver import SessionDriver
from actorstream.spark.slots import NONE_HINT, SLOTS_S, slots_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from actorstream.launch.signals import Signals

AGAIN_S = 0.1
SETTINGS = {
    **dict.fromkeys(
        ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"), QUICK_START
    ),  # they only wait
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "1",  # the slots were counted before
    "spark.excludeOnFailure.enabled": "false",
}


class ClusterRun:
    """One launch.

    Args:
        master: as Spark takes it.
        arguments: of `actorstream launch` for each worker.
        topology: the file, which executors that do not see it are sent with its folder.
        workers: how many.
        tasks: of sources that read from Spark, which run in the same application.
        resumes: whether a stage that Spark starts again goes on from a checkpoint.
        options, logs: of the session.
    """

    def __init__(
        self,
        master: str,
        arguments: Sequence[str],
        topology: Path,
        workers: int,
        *,
        tasks: int,
        resumes: bool,
        options: Mapping[str, str],
        logs: bool,
    ) -> None:
        self.master, self.workers, self.tasks = master, workers, tasks
        self.slots = workers + tasks
        self._arguments, self._topology, self._resumes = tuple(arguments), topology, resumes
        self._options, self._logs = {**SETTINGS, **options}, logs
        self._statuses: dict[int, int] = {}
        self._failure: BaseException | None = None

    def run(self, signals: Signals | None) -> int:
        """Returns the exit status of the run. ConfigurationError: there are too few slots. SparkError: Spark does not start,
        or gave the stage up. KeyboardInterrupt, Terminated: a signal came before there were workers."""
        self._tell(f"starting Spark, master {self.master}")
        raising = signals.raising if signals is not None else nullcontext
        with TemporaryDirectory(prefix="actorstream-archives-") as folder, ExitStack() as stack:
            with raising():
                spark = stack.enter_context(spark_session(self.master, self._options, logs=self._logs))
                self._check_slots(spark)
            address = spark.conf.get("spark.driver.host") or ""
            monitor = RankMonitor(address, self.workers)
            hub = DriverHub(partial(SessionDriver, spark), address) if self.tasks else None
            try:
                with raising():
                    command = self._command(spark, monitor, hub, Path(folder))
                reading = (
                    f", {self.tasks} {'tasks that read' if self.tasks > 1 else 'task that reads'}"
                    if self.tasks
                    else ""
                )
                self._tell(f"{self.workers} workers{reading} in {self.slots} slots")
                return self._watch(spark, monitor, command, signals)
            finally:
                if signals is not None:
                    signals.settle()
                monitor.close()
                if hub is not None:
                    hub.close()

    def _watch(
        self,
        spark: SparkSession,
        monitor: RankMonitor,
        command: rank_task.RankCommand,
        signals: Signals | None,
    ) -> int:
        """Runs the stage in another thread, since a signal is only heard by a main thread that does not wait in Java. One
        that no worker can hear yet cancels the stage, as often as it takes: Spark may not have the stage yet, either."""
        thread = threading.Thread(
            target=self._run_stage, args=(spark, command), name="spark-stage", daemon=True
        )
        thread.start()
        heard: list[int] = []
        if signals is not None:
            signals.tell(heard.append)
        early: list[int] = []
        while thread.is_alive():
            thread.join(AGAIN_S)
            while heard and monitor.signal(heard[0]):
                heard.pop(0)
                early.clear()
            if heard:
                if not monitor.attempts:
                    early = list(heard)
                spark.sparkContext.cancelAllJobs()
        if self._failure is not None and early:
            raise early_error(early) from None
        if self._failure is not None:
            raise spark_error("running the workers", self._failure) from None
        return self._statuses[0]

    def _run_stage(self, spark: SparkSession, command: rank_task.RankCommand) -> None:
        try:
            ranks = spark.sparkContext.parallelize(range(self.workers), self.workers).barrier()
            # Spark starts a barrier stage again only if a shuffle follows it
            self._statuses = dict(ranks.mapPartitions(command).repartition(1).collect())
        except BaseException as error:
            self._failure = error

    def _check_slots(self, spark: SparkSession) -> None:
        """Waits for the executors."""
        found = slots_for(spark, self.slots, SLOTS_S)
        if found < self.slots:
            reading = f" with {self.tasks} task{'s' * (self.tasks > 1)} of sources" if self.tasks else ""
            what = (
                f"is {self.workers}, which{reading} needs {self.slots} slots, and {self.master} has {found}"
            )
            most = found - self.tasks
            hint = (
                "executors × cores of each; the master's page says who uses the others"
                if found
                else NONE_HINT
            )
            allowed = f"at most {most}" if most > 0 else f"executors with {self.slots} slots"
            raise ConfigurationError(Problem("--workers", what, allowed, hint))

    def _command(
        self, spark: SparkSession, monitor: RankMonitor, hub: DriverHub | None, folder: Path
    ) -> rank_task.RankCommand:
        """Returns the command of the tasks, and sends executors the files and packages that they lack."""
        import pyspark.cloudpickle as cloudpickle

        cloudpickle.register_pickle_by_value(rank_task)
        context: Any = spark.sparkContext
        look = rank_task.probe(str(self._topology.resolve()))
        try:
            lacks = set(context.parallelize(range(self.slots), self.slots).flatMap(look).collect())
        except Exception as error:
            raise spark_error("looking at the executors", error) from None
        for name, write in (
            (rank_task.ENVIRONMENT, write_environment),
            (rank_task.PROJECT, self._write_project),
        ):
            if name in lacks:
                self._tell(f"sending the executors the {name}")
                path = folder / f"{name}.tar"
                write(path)
                context.addArchive(f"{path}#{name}")
        return rank_task.RankCommand(
            monitor.address,
            monitor.token,
            self._arguments if rank_task.PROJECT not in lacks else self._relative(),
            str(Path.cwd()),
            hub.place if hub is not None else "",
            self._resumes,
            rank_task.ENVIRONMENT in lacks,
            rank_task.PROJECT in lacks,
        )

    def _write_project(self, path: Path) -> None:
        write_project(self._root(), path)

    def _root(self) -> Path:
        """The folder that is sent: the one in which the command runs, if the topology is below it; else the topology's."""
        folder = self._topology.resolve().parent
        return Path.cwd() if folder.is_relative_to(Path.cwd()) else folder

    def _relative(self) -> tuple[str, ...]:
        """The arguments with paths as they are in the folder that is sent."""
        root, found = self._root(), []
        for each in self._arguments:
            path = Path(each).resolve()
            inside = each and path.is_file() and path.is_relative_to(root)
            found.append(str(path.relative_to(root)) if inside else each)
        return tuple(found)

    @staticmethod
    def _tell(line: str) -> None:
        print(f"actorstream: {line}", file=sys.stderr, flush=True)
