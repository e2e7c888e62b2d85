"""The C code of jumbo tuples and kernels over random and hostile input under AddressSanitizer and UBSan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.sanitized import on_every_instruction_set, run, sources


@pytest.mark.parametrize(
    "defines", [[], ["-DAS_JUMBO_NARROW_MAX=100"]], ids=["narrow offsets", "wide offsets"]
)
def test_pieces_of_random_batches_are_written_whole_and_damaged_bytes_do_no_harm(
    tmp_path: Path, defines: list[str]
) -> None:
    run(tmp_path, "jumbo_pieces", sources("jumbo"), 1000, *defines)


@on_every_instruction_set
def test_kernels_agree_with_the_plainest_code(tmp_path: Path, defines: list[str]) -> None:
    run(tmp_path, "jumbo_kernels", sources("kernels"), 1000, *defines)
