"""Actors and a registry that the tests of this folder build topologies with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import HealthCheck, settings

from actorstream.actors.actor import Actor
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.event import Event, EventTime
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph
from actorstream.topology.inputs import Inputs, read_inputs
from actorstream.topology.registry import TypeRegistry

settings.register_profile("topology", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("topology")


class Line(Event):
    line: str


class Word(Event):
    ts: EventTime
    word: str


class Count(Event):
    word: str
    count: int


class Lines(Actor):
    role = "source"
    outputs: ClassVar[dict[str, Any]] = {"default": Line}

    def __init__(self, path: Path = Path("x"), rate: float | None = None) -> None:
        self.path, self.rate = path, rate

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Any], base: Path) -> list[Problem]:
        path = keys.get("path")
        if path is not None and not path.exists():
            return [Problem("path", f"{str(path)!r} does not exist", "a file")]
        return []

    def partitions(self) -> list[str]:
        return [str(self.path)]


class Split(Actor):
    def __init__(
        self, *, lower: bool = False, every: timedelta = timedelta(0), mode: Literal["a", "b"] = "a"
    ) -> None:
        self.lower, self.every, self.mode = lower, every, mode

    def on_event(self, event: Line) -> Iterator[Word]:
        yield Word(0, event.line)


class Counter(Actor):
    outputs: ClassVar[dict[str, Any]] = {"running": Count, "final": Count}

    def on_event(self, event: Word) -> None: ...


class Passing(Actor):
    """Takes batches and passes their schema on."""

    def on_batch(self, batch: Any) -> Any:
        return batch


class Out(Actor):
    role = "sink"

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_batch(self, batch: Any) -> None: ...

    def prepare(self, barrier: int) -> None: ...


TYPES: dict[str, str | type] = {
    "lines": Lines,
    "split": Split,
    "counter": Counter,
    "passing": Passing,
    "out": Out,
}

WORD_COUNT = """
name = "word-count"

[actors.lines]
type = "lines"

[actors.split]
type = "split"
inputs = ["lines"]
replicas = 2

[actors.count]
type = "counter"
inputs = [{ from = "split", key = "word" }]
replicas = 2

[actors.counts]
type = "out"
inputs = ["count.final"]
path = "out/counts.csv"
"""


@pytest.fixture
def registry() -> TypeRegistry:
    return TypeRegistry(TYPES, plugins=False)


@pytest.fixture
def read(tmp_path: Path, registry: TypeRegistry) -> Callable[..., Inputs]:
    """Writes a topology (and a deployment) into a folder and reads them."""

    def run(text: str, *sets: str, deploy: str | None = None, **keys: Any) -> Inputs:
        file = tmp_path / "topology.toml"
        file.write_text(text.lstrip("\n"))
        deploy_file = None
        if deploy is not None:
            deploy_file = tmp_path / "deploy.toml"
            deploy_file.write_text(deploy)
        return read_inputs(file, deploy_file, sets, registry=registry, **keys)

    return run


@pytest.fixture
def problems(read: Callable[..., Inputs]) -> Callable[..., list[tuple[int, str]]]:
    """The problems of a topology as (line, where: message; allowed (hint)), without the file's name."""

    def run(text: str, *sets: str, **keys: Any) -> list[tuple[int, str]]:
        with pytest.raises(ConfigurationError) as caught:
            read(text, *sets, **keys)
        return [
            (each.line, str(each).removeprefix(f"{each.file}:{each.line}: "))
            for each in caught.value.problems
        ]

    return run


@pytest.fixture
def graph(read: Callable[..., Inputs]) -> Graph:
    """The graph of the word count."""
    return read(WORD_COUNT).graph


@pytest.fixture
def deploy() -> DeploySpec:
    return DeploySpec(workers=2)
