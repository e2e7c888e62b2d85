from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from actorstream.errors import SchemaError
from actorstream.events.annotation import field_of
from actorstream.events.column import Column


def column(annotation: Any, array: np.ndarray) -> Column:
    return Column.of(field_of("x", annotation, "Sample")[0], array)


@pytest.mark.parametrize(
    "annotation, array, expected",
    [
        (float, np.array([2**60, -(2**63)]), [2.0**60, -(2.0**63)]),
        (float, np.array([2**63], np.uint64), [2.0**63]),
        (float, np.array([2**53, 1], ">i8"), [2.0**53, 1.0]),
        (float, np.array([2**24], np.float32), [2.0**24]),
        (float, np.array([], np.int64), []),
        (np.float32, np.array([1e300 * 1e300, 0.1]), [float("inf"), float(np.float32(0.1))]),
        (np.float32, np.array([2**24 + 1]), [2.0**24]),
        (datetime, np.array([-1000], "M8[ns]"), [datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)]),
        (
            datetime,
            np.array([1, 2], ">M8[us]"),
            [datetime(1970, 1, 1, 0, 0, 0, each, UTC) for each in (1, 2)],
        ),
        (
            datetime,
            np.array(["0001", "9999"], "M8[Y]"),
            [datetime(year, 1, 1, tzinfo=UTC) for year in (1, 9999)],
        ),
        (datetime, np.array([], "M8[s]"), []),
    ],
)
def test_an_array_whose_values_the_field_holds_is_taken(
    annotation: Any, array: Any, expected: list[Any]
) -> None:
    assert column(annotation, array).tolist() == expected


@pytest.mark.parametrize(
    "annotation, array, message",
    [
        (datetime, np.array([0, 1], "M8[ns]"), r"row 1: 1970-01-01T00:00:00.000000001 does not fit datetime"),
        (
            datetime,
            np.array([-1], "M8[ns]"),
            r"row 0: .* does not fit datetime; allowed: whole microseconds of",
        ),
        (
            datetime,
            np.array([1, 2**62], "M8[D]"),
            r"row 1: .* does not fit datetime; allowed: .* the years 1 to",
        ),
        (datetime, np.array([1, 2**62, 2], ">M8[D]"), r"row 1: .* does not fit datetime"),
        (float, np.array([1, 2**53 + 1]), r"row 1: 9007199254740993 does not fit float64; allowed: integers"),
        (float, np.array([-(2**53) - 1]), r"row 0: -9007199254740993 does not fit float64"),
        (float, np.array([2**63 - 1]), r"row 0: 9223372036854775807 does not fit float64"),
        (float, np.array([2**64 - 1], np.uint64), r"row 0: 18446744073709551615 does not fit float64"),
        (
            np.float32,
            np.array([1.0, 1e39]),
            r"row 1: 1e\+39 does not fit float32; allowed: -3.4028235e\+38 to",
        ),
    ],
)
def test_an_array_with_a_value_that_the_field_would_change_is_refused(
    annotation: Any, array: Any, message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        column(annotation, array)
