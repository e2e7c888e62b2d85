"""history-then-live over files: each row once, whatever the cut, and from every position on."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest

from actorstream.connectors.history_then_live import HistoryThenLive, cut_time
from actorstream.connectors.source import NO_MORE, Source
from actorstream.connectors.source_table import SourceTable
from actorstream.errors import ConfigurationError
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.plan.compile import read_job
from actorstream.topology.conversion import MismatchError

SCHEMA = {"time": "int", "value": "int"}
Rows = list[tuple[int, int]]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A history whose last rows are in the live file too, which goes on for as long again; two files each."""
    rows = [(time, time * 10 + copy) for time in range(20) for copy in range(2)]
    write(tmp_path / "history/0.csv", rows[:14])
    write(tmp_path / "history/1.csv", rows[14:24])
    write(tmp_path / "live/0.csv", rows[16:28])
    write(tmp_path / "live/1.csv", rows[28:])
    return tmp_path


def write(path: Path, rows: Rows) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("time,value\n" + "".join(f"{time},{value}\n" for time, value in rows))


ALL = [(time, time * 10 + copy) for time in range(20) for copy in range(2)]


def made(
    folder: Path, cut: int | datetime | None = None, live: dict[str, Any] | None = None
) -> HistoryThenLive:
    tables = [
        SourceTable.of_table({"type": "csv-source", "path": "history"}, folder),
        SourceTable.of_table(live or {"type": "csv-source", "path": "live"}, folder),
    ]
    return HistoryThenLive(*tables, cut=cut, schema=SCHEMA, event_time="time")


async def read(source: Source, most: int, rows: int | None = None) -> Rows:
    """The next rows, so many or all there are; each comes when its promise still holds."""
    found: Rows = []
    promised = -NO_MORE
    while rows is None or len(found) < rows:
        answer: Any = source.read(most if rows is None else min(most, rows - len(found)))
        batch = await answer if inspect.isawaitable(answer) else answer
        if batch is None:
            break
        new = list(zip(*(column.tolist() for column in batch.columns())))
        assert all(row[0] >= promised for row in new)
        found += new
        promised = max(promised, source.lower_bound(0) or promised)
    return found


@pytest.mark.parametrize("most", [1, 3, 100])
@pytest.mark.parametrize("cut", [None, 8, 10, 12])
async def test_every_row_comes_once_and_by_time(files: Path, cut: int | None, most: int) -> None:
    source = made(files, cut)
    source.open(source.partitions())
    assert await read(source, most) == ALL
    assert source.lower_bound(0) == NO_MORE


@pytest.mark.parametrize("cut", [None, 10])
@pytest.mark.parametrize("by_seek", [True, False])
async def test_it_goes_on_after_every_row(files: Path, cut: int | None, by_seek: bool) -> None:
    for rows in range(len(ALL) + 1):
        before = made(files, cut)
        before.open(before.partitions())
        found = await read(before, 3, rows)
        kept = json.loads(json.dumps(before.kept_position()))
        after = made(files, cut)
        after.open(after.partitions())
        if by_seek:
            after.seek(before.position())
        else:
            after.take_back(kept)
        assert found + await read(after, 3) == ALL
        assert sum(after.position().values()) == len(ALL)


async def test_while_it_waits_for_a_row_its_position_is_that_of_the_rows_that_it_gave(files: Path) -> None:
    source = made(files)
    source.open(source.partitions())
    await read(source, 100, 24)
    before = source.kept_position()
    source.hold_position(held=True)
    await source.read(5)  # passes the switch
    assert source.kept_position() == before
    source.hold_position(held=False)
    assert source.kept_position()["is_live"]


@pytest.mark.parametrize("replicas", [2, 3])
async def test_replicas_share_the_partitions_of_both_if_there_is_a_cut(files: Path, replicas: int) -> None:
    names = made(files).partitions()
    seen = {}
    for replica in range(replicas):
        source = made(files, 10)
        source.open(names[replica::replicas])
        while (batch := await source.read(3)) is not None:
            rows = zip(*(column.tolist() for column in batch.columns()))
            seen |= {(source.origin, source.row + number): row for number, row in enumerate(rows)}
    assert [seen[place] for place in sorted(seen)] == ALL
    without = made(files)
    with pytest.raises(
        ConfigurationError, match="cut: is not given, and several replicas share the partitions"
    ):
        without.open(names[:1])


class Reading(Event):
    time: Annotated[int, "event time"]
    value: int


class Feed(Source):
    """Live rows that arrive one by one and promise nothing themselves."""

    async def events(self) -> AsyncIterator[Reading]:
        for time, value in ALL[10:]:
            yield Reading(time, value)


async def test_the_rows_of_a_live_source_without_promises_promise_themselves(files: Path) -> None:
    source = made(files, live={"type": Feed, "event_time": "time", "schema": SCHEMA})
    source.open(source.partitions())
    await source.on_start()
    assert await read(source, 3, 24) == ALL[:24]
    assert source.lower_bound(0) == 11
    assert await read(source, 3, 1) == ALL[24:25]
    assert source.lower_bound(0) == 12
    assert await read(source, 3) == ALL[25:]
    await source.on_stop()


async def test_a_history_that_is_over_by_its_promise_is_not_read_to_its_end(files: Path) -> None:
    (files / "history/1.csv").unlink()
    write(files / "history/0.csv", ALL[:24] + [(100 + number, 0) for number in range(20_000)])
    source = made(files, 10)
    source.open(source.partitions())
    assert await read(source, 8) == ALL
    assert source.history.position()[str(files / "history/0.csv")] < 100


def test_a_cut_is_the_least_event_time_at_or_after_it() -> None:
    schema = Schema.from_dict(SCHEMA).with_event_time("time", "s")
    assert cut_time(datetime(1970, 1, 1, 0, 0, 7, 1, UTC), schema) == 8
    assert cut_time(datetime(1970, 1, 1, 0, 0, 7), schema) == 7
    assert cut_time(7, schema) == 7


async def test_another_cut_is_refused_on_resume(files: Path) -> None:
    source = made(files, 10)
    source.open(source.partitions())
    kept = source.kept_position()
    other = made(files, 11)
    other.open(other.partitions())
    with pytest.raises(ConfigurationError, match="cut: is 11, and was 10 in the run that is resumed"):
        other.take_back(kept)


TOPOLOGY = """
name = "switch"
[actors.all]
type = "history-then-live"
event_time = "time"
history = { type = "csv-source", path = "history" }
live = { type = "csv-source", path = "live" }
[actors.out]
type = "csv-sink"
inputs = ["all"]
path = "out.csv"
"""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ('live.path="nowhere"', "actors.all.live.path: "),
        ('live.pth="x"', "actors.all.live.pth: is not a key here; allowed: type, path, "),
        ('live.type="csv"', "actors.all.live.type: there is no type 'csv'; allowed: "),
        ('live.type="csv-sink"', "actors.all.live.type: there is no type 'csv-sink'; allowed: csv-source, "),
        ('live.type="map"', "actors.all.live.type: there is no type 'map'; allowed: csv-source, "),
        (
            'live.type="actorstream.connectors.csv_sink:CsvSink"',
            "actors.all.live.type: is 'actorstream.connectors.csv_sink:CsvSink'; allowed: ",
        ),
        (
            "replicas=2",
            "actors.all.replicas: is 2; allowed: 1 (several replicas share the partitions of the history",
        ),
        ("live.path=3", "actors.all.live.path: is 3; allowed: a path as text"),
        (
            "live.rate=5",
            "actors.all.live.rate: belongs to the source as a whole; allowed: rate beside `live`",
        ),
        ("history.repeat=0", "actors.all.history: has no end; allowed: a source that ends"),
        (
            'history.schema={ time = "int", value = "str" }',
            "actors.all.live: has other rows than the history: ",
        ),
        ('event_time="tim"', "actors.all.history.event_time: the event time of Row is 'tim', not a field"),
        ("live=3", "actors.all.live: is 3; allowed: a table with the key `type`"),
    ],
)
def test_a_wrong_key_is_named_with_its_place(files: Path, change: str, says: str) -> None:
    (files / "topology.toml").write_text(TOPOLOGY)
    with pytest.raises(ConfigurationError) as error:
        read_job(files / "topology.toml", None, [f"actors.all.{change}"])
    assert says in str(error.value)


def test_a_path_of_set_starts_at_the_current_directory(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "topology.toml").write_text(TOPOLOGY)
    monkeypatch.chdir(files / "live")
    job = read_job(files / "topology.toml", None, ["actors.all.live.path=1.csv"])
    keys = job.graph.actors["all"].keys
    assert [keys[name].keys["path"] for name in ("live", "history")] == [
        files / "live" / "1.csv",
        files / "history",
    ]


def test_rows_without_an_event_time_cannot_be_cut(files: Path) -> None:
    (files / "topology.toml").write_text(TOPOLOGY.replace('event_time = "time"\n', ""))
    with pytest.raises(ConfigurationError, match=r"actors\.all\.history\.event_time: is missing"):
        read_job(files / "topology.toml", None, [])


def test_a_table_without_a_type_or_a_needed_key_is_an_error(tmp_path: Path) -> None:
    for table, path in (({}, ("type",)), ({"type": "csv-source"}, ("path",))):
        with pytest.raises(MismatchError) as error:
            SourceTable.of_table(table, tmp_path)
        assert (error.value.path, error.value.message) == (path, "is missing")
