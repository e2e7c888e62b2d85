"""A plan on sockets: replicas, the socket of each, and the rates that the model predicts. Data only."""

from __future__ import annotations

import msgspec

from actorstream.topology.graph import fingerprint


class PlacedReplica(msgspec.Struct, kw_only=True, frozen=True):
    """One replica of an actor and the socket (an index into the machine model's list) it runs on."""

    actor: str
    index: int
    socket: int


class PredictedRate(msgspec.Struct, kw_only=True, frozen=True):
    """One operator, all its replicas together; tuples per second."""

    operator: str
    """The actor, or the actors of a chain joined by "+"."""
    replicas: int
    input_rate: float
    """r_i at the ingress that back-pressure lets in; of a source: what it makes."""
    output_rate: float
    """On all its output streams; of a sink: r_o as Formula 1 counts it, tuples it has processed."""
    utilisation: float
    """Share of its time for which the busiest replica works: 1 is a bottleneck."""
    execute_ns: float
    """T^e per tuple on this machine."""
    fetch_ns: float
    """T^f per tuple, the mean of all replicas and producers."""


class SocketUse(msgspec.Struct, kw_only=True, frozen=True):
    """Shares of what a socket has: 1 is all of it (Eq. 3, 4 and 5)."""

    socket: int
    replicas: int
    cpu: float
    memory: float
    channel: float
    """Of its busiest incoming channel."""


class SocketPlan(msgspec.Struct, kw_only=True, frozen=True):
    """What `plan` returns. Replicas actor by actor in topological order, then by index."""

    name: str
    topology: int
    machine: str
    machine_fingerprint: int
    profile_fingerprint: int
    strategy: str
    replicas: list[PlacedReplica]
    rates: list[PredictedRate]
    sockets: list[SocketUse]
    ingress: float
    """Tuples per second of all sources together."""
    throughput: float
    """R: tuples per second of all sinks together."""
    bottleneck: str
    """The operator that limits the throughput, or "" if a socket or the offered ingress does."""
    limit: str
    """What limits the throughput, in words."""
    steps: int
    """Nodes that all its searches visited."""
    complete: bool
    """Whether every search ended before the limit of steps."""

    @property
    def fingerprint(self) -> int:
        """64 unsigned bits over all values."""
        return fingerprint(self)

    def counts(self) -> dict[str, int]:
        """Replicas by actor."""
        found: dict[str, int] = {}
        for each in self.replicas:
            found[each.actor] = found.get(each.actor, 0) + 1
        return found

    def sockets_of(self, actor: str) -> list[int]:
        """The socket of each replica of an actor, by index."""
        return [each.socket for each in self.replicas if each.actor == actor]
