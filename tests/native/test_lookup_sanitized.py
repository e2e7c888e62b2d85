"""The C code of lookups over random tables under AddressSanitizer and UBSan, against a search through the table."""

from __future__ import annotations

from pathlib import Path

from tests.native.sanitized import on_every_instruction_set, run, sources

PARTS = ("lookup_build", "lookup_expand", "lookup_find", "seed")


@on_every_instruction_set
def test_a_lookup_finds_what_a_search_through_the_table_finds(tmp_path: Path, defines: list[str]) -> None:
    run(tmp_path, "lookup_random", sources(*PARTS), 300, *defines)
