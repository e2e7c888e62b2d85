"""Sending ends that were closed while their receiver still reads their blocks: kept until all loans are back.

One list a process, because an end may outlive its transport and its fabric. Never takes a block from a reader.
"""

from __future__ import annotations

import atexit
import os

from actorstream.native.channel import SendRing

_retired: list[SendRing] = []


def retire(ring: SendRing) -> None:
    """Closes `ring` now, or in a later `sweep` if loans are out."""
    ring.reap()
    if ring.statistics().loans:
        _retired.append(ring)
    else:
        ring.close()


def sweep() -> None:
    """Closes what can be closed by now; called wherever transports and fabrics come and go."""
    rings = _retired.copy()
    _retired.clear()
    for ring in rings:
        retire(ring)


def _abandon() -> None:
    """At the end of the process: closing would mark blocks as free that others still read."""
    for ring in _retired:
        ring.abandon()
    _retired.clear()


atexit.register(_abandon)
os.register_at_fork(
    after_in_child=_retired.clear
)  # they are the parent's; in a child closing touches nothing shared
