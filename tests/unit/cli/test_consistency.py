"""`check` and `plan` on programs: an example for what is not consistent, and the tree of what is planned."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Answer

Run = Callable[..., Answer]

APPS = Path(__file__).resolve().parents[3] / "apps"
PROGRAM = """
from typing import ClassVar
import msgspec
from actorstream import Event, EventTime
from actorstream.dgs import Program

class Value(Event):
    ts: EventTime
    value: int

class Sums(Program):
    class State(msgspec.Struct):
        sum: int = 0
    tags: ClassVar = {"values": "value", "absent": "absent"}
    outputs: ClassVar = {"default": Value}
    raises = False
    def depends(self, one, other):
        return "absent" in (one.name, other.name)
    def update(self, state, event, tag):
        if self.raises:
            raise ValueError("too little")
        state.sum += event.value
    def fork(self, state, left, right):
        return state, self.State()
    def join(self, left, right):
        return self.State(left.sum + right.sum)

class Lost(Sums):
    def join(self, left, right):
        return left

class Raises(Sums):
    raises = True

class Strays(Sums):
    def update(self, state, event, tag):
        self.emit(event, to="defualt")
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    def write(name: str) -> Path:
        (tmp_path / "sums_of_a_check.py").write_text(PROGRAM)
        (tmp_path / "values.csv").write_text("ts,value\n1,2\n3,4\n")
        file = tmp_path / "topology.toml"
        file.write_text(
            '[actors.values]\ntype = "csv-source"\npath = "values.csv"\nevent = "sums_of_a_check:Value"\n'
            f'[actors.sum]\ntype = "sums_of_a_check:{name}"\n'
            'inputs = [{ from = "values", order = "dependency" }]\n'
            '[actors.out]\ntype = "null-sink"\ninputs = ["sum"]\n'
        )
        return file

    return write


def test_a_consistent_program_is_all_right(run: Run, program: Callable[[str], Path]) -> None:
    answer = run("check", program("Sums"), "--examples", 20)
    assert (answer.code, answer.err) == (0, "")
    assert "note: sum: consistent in 20 random examples (C1, C2, C3)" in answer.out


def test_an_inconsistent_one_shows_an_example(run: Run, program: Callable[[str], Path]) -> None:
    answer = run("check", program("Lost"), "--examples", 20)
    assert answer.code == 2
    assert (
        "actors.sum: Lost is not consistent: C1, an update before a join is the update after it" in answer.err
    )
    assert "value on the right" in answer.err
    found = json.loads(run("check", program("Lost"), "--examples", 20, "--json").out)
    assert found["ok"] is False
    assert found["problems"][0]["where"] == "actors.sum"
    assert found["problems"][0]["example"][0][0] == "left state"


def test_no_examples_is_no_test(run: Run, program: Callable[[str], Path]) -> None:
    answer = run("check", program("Lost"), "--examples", 0)
    assert (answer.code, "consistent" in answer.out) == (0, False)


def test_a_program_that_raises_on_random_events_is_a_note(run: Run, program: Callable[[str], Path]) -> None:
    answer = run("check", program("Raises"), "--examples", 5)
    assert answer.code == 0
    assert "it raised on a random event: ValueError: too little" in answer.out


def test_an_event_for_an_output_that_is_not_declared_is_a_problem(
    run: Run, program: Callable[[str], Path]
) -> None:
    answer = run("check", program("Strays"), "--examples", 5)
    assert answer.code == 2
    assert "actors.sum: Strays emitted to output 'defualt', which it does not have" in answer.err
    assert "(did you mean 'default'?)" in answer.err
    found = json.loads(run("check", program("Strays"), "--examples", 5, "--json").out)
    assert (found["ok"], found["problems"][0]["where"]) == (False, "actors.sum")


def test_without_hypothesis_it_says_how_to_install_it(
    run: Run, program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("actorstream.dgs.consistency.check")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    answer = run("check", program("Lost"))
    assert answer.code == 0
    assert (
        "not tested for consistency, hypothesis makes the examples: pip install 'actorstream[test]'"
        in answer.out
    )


def test_the_plan_of_the_keyed_counters_is_figure_3(run: Run, tmp_path: Path) -> None:
    topology = APPS / "keyed_counters" / "topology.toml"
    answer = run("plan", topology, "--workers", 2)
    tree = answer.out[answer.out.index("synchronization plan of count") :].splitlines()
    assert tree[0].endswith("5 workers, 3 of them leaves, 5 tags on 4 streams")
    assert [line.partition(": ")[2] for line in tree[2:]] == [
        "joins and forks only",
        "r(1)@events/1 15/s",
        "i(1)@events/2 200/s",
        "i(1)@events/1 100/s",
        "r(2)@events/0 10/s, i(2)@events/3 300/s",
    ]
    assert [len(line) - len(line.lstrip("│├└─ ")) for line in tree[2:]] == [0, 3, 6, 6, 3]
    found = json.loads(run("plan", topology, "--json").out)
    assert found["trees"]["count"]["children"][1]["tags"] == ["r(2)@events/0", "i(2)@events/3"]
    assert found["plan"]["dependencies"][0]["actor"] == "count"
    assert "w2 State<br/>process 0<br/>r(1)@events/1 15/s" in run("plan", topology, "--mermaid").out
    run("plan", topology, "--svg", tmp_path / "plan.svg")
    assert "r(1)@events/1 15/s" in (tmp_path / "plan.count.svg").read_text()


def test_a_saved_plan_keeps_the_tree(run: Run, tmp_path: Path) -> None:
    topology = APPS / "keyed_counters" / "topology.toml"
    saved = tmp_path / "plan.json"
    made = run("plan", topology, "--workers", 3, "--save", saved)
    assert run("plan", topology, "--plan", saved).out == made.out
