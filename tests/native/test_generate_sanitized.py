"""The C code of generators into memory of exactly the promised size, under AddressSanitizer and UBSan."""

from __future__ import annotations

from pathlib import Path

from tests.native.sanitized import NATIVE, on_every_instruction_set, run


@on_every_instruction_set
def test_generators_write_what_they_promise_and_nothing_beside_it(tmp_path: Path, defines: list[str]) -> None:
    run(tmp_path, "generate", sorted((NATIVE / "src").glob("generate_*.c")), 300, *defines)
