"""Program: what users subclass for `order = "dependency"` (dgs-flumina Definition 2.1, Figure 1). Hooks and what they
declare; who calls them, and on which worker, is not decided here.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.actor import Actor, _event_in
from actorstream.actors.contract import Contract
from actorstream.dgs.optimizer import OPTIMIZERS
from actorstream.dgs.states import Fork, Handles, StateTypes, everything
from actorstream.dgs.tagging import Every, Tagging, tagging_of
from actorstream.dgs.tags import Tag
from actorstream.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema

Tags = frozenset[Tag]
"""The predicate a fork is given for one side: the tags that side may still see. `Tag("read", 3) in left` asks it."""


class Program(Actor):
    """A sequential program, what depends on what in it, and how its state is divided: nothing of workers or messages.

    A map from keys to counters, as in Figure 1::

        class KeyedCounters(Program):
            class State(msgspec.Struct):
                counts: dict[int, int] = {}

            tags = {"events": by("op", {"i": "increment", "r": "read"}, key="key", classes=8)}

            def depends(self, one: Tag, other: Tag) -> bool:
                return one.key == other.key and "read" in (one.name, other.name)

            def update(self, state: State, event: Operation, tag: Tag) -> Iterator[Read]:
                if tag.name == "increment":
                    state.counts[event.key] = state.counts.get(event.key, 0) + 1
                else:
                    yield Read(event.key, event.ts, state.counts.pop(event.key, 0))

            def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
                to_right = {key: n for key, n in state.counts.items() if self.tag("read", key) in right}
                to_left = {key: n for key, n in state.counts.items() if key not in to_right}
                return self.State(to_left), self.State(to_right)

            def join(self, left: State, right: State) -> State:
                for key, count in right.counts.items():
                    left.counts[key] = left.counts.get(key, 0) + count
                return left

    The rules, which `actorstream check` tests on random states and events (Definition 2.3):

    - A state is a value that msgpack can carry: a `msgspec.Struct` or dataclass, whose fields may be NumPy arrays. It
      is changed in place by `update`; what `update` returns or yields are outputs, as in every actor.
    - `fork` and `join` may change and give back what they are given: nobody uses it afterwards.
    - All that changes is in the state. `self` holds the keys of the actor's table and is the same on every worker.
    - `additive` tags only add: an event of theirs puts nothing out, and it may be processed on an empty state that is
      joined to the right later. `join(s, State())` is s, and `join(s, update(a, e))` is `update(join(s, a), e)`. Then
      those who process them never wait for a state to come back (docs/dgs.md).
    - C1: an update before a join is the update after it. C2: joining what was just forked changes nothing. C3: two
      updates of independent tags commute. Outputs of both ways are the same multiset, states are equal: value by value
      with floats to nine digits, or as `same(one, other)` says if the class defines it.

    Class attributes (or set by the constructor, where they depend on the keys of the actor's table):
        tags: input name -> how its rows map to tags: a tag's name, `by(...)` or `keyed(...)`; and any other name ->
            `every("1h")`, ticks, which come as `Tick` events of the tag of that name.
        states: name of a nested class -> which tags a state of it can process, as a predicate on tags or as tags'
            names. The first is the type of the initial state and processes every tag. Default: one type, `State`.
        forks: (whole, left, right), names of `states` -> the names of the methods that fork and join them, in order of
            preference. Default: `fork` and `join` from `State` to two of it, if the class defines them; a program that
            defines none runs on one worker.
        additive: which tags only add to a state, as a predicate on tags or as tags' names. None unless it is set.
    """

    contract: ClassVar[Contract] = Contract(
        program=True,
        uses_event_time=True,
        varied={"plan": ("reference", *(name for name in OPTIMIZERS if name != "reference"))},
    )
    plans: ClassVar[tuple[str, ...]] = tuple(OPTIMIZERS)

    State: ClassVar[Any]
    tags: Mapping[str, str | Tagging | Every] = {}
    states: Mapping[str, Handles | Iterable[str]] = {}
    forks: Mapping[tuple[str, str, str], tuple[str, str]] = {}
    additive: Handles | Iterable[str] = ()

    # -- what a program says --------------------------------------------------------------------------------------------

    def depends(self, one: Tag, other: Tag) -> bool:
        """Whether events of the two tags must be processed in their order. Symmetric: checked when it is loaded."""
        raise NotImplementedError(f"{type(self).__name__} does not define depends(one, other)")

    def init(self) -> Any:
        """The state before the first event; `State()` unless overridden."""
        return self.State()

    def update(self, state: Any, event: Any, tag: Tag) -> Any:
        """Processes one event: changes the state in place, and returns or yields events, or calls `emit`."""
        raise NotImplementedError(f"{type(self).__name__} does not define update(state, event, tag)")

    if TYPE_CHECKING:
        # These are optional: a class that defines one says so by having the attribute.

        def update_batch(self, state: Any, batch: Batch, tag: Tag) -> Any:
            """Processes successive events of one tag as columns: what `update` on each of its rows would do.

            Changes the state in place; returns or yields batches or events, or nothing. Where it returns
            `NotImplemented`, and has changed nothing, `update` gets the rows one by one."""

        def fork(self, state: Any, left: Tags, right: Tags) -> tuple[Any, Any]:
            """Divides a state in two. Each side will only be given events of its tags (and forked with fewer) until
            the two are joined; no tag of one side depends on a tag of the other."""

        def join(self, left: Any, right: Any) -> Any:
            """The state that two sides make together."""

        def end(self, state: Any) -> Any:
            """After the last event of all streams, on the joined state: returns or yields last outputs."""

        def checkpoint(self, state: Any, joins: int, elapsed: int) -> bool:
            """Whether a run with `[checkpoint]` should keep one here, beside those that come with time (dgs-flumina
            appendix D.2). Asked at each join at the root, behind the events that asked for it, with the joined state,
            which it must not change; the root of a plan of one worker is asked at each slice.

            Args:
                joins, elapsed: how many joins, and units of event time, since the last checkpoint that it wanted; or
                    since the first join. Each: `return True`. Every ten: `joins >= 10`. Every hour: `elapsed >= 3600`.
            """

    # -- what a program may ask -----------------------------------------------------------------------------------------

    def tag(self, name: str, key: Any = None) -> Tag:
        """The tag of that name which an event with this key has: `Tag(name, key)`, or that of the key's hash class."""
        for tagging in self.taggings().values():
            if name in tagging.names:
                return tagging.tag(name, key)
        return Tag(name, key)

    # -- what those who run it ask --------------------------------------------------------------------------------------

    def taggings(self) -> dict[str, Tagging]:
        """Input name -> how its rows map to tags. Ticks are not among them."""
        return {name: tagging_of(how) for name, how in self.tags.items() if not isinstance(how, Every)}

    def ticks(self) -> dict[Tag, Every]:
        """The tags that come by themselves, and how often."""
        return {Tag(name): how for name, how in self.tags.items() if isinstance(how, Every)}

    def state_types(self) -> StateTypes:
        """The types of its states by name, with their predicates and forks (`states` and `forks`, or their default)."""
        handles = {name: _predicate(how) for name, how in self.states.items()} or {"State": everything}
        return StateTypes(handles, next(iter(handles)), tuple(self.fork_methods()))

    def fork_methods(self) -> dict[Fork, tuple[str, str]]:
        """Its forks, and the names of the two methods of each: the one that forks, the one that joins."""
        if self.forks:
            return {Fork(*types): names for types, names in self.forks.items()}
        if hasattr(self, "fork") and hasattr(self, "join"):
            first = next(iter(self.states), "State")
            return {Fork(first, first, first): ("fork", "join")}
        return {}

    def adds(self, tag: Tag) -> bool:
        """Whether events of a tag only add to a state (`additive`)."""
        return _predicate(self.additive)(tag)

    def functions(
        self, fork: Fork
    ) -> tuple[Callable[[Any, Tags, Tags], tuple[Any, Any]], Callable[[Any, Any], Any]]:
        """The two methods of one fork: `fork(state, left, right)` and `join(left, right)`."""
        forking, joining = self.fork_methods()[fork]
        return getattr(self, forking), getattr(self, joining)

    def state_class(self, name: str) -> type:
        """The class of a state type, by which states are decoded: the nested class of that name, else (for the first
        type) what `init` is annotated to return.

        Raises:
            ConfigurationError: it has neither.
        """
        found = getattr(type(self), name, None)
        if found is None and name == self.state_types().initial:
            found = _hints(type(self), "init").get("return")
        if found is None or found is Any:
            where = f"{type(self).__name__}.{name}"
            raise ConfigurationError(
                Problem(where, "is not defined", "a class of that name inside the program")
            )
        return found  # type: ignore[no-any-return]

    # -- what the topology asks of the class ----------------------------------------------------------------------------

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        """From `outputs`, else the return annotation of `update`, `update_batch` or `end`. May be none."""
        from actorstream.events.event import Event

        declared: dict[str, Any] = dict(cls.outputs)
        for name in ("update", "update_batch", "end"):
            if "default" not in declared and hasattr(cls, name):
                found = _event_in(_hints(cls, name).get("return"), Event)
                if found is not None:
                    declared["default"] = found
        return declared

    @classmethod
    def check_inputs(cls, keys: dict[str, Any], inputs: Mapping[str, Schema]) -> list[Problem]:
        """What is wrong with a program that is made with these keys and has these inputs; `where` of a problem is the
        name of an input, or ""."""
        from actorstream.dgs.loading import problems_of

        return problems_of(cls(**keys), inputs)


def _predicate(how: Handles | Iterable[str]) -> Handles:
    if callable(how):
        return how
    names = frozenset((how,) if isinstance(how, str) else how)
    return lambda tag: tag.name in names


def _hints(cls: type, method: str) -> dict[str, Any]:
    """The annotations of a method, names of nested classes resolved; none of those that cannot be."""
    nested = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
    try:
        return typing.get_type_hints(getattr(cls, method), localns=nested)
    except (NameError, TypeError):
        return {}
