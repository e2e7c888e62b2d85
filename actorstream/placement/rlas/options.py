"""What may be chosen about a search for a plan. Data only."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=1, description="a whole number of at least 1")]


AUTO_ROWS = 4096
"""Tuples that a jumbo tuple is taken to have where a deployment leaves the number to the run."""


def planned_rows(batch_size: int | str) -> float:
    """The tuples of a jumbo tuple that a plan counts with, for a deployment's `batch_size`."""
    return float(batch_size) if isinstance(batch_size, int) else float(AUTO_ROWS)


class PlanOptions(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The defaults are those of `placement = "rlas"`."""

    strategy: str = "rlas"
    """A row of the table STRATEGIES: rlas, fix-l, fix-u, first-fit, round-robin, random."""
    replicas: dict[str, int] = {}
    """Numbers of replicas that are fixed; those of operators that are not scalable are the dataflow's."""
    ingress: float = 0.0
    """I: tuples per second that all sources together are offered; 0: as many as they can make."""
    rows: float = 64.0
    """Tuples in a jumbo tuple."""
    percentile: str = "p50"
    """Which profiled T^e counts."""
    compression: Count = 5
    """r: replicas of an operator that are placed as one."""
    heuristics: bool = True
    """Collocation, best fit and redundancy elimination; without them the search is complete, and slow."""
    steps: Count = 200_000
    """Nodes that one placement search visits at most."""
    divide: bool = False
    """Whether an operator whose replicas are too large for the sockets' cores, memory or channels gets more, in the end
    (appendix D: one that fails to allocate)."""
    most_replicas: int = 0
    """Replicas in all; 0: as many as there are cores."""
    start: dict[str, int] = {}
    """Replicas that scaling starts from, instead of one each."""
    seed: int = 0
    """Of random plans."""
