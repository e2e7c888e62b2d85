"""An operator's kernel for one batch, ready to be run by any thread of a pool without the interpreter (native/pool.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from actorstream.native.pool import make_job


class Prepared(NamedTuple):
    """What `prepare(batch)` of an operator answers; it keeps what the job refers to.

    job: `as_pool_job *`, to be run once. finish: called after that, on the thread that prepared it, if the job has
    answered 0: what `on_batch` would have. If the job has answered anything else, `on_batch` is to be called instead.

    An operator with a state (`pool_limit` 1) prepares one batch at a time: the next when it has finished the last. Its
    `finish` is called whatever the job has answered, and raises what is wrong; `on_batch` is not called then."""

    job: Any
    finish: Callable[[], Any]


def c_job(function: int, context: int) -> Any:
    """A job that calls the C function `int32_t function(void *context)` at an address, with a context at an address, on
    some thread, without the interpreter. Whoever asks keeps both; the job may be run again and again."""
    return make_job(function, context)
