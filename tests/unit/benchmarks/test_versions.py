"""Two versions are compared case by case, and whatever is better counts as more."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.record import Record
from benchmarks.suite import Case, Probe, Suite
from benchmarks.versions import TIMES, Part, VersionError, compare, parts, ratio

SCRIPT = """#!/bin/sh
# stands for a version: notes that it ran, and writes its figures where `--json F` says
echo "$0 $*" >> "{log}"
while [ "$1" != --json ]; do shift; done
cp "{figures}" "$2"
"""


def version(folder: Path, log: Path, figures: str) -> Path:
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / "figures.json").write_text(figures)
    python = folder / ".venv/bin/python"
    python.write_text(SCRIPT.format(log=log, figures=folder / "figures.json"))
    python.chmod(0o755)
    return folder


def figure(case: str, value: float, unit: str) -> str:
    return f'{{"suite":"s","case":"{case}","value":{value},"unit":"{unit}","runs":3,"min":1,"max":1}}'


def test_probes_run_in_turns_and_the_cases_of_both_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    here = version(
        tmp_path / "here",
        log,
        f"[{figure('rate', 300, 'rows/s')},{figure('time', 5, 'µs')},{figure('new', 1, 'rows/s')}]",
    )
    other = version(tmp_path / "other", log, f"[{figure('rate', 200, 'rows/s')},{figure('time', 10, 'µs')}]")
    monkeypatch.setattr("benchmarks.versions.ROOT", here)
    found = compare(other, [Part("s", ("rate", "new")), Part("s", ("time",))], rounds=3)
    assert [(each.case, each.value, each.unit, each.runs) for each in found] == [
        ("rate", 1.5, TIMES, 3),
        ("time", 2.0, TIMES, 3),
    ]
    ran = [line.split() for line in log.read_text().splitlines()]
    asked = [(Path(words[0]).parents[2].name, words[words.index("--only") + 1]) for words in ran]
    once = [("here", "rate,new"), ("other", "rate,new"), ("here", "time"), ("other", "time")]
    back = [("other", "rate,new"), ("here", "rate,new"), ("other", "time"), ("here", "time")]
    assert asked == [*once, *back, *once]


def test_a_probe_that_only_one_version_has_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, figures = tmp_path / "log", f"[{figure('a', 1, 'rows/s')},{figure('b', 1, 'rows/s')}]"
    here, other = (version(tmp_path / name, log, figures) for name in ("here", "other"))
    (other / ".venv/bin/python").write_text(
        '#!/bin/sh\ncase "$*" in *"--only b"*) exit 2;; esac\n'
        + (here / ".venv/bin/python").read_text().removeprefix("#!/bin/sh\n")
    )
    monkeypatch.setattr("benchmarks.versions.ROOT", here)
    found = compare(other, [Part("s", ("a",)), Part("s", ("b",))], rounds=1)
    assert [each.case for each in found] == ["a"]


def test_a_probe_that_fails_in_the_other_version_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, figures = tmp_path / "log", f"[{figure('a', 1, 'rows/s')},{figure('b', 1, 'rows/s')}]"
    here, other = (version(tmp_path / name, log, figures) for name in ("here", "other"))
    broken = '#!/bin/sh\ncase "$*" in *"--only b"*) echo a bug >&2; exit 1;; esac\n'
    works = (here / ".venv/bin/python").read_text().removeprefix("#!/bin/sh\n")
    (other / ".venv/bin/python").write_text(broken + works)
    monkeypatch.setattr("benchmarks.versions.ROOT", here)
    told: list[str] = []
    found = compare(other, [Part("s", ("b",)), Part("s", ("a",))], rounds=2, progress=told.append)
    assert [(each.case, each.runs) for each in found] == [("a", 2)]
    named = [line for line in told if "a bug" in line]
    assert len(named) == 1 and named[0].startswith(f"not compared: {other}"), "it is run once"
    once = f'#!/bin/sh\ncase "$*" in *"--only b"*) [ -e {tmp_path}/ran ] && exit 1; touch {tmp_path}/ran;; esac\n'
    (other / ".venv/bin/python").write_text(once + works)
    found = compare(other, [Part("s", ("b",)), Part("s", ("a",))], rounds=2)
    assert [each.case for each in found] == ["a"], "also if it fails in a later round"
    monkeypatch.setattr("benchmarks.versions.ROOT", other)
    with pytest.raises(VersionError, match="failed"):
        compare(here, [Part("s", ("b",))], rounds=1)


def test_each_probe_of_each_suite_is_a_part_with_the_names_of_its_cases() -> None:
    def probe(*names: str) -> Probe:
        return Probe(tuple(Case(name, "µs") for name in names), lambda: (1.0,))

    suites = [Suite("s", (probe("a", "b"), probe("c"))), Suite("t", (probe("a"),))]
    assert parts(suites) == [("s", ("a", "b")), ("s", ("c",)), ("t", ("a",))]


def test_a_checkout_compared_with_itself_shows_how_much_its_figures_vary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = version(tmp_path / "here", tmp_path / "log", "[]")
    values = iter((100.0, 200.0, 400.0, 100.0))
    monkeypatch.setattr("benchmarks.versions.ROOT", here)
    monkeypatch.setattr(
        "benchmarks.versions.measured",
        lambda *_: {("s", "a"): Record("s", "a", value := next(values), "rows/s", 1, value, value)},
    )
    (found,) = compare(here, [Part("s", ("a",))], rounds=2)
    assert (found.min, found.max) == (0.25, 0.5)


def test_what_a_version_said_of_an_unknown_suite_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = version(tmp_path / "here", tmp_path / "log", f"[{figure('a', 1, 'rows/s')}]")
    other = version(tmp_path / "other", tmp_path / "log", "[]")
    (other / ".venv/bin/python").write_text("#!/bin/sh\necho unrecognized arguments >&2; exit 2\n")
    monkeypatch.setattr("benchmarks.versions.ROOT", here)
    with pytest.raises(VersionError, match="unrecognized arguments"):
        compare(other, [Part("s", ("a",))], rounds=1)


def test_a_checkout_without_an_environment_is_named(tmp_path: Path) -> None:
    with pytest.raises(VersionError, match="make an environment there"):
        compare(tmp_path, [Part("ysb", ("a",))], rounds=1)


def test_versions_without_a_common_case_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = version(tmp_path / "here", tmp_path / "log", f"[{figure('a', 1, 'rows/s')}]")
    other = version(tmp_path / "other", tmp_path / "log", "[]")
    monkeypatch.setattr("benchmarks.versions.ROOT", here)
    with pytest.raises(VersionError, match="none of its cases of s"):
        compare(other, [Part("s", ("a",))], rounds=1)


@pytest.mark.parametrize(("unit", "expected"), [("MB/s", 2.0), ("µs", 0.5), ("times", 2.0)])
def test_more_is_better_but_for_times(unit: str, expected: float) -> None:
    own, other = (Record("s", "c", value, unit, 1, value, value) for value in (4.0, 2.0))
    assert ratio(own, other) == expected
