"""Results are read from cells as the values that went in: special floats, nulls, every width of integer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from actorstream import Batch, Schema
from actorstream.operators.aggregate import Aggregate
from tests.unit.operators.aggregation.test_local import listed, rows, started

NAN, INFINITE = math.nan, math.inf


def aggregated(kind: str, values: list[Any], *texts: str) -> list[Any]:
    """What aggregates of the one group of these values say."""
    schema = Schema.from_dict({"v": kind})
    made = started(Aggregate({f"a{at}": text for at, text in enumerate(texts)}), schema)
    made.on_batch(Batch.of_columns(schema, {"v": values}))
    return list(rows(listed(made.on_end()))[0])


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_the_least_and_the_greatest_of_every_integer(kind):
    bounds = np.iinfo(kind)
    values = [int(bounds.min), 1, int(bounds.max)]
    found = aggregated(kind, values, "min(v)", "max(v)", "first(v)", "last(v)")
    assert found == [values[0], values[2], values[0], values[2]]


def test_floats_keep_their_signs_and_infinities():
    assert aggregated("float", [2.0, -INFINITE, INFINITE], "min(v)", "max(v)") == [-INFINITE, INFINITE]
    assert math.copysign(1, aggregated("float", [0.0, -0.0], "min(v)")[0]) == -1
    assert aggregated("float", [1.0, INFINITE], "sum(v)", "mean(v)") == [INFINITE, INFINITE]
    assert math.isnan(aggregated("float", [-INFINITE, INFINITE], "sum(v)")[0])
    assert aggregated("float32", [1.5, -2.5], "min(v)", "sum(v)") == [-2.5, -1.0]


def test_nan_is_the_least_and_the_greatest():
    assert all(
        map(math.isnan, aggregated("float", [1.0, NAN, -INFINITE], "min(v)", "max(v)", "sum(v)", "mean(v)"))
    )


def test_floats_lose_nothing_to_values_that_cancel():
    assert aggregated("float", [1e16, 1.0, -1e16, 1.0], "sum(v)", "mean(v)") == [2.0, 0.5]


def test_only_nulls_have_no_value_but_can_be_counted():
    texts = (
        "count()",
        "count(v)",
        "sum(v)",
        "min(v)",
        "mean(v)",
        "last(v)",
        "count_distinct(v)",
        "quantile(v, 0.5)",
    )
    assert aggregated("int?", [None, None], *texts) == [2, 0, None, None, None, None, 0, None]
    assert aggregated("int?", [None, 5, None], *texts) == [3, 1, 5, 5, 5.0, 5, 1, 5.0]


def test_texts_and_bools_and_times_come_back_as_they_were():
    assert aggregated("str", ["b", "", "é"], "first(v)", "last(v)", "count_distinct(v)") == ["b", "é", 3]
    assert aggregated("bool", [True, False], "min(v)", "max(v)", "last(v)") == [False, True, False]


def test_a_mean_of_large_integers_is_rounded_once():
    values = [2**62 + 1, 2**62 + 1, 2**62 + 1]
    assert aggregated("int", values, "mean(v)") == [float(2**62 + 1)]
    assert aggregated("uint64", [2**64 - 1, 1], "mean(v)") == [2.0**63]
