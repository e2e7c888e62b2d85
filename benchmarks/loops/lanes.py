"""The merge of sorted lanes that alternate finely, in one thread. No engine."""

from __future__ import annotations

import time

import numpy as np

from actorstream.native.merge import ENDED, Merge

LIMIT = 4096


def merged(lanes: int, rows: int, tied: bool) -> float:
    """Rows a second of processor time, `rows` in all, at random from the lanes; `tied`: nearly all of them have the time of
    others, and a tie column orders them."""
    random = np.random.default_rng(1)
    order = np.arange(rows)
    owner = random.integers(0, lanes, rows)
    merge = Merge([0] * lanes if tied else range(lanes), int(tied))
    for lane in range(lanes):
        own = np.ascontiguousarray(order[owner == lane])
        merge.fill(lane, own // (4 * lanes) if tied else own, [own] if tied else [])
        merge.promise(lane, ENDED)
    began = time.process_time()
    while merge.ready(LIMIT)[0]:
        pass
    return rows / (time.process_time() - began)
