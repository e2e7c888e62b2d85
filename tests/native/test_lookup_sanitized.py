"""The C code of lookups over random tables under AddressSanitizer and UBSan, against a search through the table."""

from __future__ import annotations

from tests.native.built import on_every_instruction_set, run_random, sources

PARTS = ("lookup_build", "lookup_expand", "lookup_find", "seed")


@on_every_instruction_set
def test_a_lookup_finds_what_a_search_through_the_table_finds(level: int) -> None:
    run_random("lookup_random", sources(*PARTS), 300, level=level)
