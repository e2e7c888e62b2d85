"""Dependency-guided synchronization (dgs-flumina): programs, synchronization plans, and what finds them."""

from __future__ import annotations

from actorstream.dgs.program import Program, Tags
from actorstream.dgs.states import everything
from actorstream.dgs.tagging import Tick, by, every, keyed
from actorstream.dgs.tags import ImplementationTag, Tag

__all__ = [
    "ImplementationTag",
    "Program",
    "Tag",
    "Tags",
    "Tick",
    "by",
    "every",
    "everything",
    "keyed",
]
