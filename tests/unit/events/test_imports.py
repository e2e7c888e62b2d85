"""What importing the events costs: nothing heavy before it is used."""

from __future__ import annotations

import subprocess
import sys


def test_importing_events_imports_no_pyarrow_no_event_loop_and_no_terminal_library() -> None:
    code = (
        "import sys, actorstream.events\n"
        "print([name for name in ('pyarrow', 'asyncio', 'rich', 'cyclopts', 'uvloop') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_events_of_numbers_go_to_bytes_and_back_without_pyarrow() -> None:
    code = (
        "import sys\n"
        "from actorstream.events import *\n"
        "class Pair(Event):\n"
        "    a: int; b: str\n"
        "rows = [Pair(i, str(i)) for i in range(20)]\n"
        "found = decode(Schema.of(Pair), from_bytes(to_bytes(Batch.of_events(Pair, rows)), trusted=True)).events()\n"
        "print(found == rows, 'pyarrow' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "True False"
