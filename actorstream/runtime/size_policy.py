"""Which batch size the parts of a worker use, by `deploy.batch_size`."""

from __future__ import annotations

import inspect
from functools import cache
from time import monotonic_ns, thread_time_ns
from typing import TYPE_CHECKING

from actorstream.native.cpus import cache_bytes
from actorstream.plan.pooling import has_pool
from actorstream.scheduling.batch_size import BatchSize, DrawnSize, FixedSize, FoundSize, PacedSize
from actorstream.scheduling.gathered_size import DrawnFlow, FlowSize, GatheredSize
from actorstream.scheduling.size_search import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actorstream.connectors.source import Source
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
SEEDS = 1_000_003
"""Between the seeds of two replicas or channels."""


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
        return FoundSize(most, monotonic_ns if has_pool(deploy) else thread_time_ns)
    return PacedSize(rate, most)


def gathered_size(deploy: DeploySpec, channel: Channel, row_bytes: int) -> GatheredSize | None:
    """How large the jumbo tuples of a builder are; None: as somebody has set it."""
    if deploy.batch_size != "auto":
        return None
    if deploy.testing is not None:
        return DrawnFlow(deploy.testing.seed * SEEDS + channel.id)
    return FlowSize(min(channel.budget // 4, nearest_cache()) // max(row_bytes, 1))


def most_rows(deploy: DeploySpec) -> int:
    """The most rows that a jumbo tuple has."""
    return MOST if deploy.batch_size == "auto" else deploy.batch_size


def shared_rows(deploy: DeploySpec) -> int | None:
    """Rows of a share that goes to one replica when a large batch is dealt out; None: each gets an equal share."""
    return None if deploy.batch_size == "auto" else deploy.batch_size


def merged_rows(deploy: DeploySpec) -> int:
    """Rows that are merged at once."""
    return MERGED if deploy.batch_size == "auto" else deploy.batch_size


def queued_rows(deploy: DeploySpec) -> int:
    """Rows that a schedule takes a jumbo tuple for before it has seen one."""
    return USUAL if deploy.batch_size == "auto" else deploy.batch_size


@cache
def nearest_cache() -> int:
    """Bytes of the cache that one core has for itself. Read once."""
    return cache_bytes()
