"""A stream: one output of an actor in a `Topology`, and how the next actor will read it. Immutable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec
from msgspec.structs import replace

from actorstream.topology.spec import InputSpec

if TYPE_CHECKING:
    from actorstream.topology.builder import Topology


class Collected(Sequence[Any]):
    """The events that an in-memory sink received, once the topology has run. A sequence; empty before."""

    def __init__(self, actor: str) -> None:
        self.actor = actor
        self.finished = False
        self._events: list[Any] = []

    def fill(self, events: Iterable[Any]) -> None:
        """Called after a run, with the events in the order in which they were received."""
        self._events = list(events)
        self.finished = True

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._events[index]

    def __len__(self) -> int:
        return len(self._events)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Collected):
            return self._events == other._events
        return self._events == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._events) if self.finished else f"<Collected {self.actor!r}, before the run>"


class Stream(msgspec.Struct, frozen=True):
    """One output of an actor. The methods that say how it is read answer a new stream and change nothing."""

    topology: Topology
    actor: str
    output: str = "default"
    route: str | Callable[..., Any] = ""
    key: tuple[str, ...] = ()
    order: str = "none"
    name: str = ""
    bounds: tuple[Any, ...] = ()

    # -- what there is to read

    def __getitem__(self, output: str) -> Stream:
        """Another output of the same actor: ``count["final"]``."""
        return Stream(self.topology, self.actor, output)

    @property
    def late(self) -> Stream:
        """Rows behind their watermark."""
        return self["late"]

    @property
    def dead(self) -> Stream:
        """Dead letters: event, error, operator."""
        return self["dead"]

    @property
    def source(self) -> str:
        """ "actor" or "actor.output", as `from` says it."""
        return self.actor if self.output == "default" else f"{self.actor}.{self.output}"

    # -- how it is read

    def by(self, *key: str) -> Stream:
        """Equal keys go to the same replica: ``route = "key"``."""
        return replace(self, route="key", key=key)

    def ranges(self, key: str, bounds: Sequence[Any]) -> Stream:
        """Neighbouring keys go to the same replica; `bounds` ascending, the values where a new range begins."""
        return replace(self, route="range", key=(key,), bounds=tuple(bounds))

    def forward(self) -> Stream:
        """Replica i to replica i."""
        return replace(self, route="forward", key=())

    def shuffle(self) -> Stream:
        """Evenly, in turn."""
        return replace(self, route="shuffle", key=())

    def broadcast(self) -> Stream:
        """Every row to every replica."""
        return replace(self, route="broadcast", key=())

    def to_one(self) -> Stream:
        """All rows to the first replica: ``route = "global"``."""
        return replace(self, route="global", key=())

    def routed(self, function: str | Callable[..., Any]) -> Stream:
        """As a function of a module decides: (batch, replicas) -> one replica number a row."""
        return replace(self, route=function, key=())

    def ordered(self, order: str) -> Stream:
        """In an order: "serial", "timestamp" or "dependency"."""
        return replace(self, order=order)

    def named(self, name: str) -> Stream:
        """Under a name of its own: what `self.input` says, and the NAME of `on_NAME`."""
        return replace(self, name=name)

    def input(self) -> InputSpec:
        """This stream as an entry of `inputs`."""
        key: str | list[str] = self.key[0] if len(self.key) == 1 else list(self.key)
        return InputSpec(
            from_=self.source,
            route=self.route,
            key=key,
            order=self.order,
            name=self.name,
            bounds=list(self.bounds),
        )

    # -- who reads it

    def through(
        self,
        type: str | type,
        *others: Stream,
        name: str | None = None,
        replicas: int | Literal["auto"] = 1,
        on_error: Literal["fail", "skip", "dead-letter"] = "fail",
        outputs: dict[str, Any] | None = None,
        **keys: Any,
    ) -> Stream:
        """An operator that reads this stream (and `others`, in that rank); answers its default output."""
        return self.topology._add(type, (self, *others), name, replicas, on_error, outputs, keys)

    def into(
        self,
        type: str | type,
        *others: Stream,
        name: str | None = None,
        replicas: int | Literal["auto"] = 1,
        on_error: Literal["fail", "skip", "dead-letter"] = "fail",
        **keys: Any,
    ) -> Topology:
        """A sink that reads this stream (and `others`); answers the topology, which can be run."""
        self.topology._add(type, (self, *others), name, replicas, on_error, None, keys)
        return self.topology

    def collect(self, name: str | None = None) -> Collected:
        """An in-memory sink; its events are there when the topology has run."""
        sink = self.topology._add("memory-sink", (self,), name, 1, "fail", None, {})
        collected = Collected(sink.actor)
        self.topology._collected[sink.actor] = collected
        return collected
