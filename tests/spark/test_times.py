"""Event times that Spark has as dates or as local times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from actorstream.spark.source import SparkSource

from .flights import read

ROWS, UNUSED = 200, ("format", "options", "path", "preprocess")
NUMBER = f"cast((id * 7) % {ROWS} as int)"
DAYS = f"date_add(date'2024-03-09', {NUMBER})"
PARTS = f"timestamp_ntz'2024-03-09 20:00:00' + make_dt_interval(0, 0, 3 * {NUMBER}, 0.000001 * {NUMBER})"
"""The clocks of New York go from 2 to 3 in between."""


@pytest.fixture(autouse=True)
def _session_in_new_york(spark: Any) -> Iterator[None]:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.unset("spark.sql.session.timeZone")


@pytest.mark.parametrize(
    ("time", "first", "step"),
    [
        (DAYS, datetime(2024, 3, 9, tzinfo=UTC), timedelta(days=1)),
        (PARTS, datetime(2024, 3, 9, 20, tzinfo=UTC), timedelta(minutes=3, microseconds=1)),
    ],
)
async def test_dates_and_local_times_are_promised_in_microseconds_whatever_zone_the_session_has(
    flights: Callable[..., SparkSource], time: str, first: datetime, step: timedelta
) -> None:
    keys: dict[str, Any] = dict.fromkeys(UNUSED)
    keys |= {"sql": f"select {time} as ts, {NUMBER} as number from range({ROWS})", "range_rows": 50}
    source = flights(**keys, schema={"ts": "datetime", "number": "int"}, event_time="ts")
    rows = await read(source, 60, ROWS)
    assert rows == [(first + number * step, number) for number in range(ROWS)]
    least, greatest = (int(row[0].timestamp()) * 10**6 + row[0].microsecond for row in (rows[0], rows[-1]))
    table = source.kept_position()["table"]
    assert (table["least"], table["greatest"], source.lower_bound(0)) == (least, greatest, greatest)
    assert all(least < bound < greatest for bound in table["bounds"]) and len(table["bounds"]) == 3
