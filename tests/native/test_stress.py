"""The core's concurrent structures under load from threads: plain, ThreadSanitizer, AddressSanitizer + UBSan."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "actorstream" / "native"
CORE = (
    "arena",
    "blocks",
    "channel",
    "consumer",
    "doorbell",
    "hold",
    "memory",
    "merge",
    "mpmc",
    "pool",
    "process",
    "producer",
    "reorder",
    "reorder_flag",
    "reorder_lock",
    "scalegate",
    "scalegate_readers",
    "worklist",
    "worklist_hybrid",
    "worklist_partitioned",
    "worklist_shared",
    "worklist_stateless",
)
FLAGS = ["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-fno-strict-aliasing", "-pthread"]
BUILDS = {
    "optimised": ["-O2"],
    "thread sanitizer": ["-O1", "-fsanitize=thread", "-fno-sanitize-recover=all"],
    "address sanitizer": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}
MODES = {
    "arena": ["mixed", "scarce", "generation-wrap-around"],
    "runs": ["plain", "one-slot", "tight-budget", "loans-short", "wrap-around"],
    "mpmc": ["one-to-one", "two-slots", "many", "wrap-around"],
    "pool": ["one", "two-slots", "asleep", "asleep-many", "recalled", "lock-based"],
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
    "doorbell": ["one-bit", "answered", "shared-bit", "many-words", "collect-one", "answered-many"],
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
ROUNDS = {"optimised": 100_000, "thread sanitizer": 5_000, "address sanitizer": 5_000}


@pytest.fixture(scope="session", params=list(BUILDS))
def stress(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The stress program built one way, and how many rounds it is worth."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    binary = tmp_path_factory.mktemp("stress") / "stress"
    sources = [*(HERE / "c").glob("stress_*.c"), *(NATIVE / "src" / f"{name}.c" for name in CORE)]
    command = [compiler, *FLAGS, *BUILDS[request.param], f"-I{NATIVE / 'include'}", *map(str, sources)]
    built = subprocess.run([*command, "-o", str(binary)], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return binary, ROUNDS[request.param]


@pytest.mark.parametrize(
    ("structure", "mode"),
    [
        pytest.param(structure, mode, id=f"{structure} {mode}")
        for structure, modes in MODES.items()
        for mode in modes
    ],
)
def test_nothing_is_lost_doubled_damaged_or_left_asleep(
    stress: tuple[Path, int], structure: str, mode: str
) -> None:
    binary, rounds = stress
    done = subprocess.run([str(binary), structure, mode, str(rounds)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
