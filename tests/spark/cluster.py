"""A standalone cluster of Spark on this machine: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

import pyspark

from actorstream.spark.java import find_java, make_home

from .gated import LOOK_S
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
        self.master = _said(*self._start("master.Master", "--port", "0"), _STARTED)

    def add_workers(self, count: int, cores: int) -> list[int]:
        """Starts workers with so many slots each; returns the ids of their processes once the master knows them."""
        started = []
        for _ in range(count):
            work = self._folder / f"work-{len(self._processes)}"
            sizes = ("--cores", str(cores), "--memory", "1g", "--work-dir", str(work), "--port", "0")
            started.append(self._start("worker.Worker", *sizes, self.master))
        for each in started:
            _said(*each, re.compile("Successfully registered"))
        return [process.pid for _, process in started]

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

    def _start(self, name: str, *arguments: str) -> tuple[Path, subprocess.Popen[str]]:
        """Starts a process of Spark, which writes what it says into a file."""
        path = self._folder / f"log-{len(self._processes)}"
        command = [str(HOME / "bin/spark-class"), f"org.apache.spark.deploy.{name}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        with path.open("w") as log:
            process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log, text=True)
        self._processes.append(process)
        return path, process


def _said(path: Path, process: subprocess.Popen[str], says: re.Pattern[str]) -> str:
    """Waits until a process has said it."""
    text = ""
    with path.open() as log:
        while process.poll() is None:
            text += log.read()
            if found := says.search(text):
                return found[0]
            sleep(LOOK_S)
    raise RuntimeError(f"Spark ended with {process.returncode}: {text[-2000:]}")


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2, cores: int = 1) -> Iterator[tuple[Cluster, list[int]]]:
    """A cluster for the time of a `with` block, and the ids of its workers."""
    cluster = Cluster(folder)
    try:
        yield cluster, cluster.add_workers(workers, cores)
    finally:
        cluster.close()
