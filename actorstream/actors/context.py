"""What a control actor may ask of its system: the `ActorContext` of actors that a `System` runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.actors.signals import ObituarySignal, Terminated
from actorstream.errors import ActorError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from actorstream.actors.actor import Actor
    from actorstream.actors.cell import Cell
    from actorstream.actors.ref import ActorRef, LocalRef
    from actorstream.actors.supervision import Grouping, Supervision
    from actorstream.events.schema import Schema


class ControlContext:
    """See `ActorContext`; a control actor has one replica, no named inputs and no outputs."""

    __slots__ = ("_cell", "input", "inputs", "name", "replica", "replicas")

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self.name = cell.name
        self.replica = 0
        self.replicas = 1
        self.input = ""
        self.inputs: Mapping[str, Schema] = {}

    def emit(self, item: Any, to: str) -> None:
        raise ActorError(
            f"actor {self.name!r}: emits {type(item).__name__} to output {to!r}, but an actor of a System has no "
            "outputs; tell a ref, or return the value as the answer of an ask"
        )

    def allocate(self, event: Any, rows: int) -> Any:
        raise ActorError(f"actor {self.name!r}: an actor of a System has no outputs to allocate batches for")

    def failed(self, what: Any, error: Exception) -> None:
        raise error

    def count_late(self, rows: int) -> None:
        raise ActorError(f"actor {self.name!r}: an actor of a System has no input that could be late")

    def set_timer(self, name: str, after: float, every: float | None) -> None:
        self._cell.timers.set(name, after, every)

    def cancel_timer(self, name: str) -> None:
        self._cell.timers.cancel(name)

    def ref(self, name: str) -> ActorRef:
        return self._cell.system.ref(name)

    @property
    def actor_ref(self) -> LocalRef:
        return self._cell.ref

    async def spawn(
        self,
        actor: Callable[..., Actor],
        name: str | None,
        supervision: Supervision | str | None,
        mailbox_bytes: int | None,
        grouping: Grouping,
        keywords: dict[str, Any],
    ) -> ActorRef:
        cell = self._cell
        return await cell.system.spawn_into(
            cell.family, actor, name, supervision, mailbox_bytes, grouping, keywords
        )

    def stop(self) -> None:
        self._cell.request_stop()

    def watch(self, ref: ActorRef) -> None:
        cell = self._cell
        watch = cell.watching.begin(ref.name, ref.life)
        if watch is None:
            return

        def died(reason: str) -> None:
            if watch.live:
                cell.signal(ObituarySignal(watch), Terminated(ref.name, reason))

        watch.cancel = ref.on_termination(died)

    def unwatch(self, ref: ActorRef) -> None:
        self._cell.watching.end(ref.name)
