"""The core as another compiler, C library and processor have it: no warnings, the same results bit for bit, and structures
that lose nothing. Programs for ARM run in an emulator, on one processor (`Way` says why): they show that the code
works when compiled for ARM, not that it is correct under ARM's weaker memory order."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.native.built import (
    KEPT,
    NATIVE,
    OPTIMISED,
    ROOT,
    Way,
    run_random,
    run_tests_on,
    sources,
    stress,
    tool,
)

CLANG = Way("clang", ("-O2",), "clang")
AARCH64 = Way("aarch64", ("-O2", "-static"), "aarch64-linux-gnu-gcc", "qemu-aarch64")
CHANNEL = ("one-slot-parked", "index-wrap-around", "returners", "forwarded", "mapped")
LOADS = [
    *(("channel", mode) for mode in CHANNEL),
    *(("arena", "mixed"), ("doorbell", "shared-bit"), ("line", "told")),
    *(("mpmc", "wrap-around"), ("pool", "asleep"), ("reorder", "non-blocking-wrap-around-4")),
    *(("runs", "wrap-around"), ("scalegate", "two-readers"), ("worklist", "hybrid-4")),
]
RANDOM = [
    ("expression_random", sources("expression"), 60),
    ("generate", sorted((NATIVE / "src").glob("generate_*.c")), 30),
    ("jumbo_kernels", sources("kernels"), 60),
    ("jumbo_pieces", sources("jumbo"), 60),
    ("lookup_random", sources("lookup_build", "lookup_expand", "lookup_find", "seed"), 20),
    (
        "groups_random",
        sources("groups", "groups_change", "texts", "order", "zeroed", "operand", "seed"),
        40,
    ),
]


@cache
def musl() -> Way:
    """Debian's musl-gcc has no headers of the kernel; those of the system are for any C library."""
    folder = KEPT / "kernel-headers"
    folder.mkdir(parents=True, exist_ok=True)
    machine = subprocess.run([tool("gcc"), "-print-multiarch"], capture_output=True, text=True, check=True)
    for name, found in (("linux", ""), ("asm-generic", ""), ("asm", machine.stdout.strip())):
        link = folder / name
        if not link.is_symlink():
            making = folder / f"{name}-{os.getpid()}"
            making.symlink_to(Path("/usr/include", found, name))
            making.rename(link)
    return Way("musl", ("-O0", "-static", f"-isystem{folder}"), "musl-gcc")


WAYS = {"clang": lambda: CLANG, "musl": musl, "aarch64": lambda: AARCH64}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
another_processor = pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, id=name, marks=() if name == "aarch64" else pytest.mark.slow)
        for name, way in WAYS.items()
    ],
)
"""The ordinary run has only the way that differs most: to compile takes longer than to run."""


@another_processor
def test_every_file_of_the_core_compiles_without_a_warning(way) -> None:
    way().checked(sorted((NATIVE / "src").glob("*.c")))


@another_processor
def test_results_are_the_same_bit_for_bit(way) -> None:
    assert results(way()) == results(OPTIMISED)


@pytest.mark.parametrize("level", [0, 1])
def test_results_are_the_same_bit_for_bit_with_older_instructions(level: int) -> None:
    assert results(OPTIMISED, level) == results(OPTIMISED)


def results(way: Way, level: int | None = None) -> list[str]:
    binary = way.built("results", sources("elementary", "expression", "generate_draw"))
    found = way.run(binary, level=level).splitlines()
    assert len(found) == 22
    return found


@ways
def test_structures_lose_nothing(way) -> None:
    binary = stress(way())
    for structure, mode in LOADS:
        assert way().run(binary, structure, mode, 300) == "ok\n"


@another_processor
@pytest.mark.parametrize(("program", "parts", "rounds"), RANDOM, ids=[name for name, _, _ in RANDOM])
def test_loops_give_what_the_plainest_code_gives(way, program: str, parts: list[Path], rounds: int) -> None:
    run_random(program, parts, rounds, way=way())


@pytest.mark.slow
def test_clang_builds_modules_that_the_engine_runs_on(tmp_path: Path) -> None:
    build = "from setuptools import setup; setup()"
    where = ["build_ext", "--build-lib", str(tmp_path), "--build-temp", str(tmp_path / "objects")]
    flags = {"CC": tool("clang"), "LDSHARED": "clang -shared", "ACTORSTREAM_CFLAGS": "-O0 -Werror"}
    done = subprocess.run(
        [sys.executable, "-c", build, *where],
        cwd=ROOT,
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    built = {name: next(tmp_path.glob(f"actorstream/native/{name}.*.so")) for name in ("_core", "_objects")}
    run_tests_on(built, ["native/test_channel.py", "native/test_kernels.py", "unit/native/test_emitter.py"])


@pytest.mark.parametrize("width", ["INT", "LLONG"])
def test_a_machine_whose_atomics_take_locks_is_refused_when_the_core_is_compiled(width: str) -> None:
    macro = f"__GCC_ATOMIC_{width}_LOCK_FREE"
    flags = ["-fsyntax-only", f"-U{macro}", f"-D{macro}=1"]
    for source in sources("arena", "channel", "doorbell", "line"):
        done = subprocess.run([tool("gcc"), *flags, str(source)], capture_output=True, text=True)
        assert done.returncode != 0 and "needs lock-free atomics" in done.stderr
