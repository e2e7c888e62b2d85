"""The baton that says which thread of a pool runs Python (include/baton.h). Knows neither threads nor pools; a thread that
never takes it is not affected by it."""

from __future__ import annotations

from typing import NamedTuple

from actorstream.native._core import ffi, lib

take = lib.as_baton_take
give = lib.as_baton_give
pass_on = lib.as_baton_pass
lend = lib.as_baton_lend
reclaim = lib.as_baton_reclaim
lent_ns = lib.as_baton_lent_ns
waited_ns = lib.as_baton_waited_ns


class BatonStatistics(NamedTuple):
    """`waits`: takes that found it held; `sleeps`: of them, those that slept; `stolen`: taken while it was lent;
    `waited_ns`: by all threads together."""

    waits: int
    sleeps: int
    stolen: int
    waited_ns: int


def statistics() -> BatonStatistics:
    """Since the process began."""
    out = ffi.new("as_baton_statistics *")
    lib.as_baton_statistics_read(out)
    return BatonStatistics(out.waits, out.sleeps, out.stolen, out.waited_ns)


def is_held() -> bool:
    """Whether the calling thread holds it."""
    return bool(lib.as_baton_is_held())


def spin(ns: int) -> None:
    """How long a thread looks for the baton before it sleeps; 0: it sleeps at once."""
    lib.as_baton_spin(ns)


class _Lent:
    """Lends it from enter to exit; has nothing of its own, so one serves all."""

    __slots__ = ()

    def __enter__(self) -> None:
        lend()

    def __exit__(self, *raised: object) -> None:
        reclaim()


_LENT = _Lent()


def without_baton() -> _Lent:
    """`with without_baton():` around native code of one's own that takes tens of microseconds without the interpreter's
    lock: other threads of a pool run Python meanwhile. Without a pool it does nothing."""
    return _LENT
