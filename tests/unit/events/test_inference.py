"""Inference: the schema of columns without one."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from actorstream.errors import SchemaError
from actorstream.events import Column, Field, Kind
from actorstream.events.inference import infer_schema


def test_every_source_of_columns_has_a_type() -> None:
    schema = infer_schema(
        {
            "a": np.arange(2, dtype=np.int16),
            "b": np.array([True]),
            "c": np.array(["2026-01-01"], "M8[s]"),
            "d": np.array(["x"]),
            "e": pa.array([1.5, None]),
            "f": pa.array(["x"], pa.large_string()),
            "g": [1, None],
            "h": [b"x"],
            "i": [datetime(2026, 1, 1, tzinfo=UTC)],
            "j": Column.from_values(Field("other", Kind.DICTIONARY, True, ("a", "b")), ["a", None]),
            "k": np.array(["x", None], object),
        },
        "Told",
    )
    assert [str(field) for field in schema.fields] == [
        "a: int16", "b: bool", "c: datetime", "d: string", "e: float64?", "f: string", "g: int64?", "h: bytes",
        "i: datetime", "j: one of ['a', 'b']?", "k: string?",
    ]  # fmt: skip


@pytest.mark.parametrize("values", [[], [None], [object()], 5])
def test_a_type_that_cannot_be_told_is_asked_for(values: object) -> None:
    with pytest.raises(SchemaError, match=r"field 'x': the type of .* cannot be told.*event="):
        infer_schema({"x": values})
