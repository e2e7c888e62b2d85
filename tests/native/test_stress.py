"""The core's concurrent structures under load from threads: plain, ThreadSanitizer, AddressSanitizer + UBSan."""

from __future__ import annotations

import pytest

from tests.native.built import ADDRESS, OPTIMISED, THREAD, Way, stress

MODES = {
    "arena": ["mixed", "scarce", "generation-wrap-around"],
    "runs": ["plain", "one-slot", "tight-budget", "loans-short", "wrap-around"],
    "keepalive": ["pair", "hostile", "streams", "closing"],
    "line": ["told"],
    "mpmc": ["one-to-one", "two-slots", "many", "wrap-around"],
    "pool": ["one", "two-slots", "asleep", "asleep-many", "recalled", "lock-based"],
    "progress": ["busy", "asleep"],
    "returned": ["one", "many"],
    "scalegate": [
        "plain",
        "ring",
        "one-slot",
        "two-readers",
        "single-rows",
        "whole-runs",
        "ties",
        "rejoining",
    ],
    "doorbell": [
        "one-bit",
        "answered",
        "shared-bit",
        "many-words",
        "collect-one",
        "answered-many",
    ],
    "channel": [
        "plain",
        "one-slot",
        "one-slot-parked",
        "parked",
        "oversized",
        "index-wrap-around",
        "half-wrap-around",
        "loans-short",
        "returners",
        "arena-short",
        "forwarded",
        "forwarded-returners",
        "mapped",
    ],
    # the number of threads at the end; each mode goes through capacities from 1 to 1024 and selectivities 0 and 50
    "reorder": [
        *(f"non-blocking-{threads}" for threads in (1, 2, 4, 8)),
        *(f"lock-based-{threads}" for threads in (1, 2, 4, 8)),
        "non-blocking-unbounded-4",
        "non-blocking-refusing-2",
        "non-blocking-refusing-4",
        "lock-based-refusing-2",
        "non-blocking-wrap-around-4",
    ],
    "worklist": [
        *(f"hybrid-{threads}" for threads in (1, 2, 4, 8)),
        "hybrid-one-4",
        *(f"{kind}-{threads}" for kind in ("stateless", "shared", "partitioned") for threads in (2, 4)),
    ],
}
# without a sanitizer a narrow race is met by many rounds, with one by the order of the accesses
WAYS = {
    "optimised": (OPTIMISED, 10_000),
    "thread sanitizer": (THREAD, 5_000),
    "address sanitizer": (ADDRESS, 5_000),
}


@pytest.mark.parametrize(
    ("structure", "mode"),
    [
        pytest.param(structure, mode, id=f"{structure} {mode}")
        for structure, modes in MODES.items()
        for mode in modes
    ],
)
@pytest.mark.parametrize(("way", "rounds"), WAYS.values(), ids=WAYS)
def test_nothing_is_lost_doubled_damaged_or_left_asleep(
    way: Way, rounds: int, structure: str, mode: str
) -> None:
    assert way.run(stress(way), structure, mode, rounds) == "ok\n"
