"""The C code of jumbo tuples and kernels over random and hostile input under AddressSanitizer and UBSan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.native.built import ADDRESS, Way, on_every_instruction_set, run_random, sources

PAST_THE_CACHES = ("-DAS_JUMBO_STREAMED=2048", "-DAS_FAR_NS=1")
WIDE = replace(
    ADDRESS, name="address-wide", flags=(*ADDRESS.flags, "-DAS_JUMBO_NARROW_MAX=100", *PAST_THE_CACHES)
)
SMALL = replace(ADDRESS, name="address-small", flags=(*ADDRESS.flags, "-DAS_PART=64", *PAST_THE_CACHES))


@pytest.mark.parametrize(
    "way", [ADDRESS, WIDE, SMALL], ids=["plain", "wide offsets, past the caches", "small parts"]
)
def test_pieces_of_random_batches_are_written_whole_and_damaged_bytes_do_no_harm(
    way: Way,
) -> None:
    run_random("jumbo_pieces", sources("jumbo"), 1000, way=way)


@on_every_instruction_set
def test_kernels_agree_with_the_plainest_code(level: int) -> None:
    run_random("jumbo_kernels", sources("kernels"), 1000, level=level)
