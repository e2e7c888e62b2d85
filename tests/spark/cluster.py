"""A standalone cluster of Spark on this machine: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pyspark

from actorstream.spark.java import find_java, make_home

from .processes import children_of

HOME = Path(pyspark.__file__).parent
_STARTED = re.compile(r"spark://127\.0\.0\.1:\d+")


class Cluster:
    """A master, and the workers that were started.

    Attributes:
        master: its address, as Spark takes it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        java = make_home(find_java(), folder, None)
        self._environment = {
            **os.environ,
            **{"SPARK_HOME": str(HOME), "JAVA_HOME": str(java), "SPARK_LOCAL_IP": "127.0.0.1"},
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        self._processes: list[subprocess.Popen[str]] = []
        self.master = self._start("master.Master", "--port", "0", says=_STARTED)

    def add_worker(self, cores: int) -> int:
        """Starts a worker with so many slots; returns the id of its process once the master knows it."""
        work = self._folder / f"work-{len(self._processes)}"
        sizes = ("--cores", str(cores), "--memory", "1g", "--work-dir", str(work), "--port", "0")
        self._start("worker.Worker", *sizes, self.master, says=re.compile("Successfully registered"))
        return self._processes[-1].pid

    def kill(self, pid: int) -> None:
        """Kills a worker, its executors and their processes of Python, as if their host were gone."""
        os.kill(pid, signal.SIGSTOP)  # or it starts another executor
        waiting = [pid]
        while waiting:
            each = waiting.pop(0)
            waiting += children_of(each)
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)

    @staticmethod
    def kill_executors(pid: int) -> None:
        """Kills the executors of a worker, which starts another one then."""
        for child in children_of(pid):
            os.kill(child, signal.SIGKILL)

    def close(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait()

    def _start(self, name: str, *arguments: str, says: re.Pattern[str]) -> str:
        """Starts a process of Spark, and returns what it says once it is ready."""
        path = self._folder / f"log-{len(self._processes)}"
        command = [str(HOME / "bin/spark-class"), f"org.apache.spark.deploy.{name}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        with path.open("w") as log:
            process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log, text=True)
        self._processes.append(process)
        with path.open() as log:
            return _said(log, process, says)


def _said(log: IO[str], process: subprocess.Popen[str], says: re.Pattern[str]) -> str:
    text = ""
    while process.poll() is None:
        text += log.read()
        if found := says.search(text):
            return found[0]
    raise RuntimeError(f"Spark ended with {process.returncode}: {text[-2000:]}")


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2, cores: int = 1) -> Iterator[tuple[Cluster, list[int]]]:
    """A cluster for the time of a `with` block, and the ids of its workers."""
    cluster = Cluster(folder)
    try:
        yield cluster, [cluster.add_worker(cores) for _ in range(workers)]
    finally:
        cluster.close()
