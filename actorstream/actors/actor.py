"""Actor: what users subclass. Hooks and their context; how they are called is the runtime's and the system's business.

An actor is an operator of a dataflow (it gets events or batches) or a control actor (it gets messages); it may be both.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from actorstream.actors.contract import Contract, check_contract
from actorstream.errors import ActorError

if TYPE_CHECKING:
    from actorstream.errors import Problem
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema


class ActorContext(Protocol):
    """What a running actor may ask of its surroundings; given by the runtime or by a System."""

    name: str
    replica: int
    replicas: int
    input: str
    inputs: Mapping[str, Schema]
    """Input name -> what its rows look like, in the order of `inputs`, static ones last."""

    def emit(self, item: Any, to: str) -> None: ...
    def allocate(self, event: Any, rows: int) -> Any: ...
    def failed(self, what: Any, error: Exception) -> None:
        """Has `on_error` decide about an input event that has no result; raises unless the others go on."""

    def count_late(self, rows: int) -> None: ...
    def set_timer(self, name: str, after: float, every: float | None) -> None: ...
    def cancel_timer(self, name: str) -> None: ...
    def ref(self, name: str) -> Any: ...


class ControlActorContext(ActorContext, Protocol):
    """What a `System` gives beyond that; a dataflow's context need not."""

    @property
    def actor_ref(self) -> Any: ...
    async def spawn(
        self,
        actor: Callable[..., Actor],
        name: str | None,
        supervision: Any,
        mailbox_bytes: int | None,
        grouping: Any,
        keywords: dict[str, Any],
    ) -> Any: ...
    def stop(self) -> None: ...
    def watch(self, ref: Any) -> None: ...
    def unwatch(self, ref: Any) -> None: ...


class Actor:
    """Base class of operators and control actors.

    Define `on_event(self, event)` (per event) or `on_batch(self, batch)` (per jumbo tuple, as columns), or `on_NAME`
    for one named input. A hook yields or returns output events (or batches), or calls `emit`. Any hook may be
    `async def` where it does I/O. Constructor keywords are the keys of the actor's table in the topology, checked
    against their annotations. A subclass need not call `super().__init__()`.

    Class attributes:
        contract: what the class promises of its rows and of how it may run (`Contract`).
        outputs: output name -> Event class, where the hook's return annotation does not say it.
        role: "operator", "source" or "sink"; set by the base classes.
    """

    contract: ClassVar[Contract] = Contract()
    outputs: ClassVar[dict[str, Any]] = {}
    role: ClassVar[str] = "operator"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_contract(cls)

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        """The contract of an actor with these constructor keys, where it depends on them: `replace(cls.contract, ...)`."""
        return cls.contract

    _context: ActorContext | None = None
    state: Any = None
    """What is checkpointed (D.2 of dgs-flumina): any value that msgpack can carry."""

    # -- life cycle; every hook is optional

    def on_start(self) -> Any:
        """Before the first event or message, in the worker that runs this replica."""

    def on_timer(self, name: str) -> Any:
        """A timer set by `set_timer` fired. May yield or return events."""

    def on_heartbeat(self, frontier: int) -> Any:
        """The input's frontier rose to `frontier` (event time in the source's unit): nothing below it will follow.

        May yield or return events."""

    def promise(self, frontier: int) -> int:
        """The event time below which nothing will be emitted from now on, given that nothing below `frontier` will come
        in. To be overridden by an actor that emits rows later than their time says: a window that allows lateness
        promises that much less. Never falls; not called at the end of the input."""
        return frontier

    def on_end(self) -> Any:
        """The input has ended. May yield or return last events."""

    def on_stop(self) -> Any:
        """After the last event or message, also after a failure; for closing what `on_start` opened."""

    def on_failure(self, error: BaseException) -> Any:
        """A hook raised and the error has no one to go to."""

    def snapshot(self) -> Any:
        """The state to write into a checkpoint; `self.state` unless overridden."""
        return self.state

    def restore(self, snapshot: Any) -> None:
        """Takes back what `snapshot` returned, in a run that goes on from a checkpoint: before `on_start`."""
        self.state = snapshot

    # -- what an actor may do

    @property
    def context(self) -> ActorContext:
        if self._context is None:
            raise RuntimeError(
                f"{type(self).__name__} is not running: it has a context only from on_start to on_stop"
            )
        return self._context

    @property
    def name(self) -> str:
        """The actor's name in its topology or system."""
        return self.context.name

    @property
    def replica(self) -> int:
        """Which replica of the actor this is, from 0."""
        return self.context.replica

    @property
    def replicas(self) -> int:
        return self.context.replicas

    @property
    def input(self) -> str:
        """The name of the input that the current event or batch came in by."""
        return self.context.input

    def emit(self, item: Any, to: str = "default") -> None:
        """Sends an event or a batch to one of this actor's outputs."""
        self.context.emit(item, to)

    def allocate(self, event: Any, rows: int) -> Any:
        """A batch of `rows` rows of class `event` with undefined values, to be written in place and emitted.

        It lies in the memory it will be sent in: `batch["price"][:] = ...` is the only copy. Emitting seals it.
        SchemaError: the class has a field without a fixed width, or one that may be null."""
        return self.context.allocate(event, rows)

    def set_timer(self, name: str, *, after: float = 0.0, every: float | None = None) -> None:
        """Calls `on_timer(name)` after `after` seconds, then every `every` seconds. Replaces a timer of that name.

        ActorError: `after` is below 0, or `every` is not above 0."""
        if not after >= 0 or (every is not None and not every > 0):
            raise ActorError(
                f"actor {self.name!r}: timer {name!r} has after={after!r}, every={every!r}; "
                "allowed: after at least 0 seconds, every more than 0 seconds or None"
            )
        self.context.set_timer(name, after, every)

    def cancel_timer(self, name: str) -> None:
        self.context.cancel_timer(name)

    def ref(self, name: str) -> Any:
        """An `ActorRef` of another actor (`"name"` or `"name/replica"`)."""
        return self.context.ref(name)

    # -- what only an actor of a System may do ------------------------------------------------------------------------

    @property
    def actor_ref(self) -> Any:
        """This actor's own `ActorRef`, to give to others."""
        return _control(self, "actor_ref").actor_ref

    async def spawn(
        self,
        actor: Callable[..., Actor],
        /,
        *,
        name: str | None = None,
        supervision: Any = None,
        mailbox_bytes: int | None = None,
        grouping: Any = "one_for_one",
        **keywords: Any,
    ) -> Any:
        """Spawns a child, named `"parent/name"`, as `System.spawn` does. This actor supervises it, and takes it along
        when it stops or restarts."""
        context = _control(self, "spawn")
        return await context.spawn(actor, name, supervision, mailbox_bytes, grouping, keywords)

    def stop(self) -> None:
        """Stops this actor after the messages that are in its mailbox now."""
        _control(self, "stop").stop()

    def watch(self, ref: Any) -> None:
        """Has `Terminated(name, reason)` delivered as a message, once, when the actor behind `ref` dies or is lost."""
        _control(self, "watch").watch(ref)

    def unwatch(self, ref: Any) -> None:
        """No `Terminated` of it is delivered from now on, also none that waits in the mailbox already."""
        _control(self, "unwatch").unwatch(ref)

    def _bind(self, context: ActorContext | None) -> None:
        self._context = context

    # -- what the topology asks of a class

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        """Output name -> type. From `outputs`, else from the return annotations of the event hooks.

        A batch hook without a declared type passes its input's schema on."""
        declared: dict[str, Any] = dict(cls.outputs)
        if "default" not in declared:
            found = annotated_output(cls)
            if found is not None:
                declared["default"] = found
            elif inputs and cls.role == "operator" and (takes_batches(cls) or not declared):
                declared["default"] = inputs[0]
        return declared

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        """The most outputs that `output_types` may answer, told without inputs: an output that no actor has is then
        reported beside what is wrong with the inputs. A class that has its own `output_types` says this too."""
        return ("default", *cls.outputs)

    @classmethod
    def static_inputs(cls, keys: dict[str, Any]) -> dict[str, str]:
        """Keys that may name a source of the topology which is to be read whole before the first event: key -> the
        name, as written in `keys`.

        Where there is a source of that name, its rows come by an input called "KEY:NAME" (the last in `inputs` of
        `output_types` and `check`), and the key holds its name, a plain str. The hook must not be async."""
        return {}

    @classmethod
    def keyed_by(cls, keys: dict[str, Any], input: int) -> tuple[str, ...] | None:
        """The fields of input number `input` by which rows must meet in one replica: the key of an input that names no
        route, once there are several replicas. (): any replica may take any row; None: one must take all of them."""
        return ()

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        """Problems that only this type can know (a missing file, a field the schema lacks); `base`: folder of paths."""
        return []


def _control(actor: Actor, what: str) -> ControlActorContext:
    """The context of an actor of a System; ActorError: it is an operator."""
    context: Any = actor.context
    if not hasattr(context, "actor_ref"):
        raise ActorError(
            f"actor {context.name!r}: {what} is for actors of a System, and this one is an operator"
        )
    return context  # type: ignore[no-any-return]


def event_hooks(cls: type[Actor]) -> dict[str, Callable[..., Any]]:
    """The hooks of `cls` that take input: "event", "batch", and on_NAME methods by NAME."""
    known = {"start", "timer", "heartbeat", "end", "stop", "failure", "message"}
    hooks = {name[3:]: getattr(cls, name) for name in dir(cls) if name.startswith("on_")}
    return {name: hook for name, hook in hooks.items() if name not in known and inspect.isfunction(hook)}


def takes_batches(cls: type[Actor]) -> bool:
    """Whether a class has `on_batch`."""
    return "on_batch" in dir(cls)


def annotated_output(cls: type[Actor]) -> type[Event] | None:
    """The Event class in the return annotation of an input hook: `-> E`, `E | None`, `list[E]`, `Iterator[E]`, ..."""
    from actorstream.events.event import Event

    for hook in event_hooks(cls).values():
        try:
            annotation = typing.get_type_hints(hook).get("return")
        except (NameError, TypeError):
            continue
        found = _event_in(annotation, Event)
        if found is not None:
            return found
    return None


def _event_in(annotation: Any, base: type) -> Any:
    if inspect.isclass(annotation) and issubclass(annotation, base):
        return annotation
    for part in typing.get_args(annotation):
        found = _event_in(part, base)
        if found is not None:
            return found
    return None
