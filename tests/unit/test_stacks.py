"""A process that hangs shows where, and one that does not listen is left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HANGING = """
import os, subprocess, sys
from tests.stacks import descendants, listen, show_stacks
told, tell = os.pipe()
here, ready = os.pipe()
listen(tell)

def hangs():
    os.write(ready, b".")
    os.read(os.pipe()[0], 1)

if os.fork() == 0:
    if os.fork() == 0:
        hangs()
    hangs()
for _ in range(2):
    os.read(here, 1)
deaf = subprocess.Popen([sys.executable, "-c", "print(input())"], stdin=subprocess.PIPE)
found = descendants(os.getpid())
assert len(found) == 3 and deaf.pid in found
show_stacks([deaf.pid])
for pid in found:
    if pid != deaf.pid:  # one after the other: two that write at once write between each other's letters
        show_stacks([pid])
        text = b""
        while b"in hangs" not in text:
            text += os.read(told, 65536)
for pid in found:
    if pid != deaf.pid:
        os.kill(pid, 9)
deaf.communicate(b"go on")
print(deaf.returncode)
"""


def test_forked_processes_show_their_stacks_and_programs_go_on() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", HANGING], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "go on\n0\n"), done.stderr
