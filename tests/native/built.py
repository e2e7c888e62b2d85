"""C programs of tests/native/c with the parts of the core that they drive, built in several ways and run.

An object is compiled once for each way, whichever tests and workers of pytest want it, and again only after a source has
changed: build/tests keeps it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from actorstream.native.build import CFLAGS
from tests import covering

PROGRAMS = Path(__file__).resolve().parent / "c"
ROOT = PROGRAMS.parents[2]
NATIVE = ROOT / "actorstream" / "native"
KEPT = ROOT / "build" / "tests"
HEADERS = (NATIVE / "include", NATIVE / "src", PROGRAMS)

STRUCTURES = (
    *(
        "arena",
        "blocks",
        "channel",
        "consumer",
        "doorbell",
        "hold",
        "keepalive",
        "line",
        "memory",
        "merge",
        "mpmc",
        "node",
    ),
    *(
        "pool",
        "process",
        "producer",
        "progress",
        "reorder",
        "reorder_flag",
        "reorder_lock",
        "scalegate",
        "scalegate_readers",
    ),
    *("worklist", "worklist_hybrid", "worklist_partitioned", "worklist_shared", "worklist_stateless"),
)
"""Parts of the core that several threads or processes use at once."""


@dataclass(frozen=True)
class Way:
    """A way to build: a compiler, its options beyond those of the core, and the emulator that runs its programs.

    An emulated program runs on one processor. QEMU puts no barrier between a sequentially consistent store and the load that
    follows it (`stlr`, `ldar`). On two processors, each of two threads may then store and still read the old value of what the
    other has stored. A sleeper and the thread that rings miss each other; neither ARM nor C allows that.
    """

    name: str
    flags: tuple[str, ...]
    compiler: str = "gcc"
    runner: str | None = None

    def built(self, program: str, parts: Iterable[Path], include: Path | None = None) -> Path:
        """The program `c/PROGRAM.c`, linked with these sources; `include`: a further folder of what they include."""
        sources = [PROGRAMS / f"{program}.c", PROGRAMS / "level.c", *parts]
        objects = [str(self.compiled(source, include)) for source in sources]
        return self._made(self._folder(include) / program, ".program", [*objects, "-lm"], _digest(*objects))

    def compiled(self, source: Path, include: Path | None = None) -> Path:
        """The object of one source."""
        folders = [f"-I{folder}" for folder in (NATIVE / "include", include) if folder is not None]
        read = [_texts(folder, "*.h") for folder in HEADERS]
        if include is not None:
            read.append(_texts(include, "*.[ch]"))
        arguments = [*folders, "-include", str(PROGRAMS / "level.h"), "-c", str(source)]
        return self._made(
            self._folder(include) / source.stem, ".o", arguments, _digest(source.read_text(), *read)
        )

    def checked(self, sources: Iterable[Path]) -> None:
        """Finds what is wrong with sources, and makes no code of them: a tenth of the time. A compiler that needs its optimizer
        to find something (gcc) has done so when the package was built."""
        options = ["-fsyntax-only", f"-I{NATIVE / 'include'}", "-include", str(PROGRAMS / "level.h")]
        command = [*self._command(), *options, *map(str, sources)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def run(self, program: Path, *arguments: object, level: int | None = None) -> str:
        """What the program prints; `level`: the highest version of its loops. An error, also one that a sanitizer finds,
        fails the test."""
        environment = os.environ if level is None else {**os.environ, "AS_LEVEL": str(level)}
        runner = []
        if self.runner is not None:
            mine = sorted(os.sched_getaffinity(0))
            runner = [tool("taskset"), "--cpu-list", str(mine[os.getpid() % len(mine)]), tool(self.runner)]
        command = [*runner, str(program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _folder(self, include: Path | None) -> Path:
        """What is built in this way with these headers: a folder of its own, for a new object removes the old one of its name,
        which a test with other headers may be linking."""
        return KEPT / self.name / ("core" if include is None else include.name)

    def _made(self, path: Path, ending: str, arguments: list[str], digest: str) -> Path:
        command = [*self._command(), *arguments]
        target = path.with_name(f"{path.name}-{_digest(*command, digest)}{ending}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(f"{path.name}{ending}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                for old in target.parent.glob(f"{path.name}-*{ending}"):
                    old.unlink()
                making = target.with_name(f"making-{target.name}")
                done = subprocess.run([*command, "-o", str(making)], capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
                making.rename(target)
        return target

    def _command(self) -> list[str]:
        return [tool(self.compiler), *CFLAGS, "-Werror", "-pthread", *self.flags]


SANITIZED = ("-g", "-fno-sanitize-recover=all")
OPTIMISED = Way("optimised", ("-O2",))
ADDRESS = Way("address", ("-O0", "-fsanitize=address,undefined", *SANITIZED))
THREAD = Way("thread", ("-O1", "-fsanitize=thread", *SANITIZED))

on_every_instruction_set = pytest.mark.parametrize("level", [2, 1, 0], ids=["all", "avx2", "baseline"])


def tool(name: str) -> str:
    """The path of a program; where there is none a test fails in CI, and is skipped elsewhere."""
    found = shutil.which(name) or (shutil.which("cc") if name == "gcc" else None)
    if found is None:
        assert not os.environ.get("CI"), f"CI needs {name}"
        pytest.skip(f"no {name}")
    return found


def sanitizer(name: str) -> str:
    """The path of a library of gcc's, such as libasan.so."""
    found = subprocess.run(
        [tool("gcc"), f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    path = found.stdout.strip()
    if path == name:
        pytest.skip(f"the compiler has no {name}")
    return path


def sources(*names: str) -> list[Path]:
    """Parts of the core, by name."""
    return [NATIVE / "src" / f"{name}.c" for name in names]


def run_random(
    program: str,
    parts: Iterable[Path],
    rounds: int,
    *more: object,
    way: Way = ADDRESS,
    level: int | None = None,
    include: Path | None = None,
) -> None:
    """Builds a program that compares with the plainest code on random input, and runs it from a seed; in a run of slow tests
    from two."""
    binary = way.built(program, parts, include)
    for seed in (1,) if covering.samples_only else (1, 20250101):
        assert way.run(binary, seed, rounds, *more, level=level) == "ok\n"


@cache
def stress(way: Way) -> Path:
    """The program that drives those structures by threads: `stress STRUCTURE MODE ROUNDS`."""
    loads = [path for path in PROGRAMS.glob("stress_*.c") if path.stem != "stress_main"]
    return way.built("stress_main", [*sorted(loads), *sources(*STRUCTURES)])


def run_tests_on(
    modules: dict[str, Path], tests: Iterable[str], environment: dict[str, str] | None = None
) -> None:
    """Runs tests in a process of their own, with other builds of extension modules: name -> file."""
    code = (
        "import importlib.util, json, sys\n"
        "for name, path in json.loads(sys.argv[1]).items():\n"
        "    spec = importlib.util.spec_from_file_location(name, path)\n"
        "    sys.modules[name] = importlib.util.module_from_spec(spec)\n"
        "    spec.loader.exec_module(sys.modules[name])\n"
        "import pytest\n"
        "sys.exit(pytest.main(sys.argv[2:]))\n"
    )
    known = json.dumps({f"actorstream.native.{name}": str(path) for name, path in modules.items()})
    options = ["-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [sys.executable, "-c", code, known, *options, *(str(ROOT / "tests" / test) for test in tests)],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@cache
def _texts(folder: Path, pattern: str) -> str:
    return "\0".join(path.read_text() for path in sorted(folder.glob(pattern)))
