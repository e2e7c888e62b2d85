"""spark-sink without Spark: which files are visible when, and what is in them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow.dataset as ds
import pytest

from actorstream.connectors.sink import END
from actorstream.errors import ConfigurationError, RunError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.spark import partitioned, sink
from actorstream.spark.partitioned import NULL, escaped, folder_name
from actorstream.spark.sink import STAGING, SparkSink, visible


class Row(Event):
    number: int
    town: str | None
    color: Literal["red", "green"]


TOWNS = ("Köln", "A/B", None, "Rom")


def rows(first: int, count: int) -> list[Row]:
    return [Row(at, TOWNS[at % 4], ("red", "green")[at % 2]) for at in range(first, first + count)]


class Replica:
    """What a sink sees of its surroundings."""

    name, input = "sink", "rows"

    def __init__(self, replica: int = 0, replicas: int = 1) -> None:
        self.replica, self.replicas = replica, replicas


def started(path: Path, token: Any = None, replica: int = 0, **keys: Any) -> SparkSink:
    """A sink in a new process; one that goes on if there is a token."""
    made = SparkSink(path, **keys)
    made._bind(Replica(replica))  # type: ignore[arg-type]
    made.input_schema = Schema.of(Row)
    if token is not None:
        made.restore(token)
        made.commit(token)
    made.on_start()
    return made


def put(made: SparkSink, first: int, count: int) -> None:
    made.on_batch(Batch.of_events(Schema.of(Row), rows(first, count)))


def numbers(path: Path) -> list[int]:
    files = [str(each) for each in visible(path)]
    return sorted(ds.dataset(files).to_table(columns=["number"]).column(0).to_pylist()) if files else []


def prepared(made: SparkSink, barrier: int) -> Any:
    return json.loads(json.dumps(made.prepare(barrier)))


def test_rows_are_visible_from_the_commit_of_their_checkpoint_on(tmp_path: Path) -> None:
    made = started(tmp_path / "out")
    put(made, 0, 10)
    assert numbers(tmp_path / "out") == []
    first = prepared(made, 1)
    put(made, 10, 5)
    assert numbers(tmp_path / "out") == []
    made.commit(first)
    assert numbers(tmp_path / "out") == list(range(10))
    last = prepared(made, END)
    made.commit(last)
    made.commit(last)
    assert numbers(tmp_path / "out") == list(range(15))
    assert not (tmp_path / "out" / STAGING).exists()


@pytest.mark.parametrize("committed", [False, True])
def test_a_run_that_goes_on_has_each_row_once(tmp_path: Path, committed: bool) -> None:
    out = tmp_path / "out"
    killed = started(out, partition_by=["town"])
    put(killed, 0, 8)
    killed.prepare(1)
    put(killed, 8, 8)
    token = prepared(killed, 2)  # names the files of the first, which nobody has committed
    if committed:
        killed.commit(token)
    put(killed, 16, 8)
    lost = prepared(killed, 3)
    put(killed, 24, 200)
    killed._write()
    again = started(out, token, partition_by=["town"])
    assert numbers(out) == list(range(16))
    put(again, 16, 20)
    again.commit(prepared(again, END))
    assert numbers(out) == list(range(36))
    with pytest.raises(RunError, match="cannot be committed: its staged file is gone"):
        again.commit(lost)


def test_what_a_checkpoint_that_cannot_be_read_has_moved_goes_when_the_one_before_is_taken(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    killed = started(out)
    put(killed, 0, 8)
    first = prepared(killed, 1)
    killed.commit(first)
    put(killed, 8, 8)
    killed.commit(prepared(killed, 2))
    again = started(out, first)
    put(again, 8, 2)
    again.commit(prepared(again, END))
    assert numbers(out) == list(range(10))


def test_the_values_of_partition_fields_name_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned, "MOST_OPEN", 2)
    monkeypatch.setattr(sink, "GROUP_ROWS", 16)
    out = tmp_path / "out"
    made = started(out, partition_by=["color", "town"])
    for first in range(0, 64, 8):
        put(made, first, 8)
    made.commit(prepared(made, END))
    towns = {"green": ("A%2FB", "Rom"), "red": ("Köln", NULL)}
    found = {str(path.parent.relative_to(out)) for path in visible(out)}
    assert found == {f"color={color}/town={town}" for color, names in towns.items() for town in names}
    for at, town in enumerate(TOWNS):
        folder = out / f"color={('red', 'green')[at % 2]}" / f"town={folder_name(town)}"
        found_rows = [
            row for path in sorted(folder.iterdir()) for row in ds.dataset(path).to_table().to_pylist()
        ]
        assert found_rows == [{"number": number} for number in range(at, 64, 4)]


def test_names_of_folders_are_those_that_spark_gives() -> None:
    values = [True, 7, "", "a=b c", datetime(2026, 1, 2, 3, 4, 5, 120_000, UTC), datetime(2026, 1, 2)]
    names = ["true", "7", NULL, "a%3Db c", "2026-01-02 03%3A04%3A05.12", "2026-01-02 00%3A00%3A00"]
    assert list(map(folder_name, values)) == names
    assert escaped("50%\t") == "50%25%09"


def test_a_failed_run_without_checkpoints_leaves_nothing(tmp_path: Path) -> None:
    made = started(tmp_path / "out")
    put(made, 0, 8)
    token = prepared(made, END)
    put(made, 0, 8)
    made._write()
    made.abort(token)
    made.abort(None)
    assert list((tmp_path / "out").iterdir()) == []


def test_what_a_checkpoint_names_stays_when_the_run_fails(tmp_path: Path) -> None:
    made = started(tmp_path / "out")
    put(made, 0, 8)
    token = prepared(made, 1)
    put(made, 8, 8)
    made.abort(prepared(made, END))
    made.abort(token)
    made.abort(None)
    again = started(tmp_path / "out", token)
    again.commit(prepared(again, END))
    assert numbers(tmp_path / "out") == list(range(8))


def test_files_of_a_run_before_are_an_error_or_stay_or_go(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for mode, first, expected in (("error", 0, [0]), ("append", 1, [0, 1]), ("overwrite", 2, [2])):
        made = started(out, mode=mode)
        put(made, first, 1)
        token = prepared(made, END)
        assert len(numbers(out)) == len(expected) - 1 if mode != "overwrite" else 2
        made.commit(token)
        assert numbers(out) == expected
    with pytest.raises(ConfigurationError, match=r"has files of a run before, .*\"append\" or \"overwrite\""):
        started(out)


def test_replicas_have_files_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sinks = [started(out, replica=number) for number in range(2)]
    for number, made in enumerate(sinks):
        put(made, 10 * number, 10)
    tokens = [prepared(made, 1) for made in sinks]
    again = [started(out, token, replica=number) for number, token in enumerate(tokens)]
    for made in again:
        made.commit(prepared(made, END))
    assert numbers(out) == list(range(20))
    assert not (out / STAGING).exists()


def test_no_rows_are_a_file_from_which_the_fields_can_be_told(tmp_path: Path) -> None:
    made = started(tmp_path / "out")
    made.commit(prepared(made, 1))
    made.commit(prepared(made, END))
    (only,) = visible(tmp_path / "out")
    assert ds.dataset(only).to_table().schema.names == ["number", "town", "color"]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"partition_by": ["twon"]}, "there is no field 'twon'"),
        ({"partition_by": ["price"]}, "'price' is of the type float64"),
        ({"partition_by": ["a", "a"]}, "is ['a', 'a']"),
        ({"partition_by": ["a", "b"]}, "is ['a', 'b']"),
        ({"path": Path("file/below")}, "is a file"),
    ],
)
def test_a_wrong_key_is_a_problem(tmp_path: Path, keys: dict[str, Any], says: str) -> None:
    (tmp_path / "file").touch()
    fields = {
        "a": "int",
        "b": "str",
        **({"price": "float"} if "price" in keys.get("partition_by", ()) else {}),
    }
    problems = SparkSink.check({"path": Path("out"), **keys}, [Schema.from_dict(fields)], tmp_path)
    assert len(problems) == 1
    assert says in problems[0].message
