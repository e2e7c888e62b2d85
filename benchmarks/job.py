"""Runs one function of a suite in a fresh interpreter, so that no run inherits another's heap, threads or
warmth.

`call("module:function", key=value)` starts `python -m benchmarks.job` and answers the JSON that the
function returned.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LONGEST_SECONDS = 300.0


class JobError(Exception):
    """A run failed; the message carries the end of what it printed."""


def call(function: str, **keys: Any) -> Any:
    """What `function` ("module:function") returns for `keys` (JSON values) in a fresh interpreter;
    JobError."""
    return run([sys.executable, "-m", "benchmarks.job", function, json.dumps(keys)], what=function)


def run(command: list[str], *, what: str, environment: dict[str, str] | None = None) -> Any:
    """The JSON on the last line of a command's output; JobError if it fails, says nothing or takes too
    long."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise JobError(
            f"{what} did not end within {LONGEST_SECONDS:.0f} s; it said: {tail(error.stderr)}"
        ) from error
    if done.returncode != 0 or not done.stdout.strip():
        raise JobError(
            f"{what} failed with exit code {done.returncode}; it said:\n{tail(done.stderr or done.stdout)}"
        )
    return json.loads(done.stdout.strip().splitlines()[-1])


def tail(text: str | bytes | None, lines: int = 30) -> str:
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return "\n".join((text or "nothing").strip().splitlines()[-lines:])


def main(arguments: list[str]) -> None:
    module, _, function = arguments[0].partition(":")
    found = getattr(import_module(module), function)(**json.loads(arguments[1]))
    sys.stderr.flush()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
