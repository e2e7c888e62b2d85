"""A deployment as the user wrote it: how and where a topology runs. Data only.

Every key of the contract is here from the first version, so that one of a later version gets an answer.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from actorstream.topology.hosts import HostSpec, NetworkSpec
from actorstream.topology.quantities import DURATION_ALLOWED, SIZE_ALLOWED

Duration = Annotated[timedelta, Meta(description=DURATION_ALLOWED)]
Bytes = Annotated[int, Meta(ge=1, description=SIZE_ALLOWED, extra={"bytes": True})]
Count = Annotated[int, Meta(ge=1, description="a whole number of at least 1")]
Flag = Annotated[bool, Meta(description="true or false")]
BatchRows = Annotated[
    Annotated[int, Meta(ge=1, le=1 << 24)] | Literal["auto"],
    Meta(description='a whole number from 1 to 16777216, or "auto" (from what batches cost)'),
]
Name = Annotated[str, Meta(min_length=1, description="text")]


class CheckpointSpec(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`[checkpoint]`: where checkpoints go (a directory, made absolute, or an fsspec URL) and how often."""

    path: Name
    every: Duration


class TestingSpec(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`[testing]`: hand-overs are delayed by up to `delay`, drawn from `seed`, to shake out races."""

    __test__ = False  # not a test class, whatever pytest thinks

    delay: Duration = timedelta(0)
    seed: Annotated[int, Meta(description="a whole number")] = 0


class RlasSpec(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`[rlas]`: what `placement = "rlas"` plans with; paths are made absolute."""

    profile: Name
    """A file of `actorstream profile`."""
    machine: Name | None = None
    """A file with a machine model; None: this machine, as it is measured."""
    compression: Count = 5
    """Replicas that are placed as one (r of briskstream-rlas section 4)."""
    percentile: Name = "p50"
    """Which of the profile's costs counts."""
    ingress: Annotated[float, Meta(ge=0, le=1e15, description="a number from 0 to 1e15")] = 0.0
    """Tuples a second that the sources are offered; 0: as many as they can make."""
    divide: bool = False
    """Whether operators whose replicas are too large for a socket get more (appendix D)."""
    steps: Annotated[int, Meta(ge=1, le=10**9, description="a whole number from 1 to 1000000000")] = 200_000
    """Nodes that one search visits at most."""
    link: Annotated[float, Meta(gt=0, le=1e18, description="a number above 0, at most 1e18")] = 1.25e9
    """Bytes a second of a host's link to the other hosts of a run, where `machine` does not say."""


class DeploySpec(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A whole deployment; the defaults are those of a run without a file."""

    transport: Name = "shm"
    workers: Annotated[int, Meta(ge=1, le=4096, description="a whole number from 1 to 4096")] = 2
    """Processes (ranks under MPI); replicas beyond them take turns."""
    schedule: Name = "none"
    threads: Annotated[int, Meta(ge=0, le=1024, description="a whole number from 0 to 1024")] = 0
    """Pool threads per process."""
    placement: Name = "spread"
    bind: Annotated[
        Literal["auto", "none", "node", "core"], Meta(description='"auto", "none", "node" or "core"')
    ] = "auto"
    """What each worker's threads are bound to: the cores of the memory node that the plan names, or the plan's cores alone.
    auto: node where the placement is rlas, none elsewhere."""
    arenas: Annotated[Literal["producer", "consumer"], Meta(description='"producer" or "consumer"')] = (
        "producer"
    )
    """Of a worker that is bound: on whose memory node its jumbo tuples lie, its own or that of who reads them."""
    batch_size: BatchRows = "auto"
    """Rows at which a builder is flushed at the latest; auto: each source and builder finds its own number."""
    wait: Annotated[Literal["park", "spin"], Meta(description='"park" or "spin"')] = "park"
    pipelining: Flag = True
    """Forward neighbours in one process are called directly."""
    pre_aggregation: Flag = True
    merge: Annotated[Literal["channel", "gate"], Meta(description='"channel" or "gate"')] = "channel"
    """Who merges inputs in timestamp order. "channel": each replica for itself. "gate", and wherever there is a pool: replicas
    of one process to which the same rows are broadcast share one merge."""
    heartbeat_every: Duration = timedelta(milliseconds=50)
    edge_bytes: Bytes = 4 << 20
    """Budget per consumer input, in bytes, shared by its producers."""
    reorder_window: Count = 1024
    """Serial numbers that may be outstanding at a reordering buffer."""
    reordering: Annotated[
        Literal["non-blocking", "lock-based"], Meta(description='"non-blocking" or "lock-based"')
    ] = "non-blocking"
    """How the outputs of a pool's threads are put in order; lock-based is there to be compared with."""
    slice: Duration = timedelta(milliseconds=2)
    """Longest turn of an operator before another one gets its thread."""
    ct_window: Duration = timedelta(milliseconds=100)
    """In which the schedule `ct` compares what the operators have got through."""
    key_groups: Annotated[int, Meta(ge=1, le=32768, description="a whole number from 1 to 32768")] = 128
    rlas: RlasSpec | None = None
    checkpoint: CheckpointSpec | None = None
    hosts: list[HostSpec] = []
    same_host: Name = "shm"
    """How workers of one host talk to each other where workers are on several: "shm", or the name of the transport."""
    network: NetworkSpec = msgspec.field(default_factory=NetworkSpec)
    testing: TestingSpec | None = None
