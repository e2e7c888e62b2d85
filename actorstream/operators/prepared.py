"""An operator's kernel for one batch, ready to be run by any thread of a pool without the interpreter (native/pool.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Prepared(NamedTuple):
    """What `prepare(batch)` of an operator answers; it keeps what the job refers to.

    job: `as_pool_job *`, to be run once. finish: called after that, on the thread that prepared it, if the job has
    answered 0: what `on_batch` would have. If the job has answered anything else, `on_batch` is to be called instead."""

    job: Any
    finish: Callable[[], Any]
