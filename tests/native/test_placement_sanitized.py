"""The search for placements over random problems under AddressSanitizer and UBSan, against every placement there is."""

from __future__ import annotations

from tests.native.built import run_random, sources


def test_a_search_finds_the_best_of_all_placements_and_moves_never_make_one_worse() -> None:
    run_random("placement_random", sources("placement", "placement_moves"), 400)
