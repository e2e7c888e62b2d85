"""The C code of generators into memory of exactly the promised size, under AddressSanitizer and UBSan."""

from __future__ import annotations

from tests.native.built import NATIVE, on_every_instruction_set, run_random


@on_every_instruction_set
def test_generators_write_what_they_promise_and_nothing_beside_it(level: int) -> None:
    run_random("generate", sorted((NATIVE / "src").glob("generate_*.c")), 300, level=level)
