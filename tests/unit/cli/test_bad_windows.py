"""What windows, joins and expressions cannot work with is said when the topology is loaded, with exit code 2; what only a
row shows, by its on_error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Answer

Run = Callable[..., Answer]

TOPOLOGY = """\
name = "rides"

[actors.rides]
type = "csv-source"
path = "rides.csv"
schema = { at = "int", bike = "str", km = "int" }
event_time = "at"

[actors.stops]
type = "csv-source"
path = "stops.csv"
schema = { at = "int", bike = "str", wheels = "float" }
event_time = "at"

[actors.near]
type = "filter"
inputs = ["rides"]
where = "km < 5"

[actors.windows]
type = "aggregate"
inputs = ["near"]
key = "bike"
window = { type = "tumbling", size = "10s" }
aggregates = { km = "sum(km)" }

[actors.both]
type = "join"
inputs = ["rides", "stops"]
on = "bike"
window = { type = "tumbling", size = "10s" }

[actors.out]
type = "csv-sink"
inputs = ["windows"]
path = "out.csv"

[actors.dead]
type = "csv-sink"
inputs = ["windows.dead"]
path = "dead.csv"

[actors.joined]
type = "csv-sink"
inputs = ["both"]
path = "joined.csv"
"""


@pytest.fixture
def rides(tmp_path: Path) -> Path:
    file = tmp_path / "rides.toml"
    file.write_text(TOPOLOGY)
    (tmp_path / "rides.csv").write_text("at,bike,km\n1000,a,1\n2000,a,2\n")
    (tmp_path / "stops.csv").write_text("at,bike,wheels\n1000,a,2.0\n")
    return file


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            'actors.windows.aggregates.km="sum(bike)"',
            ["actors.windows.aggregates.km: sum of str", "a number"],
        ),
        ('actors.windows.aggregates.km="smu(km)"', ["there is no aggregate 'smu'", "did you mean 'sum'?"]),
        ('actors.near.where="lenght(bike) > 2"', ["there is no function 'lenght'", "did you mean 'length'?"]),
        ('actors.near.where="km + bike > 2"', ["actors.near.where"]),
        ('actors.both.on={bike="wheels"}', ["actors.both.on", "have no common type"]),
        (
            'actors.rides.schema={at="int?",bike="str",km="int"}',
            ["actors.rides.event_time: field 'at'", "not nullable"],
        ),
        ('actors.rides.schema={at="float",bike="str",km="int"}', ["actors.rides.event_time", "float64"]),
        ('actors.rides.event_time="bike"', ["actors.rides.event_time: field 'bike'", "an integer"]),
        ('actors.windows.window={type="tumbling",size="1500us"}', ["actors.windows.window.size", "of ms"]),
    ],
)
@pytest.mark.parametrize("command", ["check", "launch"])
def test_what_can_be_known_before_the_run_is_an_error_of_the_topology(
    run: Run, rides: Path, command: str, change: str, said: list[str]
) -> None:
    answer = run(command, rides, "--set", change)
    assert answer.code == 2
    for each in said:
        assert each in answer.err
    assert not (rides.parent / "out.csv").exists()


def test_a_window_without_event_time_names_every_input_that_has_none_and_its_line(
    run: Run, rides: Path
) -> None:
    rides.write_text(TOPOLOGY.replace('event_time = "at"\n', ""))
    answer = run("check", rides)
    assert answer.code == 2
    head, *lines = answer.err.splitlines()
    assert head == "3 problems:"
    assert [line.split(": ")[1] for line in lines] == [
        "actors.windows.inputs[0]",
        "actors.both.inputs[0]",
        "actors.both.inputs[1]",
    ]
    assert all("no event time" in line and "event_time =" in line for line in lines)


@pytest.mark.parametrize(
    ("on_error", "code", "dead"), [("fail", 1, None), ("skip", 0, []), ("dead-letter", 0, ["Row(at=-5"])]
)
def test_a_time_before_the_epoch_goes_to_the_on_error_of_the_windows(
    run: Run, rides: Path, on_error: str, code: int, dead: list[str] | None
) -> None:
    (rides.parent / "rides.csv").write_text("at,bike,km\n1000,a,1\n-5,a,2\n")
    sets = ["--set", f"actors.windows.on_error={on_error}", "--set", "actors.both.on_error=skip"]
    answer = run("launch", rides, "--quiet", *sets)
    assert answer.code == code
    if dead is None:
        assert "the event time is -5, before 1970" in answer.err
        assert not (rides.parent / "out.csv").exists()
        return
    rows = (rides.parent / "out.csv").read_text().splitlines()
    assert rows == ["window_start,window_end,bike,km", "0,10000,a,1"]
    letters = (rides.parent / "dead.csv").read_text().splitlines()[1:]
    assert [beginning in letter for beginning, letter in zip(dead, letters, strict=True)] == [True] * len(
        dead
    )


@pytest.mark.parametrize(("on_error", "code"), [("fail", 1), ("skip", 0)])
def test_a_row_without_its_event_time_goes_to_the_on_error_of_the_source(
    run: Run, rides: Path, on_error: str, code: int
) -> None:
    (rides.parent / "rides.csv").write_text("at,bike,km\n1000,a,1\n,a,2\n")
    answer = run("launch", rides, "--quiet", "--set", f"actors.rides.on_error={on_error}")
    assert answer.code == code
    if code:
        assert "line 3, column 'at': has no value" in answer.err
    else:
        assert (rides.parent / "out.csv").read_text().splitlines()[1:] == ["0,10000,a,1"]
