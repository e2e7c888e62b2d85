"""What a survey finds is what counting the rows one by one finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream import Event, Source
from actorstream.connectors import survey as surveys
from actorstream.connectors.csv_source import CsvSource
from actorstream.connectors.generator import GeneratorSource
from actorstream.connectors.memory import MemorySource
from actorstream.connectors.survey import survey
from actorstream.errors import ConfigurationError, DataError


class Row(Event, event_time="ts", time_unit="s"):
    ts: int
    op: Literal["i", "r"]
    key: str | None
    place: int


class Given(Source):
    def __init__(self, rows: list[Row]) -> None:
        super().__init__(count=len(rows))
        self.rows = rows

    def events(self) -> Iterator[Row]:
        yield from self.rows


rows = st.lists(
    st.builds(
        Row,
        st.integers(-9, 9),
        st.sampled_from(["i", "r"]),
        st.sampled_from(["a", "b", None]),
        st.integers(-2, 2),
    ),
    max_size=40,
)


@given(rows, st.sampled_from([3, 1 << 16]))
def test_counts_and_times_are_those_of_the_rows_one_by_one(found: list[Row], at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surveys, "ROWS", at_once)
        answer = survey(Given(found), ["key", "op", "place"])
    assert answer.counts == Counter((0, (row.key, row.op, row.place)) for row in found)
    assert list(answer.counts) == list(dict.fromkeys((0, (row.key, row.op, row.place)) for row in found))
    times = [row.ts for row in found]
    assert (answer.first, answer.last) == ((min(times), max(times)) if times else (None, None))
    assert answer.rows == len(found)
    assert answer.complete


def test_files_are_told_apart_and_repeat_and_rate_do_not_count(tmp_path: Path) -> None:
    for number, keys in enumerate(("aab", "c")):
        (tmp_path / f"{number}.csv").write_text(
            "ts,key\n" + "".join(f"{at},{key}\n" for at, key in enumerate(keys))
        )
    source = CsvSource(tmp_path, event_time="ts", time_unit="s", repeat=0, rate=1.0)
    answer = survey(source, ["key"])
    assert answer.counts == {(0, ("a",)): 2, (0, ("b",)): 1, (1, ("c",)): 1}
    assert answer.rates() == {(0, ("a",)): 1.0, (0, ("b",)): 0.5, (1, ("c",)): 0.5}
    assert survey(CsvSource(tmp_path), []).counts == {(0, ()): 3, (1, ()): 1}


def test_a_sample_says_that_it_is_one() -> None:
    source = GeneratorSource(schema={"key": {"type": "int", "distribution": "uniform", "low": 1, "high": 4}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surveys, "ROWS", 100)
        answer = survey(source, ["key"], most_rows=1000)
    assert not answer.complete
    assert answer.rows == 1000
    assert set(answer.counts) == {(0, (1,)), (0, (2,)), (0, (3,))}


def test_sources_that_do_not_end_or_are_live_are_refused_with_what_to_do() -> None:
    class Live(Source):
        async def events(self) -> AsyncIterator[Row]:
            yield Row(1, "i", None, 0)

    endless = GeneratorSource(schema={"key": "int"})
    for source in (endless, Live(count=3)):
        with pytest.raises(ConfigurationError, match="cannot be read beforehand to find its values of key"):
            survey(source, ["key"])


def test_a_row_that_does_not_parse_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,key\n1,a\nx,b\n")
    with pytest.raises(DataError, match=r"a\.csv.*line 3"):
        survey(CsvSource(tmp_path / "a.csv", schema={"ts": "int", "key": "str"}), ["key"])


def test_a_sample_looks_at_all_partitions_and_rates_are_over_the_time_of_each(tmp_path: Path) -> None:
    for number, step in enumerate((1, 10)):
        rows = "".join(f"{1000 * number + at * step},k\n" for at in range(3000))
        (tmp_path / f"{number}.csv").write_text("ts,key\n" + rows)
    answer = survey(CsvSource(tmp_path, event_time="ts", time_unit="ms"), ["key"], most_rows=2000)
    assert answer.counts == {(0, ("k",)): 1000, (1, ("k",)): 1000}
    assert answer.spans == {0: (0, 999), 1: (1000, 10990)}
    assert {found: round(rate) for found, rate in answer.rates().items()} == {
        (0, ("k",)): 1001,
        (1, ("k",)): 100,
    }


def test_a_list_in_memory_can_be_read_beforehand() -> None:
    items = {"a": [Row(1, "i", "x", 0)], "b": [Row(2, "r", "y", 0)] * 2}
    answer = survey(MemorySource(items, repeat=0), ["key"])
    assert answer.counts == {(0, ("x",)): 1, (1, ("y",)): 2}
    assert answer.complete
