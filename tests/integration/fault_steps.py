"""Steps of a run at which a fault can strike: a process that comes to the step named in its environment says so in a pipe,
and goes on when there is a byte in another. What a process does with files is known from Python's audit events."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, ClassVar

from actorstream.actors.actor import Actor
from actorstream.connectors.csv_sink import CsvSink
from actorstream.connectors.sink import END
from tests.integration.parts import Number

STEP = "ACTORSTREAM_TEST_STEP"
"""A step, how many times it is passed by, and the pipes: `publish 0 /here /go`."""
STEPS = {
    "import": 1,
    "fork": 3,
    "start": 1,
    "snapshot": 4,
    "write state": 2,
    "prepare": 4,
    "write checkpoint": 4,
    "rename checkpoint": 4,
    "sync state": 4,
    "forget": 2,
    "end": 1,
    "prepare end": 1,
    "commit": 1,
    "publish": 2,
    "sync out": 2,
    "reopen": 2,
}
"""Step -> how often it comes in a run, at least roughly."""


class Steps:
    """Counts the steps of one kind in a process, and stops at the one asked for."""

    def __init__(self, asked: str) -> None:
        *name, left, self.here, self.go = asked.split(" ")
        self.name, self.left = " ".join(name), int(left)

    def come_to(self, name: str) -> None:
        if name != self.name:
            return
        self.left -= 1
        if self.left != -1:
            return
        for path, mode in ((self.here, os.O_WRONLY), (self.go, os.O_RDONLY)):
            end = os.open(path, mode)
            if mode == os.O_WRONLY:
                os.write(end, f"{os.getpid()}\n".encode())
            else:
                os.read(end, 1)
            os.close(end)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook."""
        if event == "os.fork":
            self.come_to("fork")
        elif event in ("os.rename", "os.remove", "open"):
            path = arguments[1 if event == "os.rename" else 0]
            if isinstance(path, str):
                self.come_to(_step_of(event, Path(path).name))


def _step_of(event: str, name: str) -> str:
    match event:
        case "os.remove":
            return "forget" if name.startswith("checkpoint-") else ""
        case "os.rename":
            if name.startswith("state-"):
                return ""
            if name.startswith("checkpoint-"):
                return "rename checkpoint"
            return "reopen" if name.startswith(".") else "publish"
        case _:
            if name.startswith(".checkpoint-"):
                return "write checkpoint"
            if name.startswith(".state-"):
                return "write state"
            return f"sync {name}" if name in ("state", "out") else ""


_steps = Steps(os.environ[STEP]) if STEP in os.environ else None
if _steps is not None:
    sys.addaudithook(_steps.hear)


def come_to(name: str) -> None:
    if _steps is not None:
        _steps.come_to(name)


come_to("import")


class Marks(Actor):
    """Hands rows on. Its state is how many it has seen and their sum, which each row gets as its group, beside `nbytes` of
    nothing: a large state has a file of its own."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, nbytes: int = 0) -> None:
        self.state: list[Any] = [0, 0, b"." * nbytes]

    def on_start(self) -> None:
        come_to("start")

    def on_event(self, event: Number) -> Number:
        self.state[0] += 1
        self.state[1] += event.value
        return Number(event.value, self.state[0] + self.state[1])

    def snapshot(self) -> Any:
        come_to("snapshot")
        return self.state

    def on_end(self) -> None:
        come_to("end")


class MarkedCsv(CsvSink):
    """A csv-sink whose two phases are steps."""

    def prepare(self, barrier: int) -> dict[str, Any]:
        come_to("prepare end" if barrier == END else "prepare")
        return super().prepare(barrier)

    def commit(self, token: dict[str, Any] | None) -> None:
        if token is not None and token["end"]:
            come_to("commit")
        super().commit(token)
