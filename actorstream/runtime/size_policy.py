"""Which batch size the parts of a worker use, by `deploy.batch_size`, and how many rows a unit takes in at once."""

from __future__ import annotations

import inspect
from functools import cache
from time import monotonic_ns, thread_time_ns
from typing import TYPE_CHECKING, TypeVar

from actorstream.native.cpus import cache_bytes
from actorstream.plan.pooling import has_pool
from actorstream.runtime.portions import BYTES, taken_schemas
from actorstream.scheduling.batch_size import BatchSize, DrawnSize, FixedSize, FoundSize, PacedSize
from actorstream.scheduling.gathered_size import DrawnFlow, FlowSize, GatheredSize
from actorstream.scheduling.size_search import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from actorstream.connectors.source import Source
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.send_lane import SendLane
    from actorstream.topology.deploy import DeploySpec
    from actorstream.transports.base import Channel

USUAL = 4096
"""Rows of a batch where a number is needed before anything was measured, and of live sources, which run ahead by as much."""
MERGED = 16_384
"""Rows that a merge makes one batch of, unless somebody has set a number."""
CACHES = 4
"""A batch is no larger than so many times the nearest cache."""
STEP_ROWS = 16_384
"""In serial order event time rises behind every so many rows of a source that is read as fast as possible, whatever its
batches: what it fires downstream comes behind the same rows in every run."""
LEAST_READ = 1024
"""Rows that a source whose rows leave it in order is asked for, however few a jumbo tuple has."""
Rows = TypeVar("Rows", int, None)
SEEDS = 1_000_003
"""Between the seeds of two replicas or channels."""
GROWS = 8
"""A unit takes in more rows at once by this factor at most, since the next rows may be larger."""


class RowBudget:
    """How many rows a unit takes in at once, by the bytes of what its replicas made of those before: what it makes of them
    should have no more than BYTES. It takes the `made_bytes` of these members; the first portion is one row."""

    __slots__ = ("_members", "rows")

    def __init__(self, members: Sequence[Replica]) -> None:
        self._members = members
        self.rows = 1
        """Rows to take in next."""

    @classmethod
    def of(cls, members: Sequence[Replica]) -> RowBudget | None:
        """That of a unit; None: its outputs are all of fixed width, so it takes in as many rows as there are."""
        taken = (schema for each in members for schema in taken_schemas(each.schemas, each.edges).values())
        return None if all(schema.bounded for schema in taken) else cls(members)

    def took(self, rows: int) -> None:
        """So many rows were taken in, and what the members made of them was sent."""
        made = 0
        for each in self._members:
            made += each.made_bytes
            each.made_bytes = 0
        fitting = BYTES * rows // max(made, 1)
        self.rows = max(1, min(fitting, GROWS * max(rows, 1)))


def source_size(
    deploy: DeploySpec, source: Source, replica: int, rate: float, lanes: Iterable[SendLane]
) -> BatchSize:
    """How many rows a source's replica takes at once. `lanes`: by which its rows leave it as they are."""
    size = deploy.batch_size
    if size != "auto":
        return FixedSize(size)
    if deploy.testing is not None:
        return DrawnSize(deploy.testing.seed * SEEDS + replica)
    if inspect.iscoroutinefunction(source.read):
        return FixedSize(USUAL)
    schema = source.row_schema()
    width = max(schema.row_bytes, 1)
    caches = CACHES * nearest_cache() // width
    most = min([caches, *(max(1, lane.byte_limit // width) for lane in lanes)]) if schema.fixed else MOST
    if not rate:
        clock = monotonic_ns if has_pool(deploy) else thread_time_ns
        return FoundSize(most, clock, nearest_cache() // (4 * width))
    return PacedSize(rate, most)


def gathered_size(deploy: DeploySpec, channel: Channel, row_bytes: int) -> GatheredSize | None:
    """How large the jumbo tuples of a builder are; None: as somebody has set it."""
    if deploy.batch_size != "auto":
        return None
    if deploy.testing is not None:
        return DrawnFlow(deploy.testing.seed * SEEDS + channel.id)
    return FlowSize(min(channel.budget // 4, nearest_cache()) // max(row_bytes, 1))


def rows_or(deploy: DeploySpec, otherwise: Rows) -> int | Rows:
    """The rows of a batch that somebody has set; else `otherwise`."""
    return otherwise if deploy.batch_size == "auto" else deploy.batch_size


@cache
def nearest_cache() -> int:
    """Bytes of the cache that one core has for itself. Read once."""
    return cache_bytes()
