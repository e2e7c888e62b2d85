"""States as bytes: arrays of numbers come back with type and shape, however they are annotated; what cannot go is named."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from actorstream.dgs.state_bytes import packed, unpacked
from actorstream.errors import DataError


class State(msgspec.Struct):
    plain: np.ndarray
    typed: npt.NDArray[np.float32]
    maybe: np.ndarray | None = None
    several: dict[str, npt.NDArray[np.int64]] = {}
    number: int = 0


def test_arrays_come_back_with_type_and_shape_and_can_be_written() -> None:
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    state = State(np.array([True, False]), table.T, None, {"a": np.arange(3)}, np.int64(4))
    back = unpacked(State, packed(state, "program"))
    assert back.plain.tolist() == [True, False] and back.plain.dtype == bool
    assert back.typed.tolist() == table.T.tolist() and back.typed.dtype == np.float32
    assert back.maybe is None and back.several["a"].tolist() == [0, 1, 2] and back.number == 4
    back.typed[0, 0] = 9
    times = np.array(["2026-01-01T00:00:00"], "datetime64[us]")
    assert unpacked(State, packed(State(times, table, times), "program")).maybe == times


@pytest.mark.parametrize(
    ("value", "named"),
    [(np.array(["a"]), "<U1 array"), (np.array([None]), "object array"), (object(), "object")],
)
def test_what_cannot_be_carried_is_named(value: Any, named: str) -> None:
    with pytest.raises(
        DataError, match=rf"program: a state cannot travel .*a state with a {named}; allowed: "
    ):
        packed(State(value, np.zeros(1, np.float32)), "program")
