"""Random programs under random plans and deployments put out what a single worker does that calls `update` alone."""

from __future__ import annotations

import pytest

from tests.differential.cases import SUBJECTS, difference
from tests.integration.test_seeded_programs import check_seed

FIRST = 100_000
"""Seeds of programs that the integration tests do not take."""


def check(seed: int) -> None:
    try:
        check_seed(FIRST + seed)
    except AssertionError as error:
        raise difference("programs", seed, str(error)) from None


@pytest.mark.parametrize("seed", range(SUBJECTS["programs"].normal))
def test_programs_put_out_what_they_do_sequentially(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + SUBJECTS["programs"].slow))
def test_many_programs_put_out_what_they_do_sequentially(seed: int) -> None:
    check(seed)
