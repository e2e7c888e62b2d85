"""Each aggregate has a type that its values fit; what does not fit the rows is refused where it stands."""

from __future__ import annotations

import pytest

from actorstream import Schema
from actorstream.operators.aggregation.outputs import output_of
from actorstream.operators.expressions import ExpressionError

ROW = Schema.from_dict(
    {"price": "float32?", "number": "int16", "text": "str", "at": "datetime?", "is_new": "bool"}
)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("count()", "n: int64"),
        ("count(price)", "n: int64"),
        ("sum(number)", "n: int64"),
        ("sum(price)", "n: float64?"),
        ("mean(number)", "n: float64"),
        ("min(at)", "n: datetime?"),
        ("max(is_new)", "n: bool"),
        ("min(number)", "n: int16"),
        ("max(price)", "n: float32?"),
        ("first(text)", "n: string"),
        ("count_distinct(text)", "n: int64"),
        ("quantile(price, 0.9)", "n: float64?"),
    ],
)
def test_an_aggregate_has_the_type_of_its_values(text, field):
    made = output_of("n", text, ROW).field
    assert f"{made.name}: {made.kind.value}{'?' if made.nullable else ''}" == field


@pytest.mark.parametrize(
    "text", ["sum(text)", "mean(at)", "max(text)", "quantile(number, 2)", "quantile(number, number)", "sum()"]
)
def test_what_does_not_fit_is_refused(text):
    with pytest.raises(ExpressionError):
        output_of("n", text, ROW)
