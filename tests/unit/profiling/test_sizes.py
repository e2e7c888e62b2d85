"""Which batch sizes a profile has."""

from __future__ import annotations

import pytest

from actorstream.profiling.profiler import with_planned


@pytest.mark.parametrize(
    ("sizes", "planned", "expected"),
    [
        ([16384, 64, 1024], 4096, [64, 1024, 16384]),
        ([64, 1024, 16384], 65536, [64, 1024, 16384, 65536]),
        ([64, 1024], 64, [32, 64, 1024]),
        ([16384], 16384, [8192, 16384]),
        ([64], 1, [64]),
    ],
)
def test_the_size_that_is_planned_for_and_half_of_it_lie_between_those_that_are_measured(
    sizes: list[int], planned: int, expected: list[int]
) -> None:
    assert with_planned(sizes, planned) == expected
