"""The command line called in this process. It forks its workers as ever, but starts no interpreter, which costs a second of
CPU time a test; tests/integration/test_verify.py and `installed` start real ones."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import chdir, redirect_stderr
from pathlib import Path

from actorstream.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def command(*words: object, code: int = 0) -> str:
    """Runs `actorstream WORDS` from the root of the repository and holds its exit status against `code`; what it said on
    stderr."""
    said = io.StringIO()
    with chdir(ROOT), redirect_stderr(said):
        status = main([str(word) for word in words])
    assert status == code, said.getvalue()
    return said.getvalue()


def installed(*words: object, code: int = 0) -> str:
    """The same by the installed command."""
    program = str(Path(sys.executable).with_name("actorstream"))
    done = subprocess.run([program, *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stderr
