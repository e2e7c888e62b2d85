"""A folder with a small app, and the command line called in this process."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from actorstream.cli.main import main

_numbers = itertools.count()

OPERATORS = """
from collections.abc import Iterator
from actorstream import Actor, Event
from actorstream.connectors.sink import Sink
from actorstream.connectors.source import Source

class Line(Event):
    line: str

class Word(Event):
    word: str

class Lines(Source):
    def __init__(self, lines: int = 3) -> None:
        self.lines = lines
    def events(self) -> Iterator[Line]:
        yield from (Line(f"line {number}") for number in range(self.lines))

class Split(Actor):
    def on_event(self, event: Line) -> Iterator[Word]:
        yield from (Word(word) for word in event.line.split())

class Out(Sink):
    def on_event(self, event: Word) -> None: ...
"""

TOPOLOGY = """
name = "small"
[actors.lines]
type = "{module}:Lines"
[actors.split]
type = "{module}:Split"
inputs = ["lines"]
[actors.out]
type = "{module}:Out"
inputs = [{{ from = "split", key = "word" }}]
replicas = 2
"""


@dataclass
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Runs a command line in this process."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def call(*arguments: object) -> Answer:
        code = main([str(each) for each in arguments])
        out, err = capsys.readouterr()
        return Answer(code, out, err)

    return call


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    """A topology whose operators are in a module of its own."""
    module = f"cli_test_operators_{next(_numbers)}"
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / f"{module}.py").write_text(OPERATORS)
    file = tmp_path / "topology.toml"
    file.write_text(TOPOLOGY.format(module=module).lstrip())
    return file
