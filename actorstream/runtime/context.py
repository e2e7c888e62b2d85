"""What an operator may ask of its surroundings: the `ActorContext` of actors that run in a topology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.events.pool import Allocations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.runtime.ports import ReplicaPort, UnitPort


class OperatorContext:
    """The context of one replica's actor; see `ActorContext` for what is not said here.

    Attributes:
        input: the input whose rows the hook works on.
        late: rows that were counted as late.
    """

    def __init__(self, replica: ReplicaPort, replicas: int, inputs: Mapping[str, Schema]) -> None:
        self._replica = replica
        self.name, self.replica, self.replicas = replica.name, replica.replica, replicas
        self.input = ""
        self.inputs = inputs
        self.late = 0
        self.emit, self.failed = replica.outbox.emit, replica.failures.failed
        self._allocations = Allocations(replica.schemas, replica.unfit)

    @property
    def settles(self) -> bool:
        """Whether a hook must emit all outputs of a batch before it returns, so that they get their place in an order."""
        stamp = self._replica.stamp
        return stamp is not None and bool(stamp.settles)

    @property
    def in_order(self) -> bool:
        """Whether the order in which the actor emits rows is seen downstream."""
        return self._replica.stamp is not None

    def allocate(self, event: Any, rows: int) -> Batch:
        return self._allocations.take(event, rows, self._replica.arena)

    def count_late(self, rows: int) -> None:
        self.late += rows

    def set_timer(self, name: str, after: float, every: float | None) -> None:
        self._unit.timers.set(self._replica, name, after, every)

    def cancel_timer(self, name: str) -> None:
        self._unit.timers.cancel(self._replica, name)

    def ref(self, name: str) -> Any:
        return self._unit.worker.ref(name)

    @property
    def _unit(self) -> UnitPort:
        unit: UnitPort = self._replica.unit
        return unit
