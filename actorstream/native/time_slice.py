"""The time slice of the calling thread: how long it wants to run before others of its core do."""

from __future__ import annotations

from actorstream.native._core import lib


def request_slice(ns: int) -> bool:
    """Asks for a slice of so many ns, from 0.1 to 100 ms, also for threads that this one starts later. Returns whether the
    kernel allows it; kernels before Linux 6.12 allow it without effect."""
    return not lib.as_slice_request(ns)
