from __future__ import annotations

from pathlib import Path

from actorstream.errors import Problem
from actorstream.topology.tables import parse_table, read_table
from actorstream.topology.written import Written


def parsed(text: str) -> tuple[object, list[str]]:
    problems: list[Problem] = []
    return parse_table(text, Written("t.toml"), problems), [str(each) for each in problems]


def test_a_syntax_error_names_its_line_and_column() -> None:
    table, (problem,) = parsed('a = 1\nb = "x\nc = 2\n')
    assert table is None
    assert problem == "t.toml:2: syntax, column 7: illegal character '\\n'; allowed: TOML (https://toml.io)"


def test_a_text_that_ends_too_early_names_its_last_line() -> None:
    table, (problem,) = parsed("a = 1\nb = [1,\n\n")
    assert table is None
    assert problem.startswith("t.toml:2: syntax")


def test_an_actor_that_is_defined_twice_is_a_problem_and_the_rest_is_read() -> None:
    table, (problem,) = parsed("[actors.a]\nx = 1\n[actors.b]\ny = 1\n[actors.a]\nx = 2\n")
    assert table == {"actors": {"a": {"x": 1}, "b": {"y": 1}}}
    assert problem == (
        "t.toml:5: actors.a: actor 'a' is defined twice, first in line 1; "
        "allowed: one definition (rename or remove one of them)"
    )


def test_a_key_that_is_written_twice_is_a_problem() -> None:
    table, (problem,) = parsed("[actors.a]\nx = 1\nx = 2\n")
    assert table == {"actors": {"a": {"x": 1}}}
    assert problem.startswith("t.toml:3: actors.a.x: this is defined twice, first in line 2")


def test_repeats_that_only_tomllib_sees_have_their_line() -> None:
    table, (problem,) = parsed("a = { x = 1 }\n[a.b]\n")
    assert table is None
    assert problem.startswith("t.toml:2: syntax")


def test_a_missing_file_names_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").touch()
    problems: list[Problem] = []
    assert read_table(tmp_path / "topolgy.toml", "a topology", problems)[0] is None
    assert problems[0].message == "does not exist"
    assert problems[0].hint == "did you mean 'topology.toml'?"


def test_a_folder_points_to_its_topology(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").touch()
    problems: list[Problem] = []
    assert read_table(tmp_path, "a topology", problems)[0] is None
    assert "Is a directory" in problems[0].message
    assert "topology.toml" in problems[0].hint


def test_bytes_that_are_not_utf8_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_bytes(b'a = "\xff"\n')
    problems: list[Problem] = []
    assert read_table(tmp_path / "t.toml", "a topology", problems)[0] is None
    assert problems[0].message == "0xff is not UTF-8"
    assert (problems[0].where, problems[0].line) == ("encoding, byte 6", 1)
