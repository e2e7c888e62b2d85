"""The C kernels of apps over random rows under AddressSanitizer and UBSan, each state beside one that has loaded what its
forerunner saved. Each has one owner at a time, so there is nothing for ThreadSanitizer."""

from __future__ import annotations

import pytest

from tests.native.built import ROOT, run_random


@pytest.mark.parametrize(
    ("app", "rounds"), [("linear_road", 200), ("tpcx_bb", 20), ("card_fraud", 40), ("spike_detection", 10)]
)
def test_a_loaded_state_goes_on_as_the_one_that_was_saved(app: str, rounds: int) -> None:
    run_random(f"{app}_random", [], rounds, include=ROOT / "apps" / app)
