from __future__ import annotations

from pathlib import Path

from actorstream.topology.positions import Positions
from actorstream.topology.written import Written, dotted


def test_a_path_is_shown_with_dots_and_numbers() -> None:
    assert dotted(("actors", "a", "inputs", 0, "key")) == "actors.a.inputs[0].key"
    assert dotted(()) == ""


def test_an_override_comes_before_python_and_python_before_the_file() -> None:
    written = Written("t.toml", positions=Positions({("a",): 3, ("a", "b"): 4}))
    assert written.at(("a", "b", "c")) == ("t.toml", 4)
    written.places["a", "b"] = ("app.py", 9)
    assert written.at(("a", "b", "c")) == ("app.py", 9)
    written.overrides["a", "b", "c"] = "--set a.b.c=1"
    assert written.at(("a", "b", "c", "d")) == ("--set a.b.c=1", 0)
    assert written.at(("a", "x")) == ("t.toml", 3)


def test_relative_paths_start_at_the_file_or_for_overrides_here(tmp_path: Path) -> None:
    written = Written("t.toml", tmp_path, overrides={("a", "b"): "--set a.b=1"})
    assert written.base(("a", "x")) == tmp_path
    assert written.base(("a", "b", "c")) == Path.cwd()


def test_a_problem_has_the_place_of_its_key() -> None:
    written = Written("t.toml", positions=Positions({("a",): 3}))
    assert str(written.problem(("a", "b"), "is 0", "1", "more")) == "t.toml:3: a.b: is 0; allowed: 1 (more)"
    assert written.problem((), "is empty").where == "topology"
