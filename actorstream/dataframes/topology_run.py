"""TopologyRun: a launch of a topology as a process beside a task or a driver of Spark, and what its options say."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple

from actorstream.errors import ConfigurationError, Problem, RunError
from actorstream.spark.failure import shorten
from actorstream.topology.suggestions import did_you_mean, listed

FORWARD = "actorstream.dataframes.replacing:Forward"
LOOK_S = 0.1
"""So often a task looks whether a run has ended that has not connected."""


class TopologyOptions(NamedTuple):
    """The options that a reader or writer was given.

    Attributes:
        topology: the file.
        output: the sink whose rows go to Spark; "": none.
        input: the source whose rows come from Spark; "": none.
        sets: overrides, as `--set` takes them.
        deploy: the deployment file; "": none.
        folder: where files and checkpoints lie; "": none.
        every: time between checkpoints of a streaming query's run.
        checkpoints: where a streaming query has its own.
        through: `files` or `memory`, how rows of streaming queries go.
        host: an address under which tasks on other hosts reach the run; "": all are on this one.
    """

    topology: str
    output: str
    input: str
    sets: tuple[str, ...]
    deploy: str
    folder: str
    every: str
    checkpoints: str = ""
    through: str = "files"
    host: str = ""

    @classmethod
    def of(cls, options: Mapping[str, str], *, needs_topology: bool = True) -> TopologyOptions:
        """ConfigurationError: an option is missing or unknown."""
        options = dict(options)
        checkpoints = next(
            (options.pop(name) for name in list(options) if name.lower() == "checkpointlocation"), ""
        )
        known = ("topology", "path", "output", "input", "set", "deploy", "folder", "every", "through", "host")
        problems = [
            Problem(name, "is not an option here", listed(known), did_you_mean(name, known))
            for name in options
            if name not in known
        ]
        topology = options.get("topology") or options.get("path") or ""
        if not topology and needs_topology:
            problems.append(Problem("topology", "is missing", "the file of a topology, also as load(FILE)"))
        if problems:
            raise ConfigurationError(problems)
        sets = tuple(line.strip() for line in options.get("set", "").splitlines() if line.strip())
        return cls(
            topology,
            options.get("output", ""),
            options.get("input", ""),
            sets,
            options.get("deploy", ""),
            options.get("folder", ""),
            options.get("every", "1s"),
            checkpoints,
            options.get("through", "files"),
            options.get("host", ""),
        )

    def graph(self) -> Any:
        """The checked topology. ConfigurationError lists what is wrong."""
        from pathlib import Path

        from actorstream.plan.compile import available
        from actorstream.plan.registry import registry
        from actorstream.topology.inputs import read_inputs

        deploy = Path(self.deploy) if self.deploy else None
        files = (Path(self.topology), deploy)
        return read_inputs(*files, list(self.sets), registry=registry(), available=available()).graph

    def sink(self, graph: Any) -> str:
        """The sink whose rows are asked for."""
        return _named("output", self.output, [each.name for each in graph.sinks()])

    def source(self, graph: Any) -> str:
        """The source whose rows are given."""
        return _named("input", self.input, [each.name for each in graph.sources()])


def replaced(actor: str, **keys: Any) -> list[str]:
    """Overrides that give an actor these keys."""
    return [f"actors.{actor}.{name}={json.dumps(value)}" for name, value in keys.items()]


class TopologyRun:
    """A process that launches a topology; it ends with `stop`, or by itself.

    Args:
        options: what is run.
        sets: more overrides.
        arguments: more of the command line.
    """

    def __init__(self, options: TopologyOptions, sets: list[str], *arguments: str) -> None:
        command = [sys.executable, "-m", "actorstream", "launch", options.topology, "--quiet", *arguments]
        if options.deploy:
            command += ["--deploy", options.deploy]
        for each in (*options.sets, *sets):
            command += ["--set", each]
        self.name = options.topology
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, it lives as long as the process
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said
        )

    def check(self) -> None:
        """RunError: it has ended, and not by coming to its end."""
        if self.process.poll():
            self._said.seek(0)
            said = shorten(self._said.read().decode(errors="replace"))
            raise RunError(f"{self.name} failed with exit code {self.process.returncode}: {said}")

    def wait(self) -> None:
        """Until it has ended. RunError: it failed."""
        self.process.wait()
        self.check()

    def stop(self) -> None:
        """Ends it, if it still runs, and waits."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._said.close()


def rows_of(options: TopologyOptions, sink: str) -> Iterator[Any]:
    """Runs a topology and gives the rows of one of its sinks as they come, as Arrow batches. RunError: the run failed."""
    import pyarrow as pa

    address, token = f"actorstream-{secrets.token_hex(16)}", secrets.token_hex(16)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(f"\0{address}")
        listener.listen(8)
        listener.settimeout(LOOK_S)
        run = TopologyRun(options, replaced(sink, type=FORWARD, replicas=1, address=address, token=token))
        try:
            connection = _accepted(listener, run, token)
            with connection, connection.makefile("rb") as file:
                try:
                    yield from pa.ipc.open_stream(file)
                except (pa.ArrowInvalid, OSError):
                    run.wait()  # a stream that stops in the middle is a run that failed
                    raise
            run.wait()
        finally:
            run.stop()


def _accepted(listener: socket.socket, run: TopologyRun, token: str) -> socket.socket:
    """The connection of the run."""
    while True:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            run.check()
            if run.process.poll() is not None:
                raise RunError(f"{run.name} ended before its output was opened") from None
            continue
        connection.settimeout(None)
        with connection.makefile("rb", buffering=0) as file:
            if secrets.compare_digest(file.read(len(token)) or b"", token.encode()):
                return connection
        connection.close()


def _named(option: str, name: str, names: list[str]) -> str:
    if name in names:
        return name
    if not name and len(names) == 1:
        return names[0]
    noun = "sink" if option == "output" else "source"
    what = f"there is no {noun} {name!r}" if name else f"is missing, and there are {len(names)} {noun}s"
    raise ConfigurationError(Problem(option, what, listed(names), did_you_mean(name, names)))
