"""The bare C ring of `ipc`: csrc/ring.c driven through cffi by two Python processes. No engine.

The work is that of the engine's producer: 4,096 rows of five int64 columns written in place by NumPy into
views made once a slot. Both sides spin. The memory in flight is what the engine's default budget of an edge
allows (4 MiB).
"""

from __future__ import annotations

import mmap
import os
import signal
import time

import numpy as np

from benchmarks.compiled import compiled

COLUMNS = 5
BUDGET = 4 << 20


def ring(rows: int, seconds: float, sum_column: bool = False) -> float:
    """Tuples a second from a child process, which fills jumbo tuples of `rows` rows, to this one."""
    module = compiled("ring")
    slot_bytes = max(COLUMNS * rows * 8, 64)
    slots = max(BUDGET // slot_bytes, 1)
    memory = mmap.mmap(-1, module.lib.ring_size(slots, slot_bytes))
    address = module.ffi.cast("void *", module.ffi.from_buffer(memory))
    module.lib.ring_init(address, slots, slot_bytes)
    views = [
        np.frombuffer(memory, np.int64, COLUMNS * rows, module.lib.ring_slot_offset(address, slot)).reshape(
            COLUMNS, rows
        )
        for slot in range(slots)
    ]
    columns = [list(view) for view in views]
    child = os.fork()
    if child == 0:
        try:
            produce(module, address, columns, seconds)
            os._exit(0)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    try:
        return consume(module, address, columns, rows, sum_column)
    finally:
        os.waitpid(child, 0)


def produce(module: object, address: object, columns: list[list[np.ndarray]], seconds: float) -> None:
    lib = module.lib  # type: ignore[attr-defined]
    claim, publish, now = lib.ring_claim, lib.ring_publish, time.monotonic
    add, ramp = np.add, np.arange(len(columns[0][0]))
    number, ends = 0, now() + seconds
    while now() < ends:
        for column in columns[claim(address)]:
            add(ramp, number, column)
        publish(address)
        number += 1
    lib.ring_end(address)


def consume(
    module: object, address: object, columns: list[list[np.ndarray]], rows: int, sum_column: bool
) -> float:
    lib = module.lib  # type: ignore[attr-defined]
    take, release, now = lib.ring_take, lib.ring_release, time.monotonic
    taken = total = 0
    begun = 0.0
    while (slot := take(address)) >= 0:
        if not begun:
            begun = now()
        elif sum_column:
            total += int(columns[slot][0].sum())
        release(address)
        taken += 1
    return (taken - 1) * rows / (now() - begun)
