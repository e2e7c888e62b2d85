"""Calls a program for one worker of its plan: update, fork, join, end. Decides nothing about order; keeps no state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, repeat
from time import monotonic_ns
from types import MethodType
from typing import TYPE_CHECKING, Any

from actorstream.actors.operator_errors import operator_error, stopped
from actorstream.dgs.checkpoint_wish import CheckpointWish
from actorstream.dgs.state_classes import StateClasses
from actorstream.events.batch import Batch
from actorstream.events.feed import is_over, taken
from actorstream.plan.hook_shapes import flatten, shape_of

if TYPE_CHECKING:
    from actorstream.dgs.deployment import ProgramDeployment
    from actorstream.dgs.states import Fork
    from actorstream.dgs.tags import Tag
    from actorstream.events.feed import Feed
    from actorstream.runtime.dependency.tag_lane import HeldFrame
    from actorstream.runtime.replica import Replica


MANY = ("generator", "many")
"""Shapes of updates that answer any number of events."""


def _loop_of(update: Callable[..., Any]) -> Callable[..., None]:
    """(state, events, tag, what takes an answer): the loop over an update that answers at most one event, or anything. A loop
    of Python calls a function of Python for 20 ns an event less than `map` does a method."""
    if isinstance(update, MethodType):
        function, me = update.__func__, update.__self__
    else:
        function, me = lambda _, *arguments: update(*arguments), None

    def loop(state: Any, events: Iterable[Any], tag: Tag, take: Callable[[Any], None]) -> None:
        update, program = function, me
        for event in events:
            answer = update(program, state, event, tag)
            if answer is not None:
                take(answer)

    return loop


class ProgramCalls:
    """What the protocol of worker `number` asks of the program (`dgs.worker.Calls`); tags are numbers of the plan.

    What the program puts out is gathered in the outbox of the worker's replica.
    """

    def __init__(self, replica: Replica, deployment: ProgramDeployment, number: int) -> None:
        self.replica = replica
        self._worked = False
        """Whether a hook may have put something out since the outbox was emptied."""
        program: Any = replica.actor
        self.program = program
        self._tags: list[Tag] = [each.tag for each in deployment.tags]
        batch: Any = getattr(program, "update_batch", None)
        if deployment.planned.optimizer == "reference":
            batch = None
        self._batches = [None if each in deployment.ticks else batch for each in deployment.tags]
        """By tag, what takes a slice as columns; None: nothing does."""
        self._declined: set[int] = set()
        """Tags of which `update_batch` has left a slice to `update`: single events of these go there at once."""
        self._update: Callable[..., Any] = program.update
        self._shape = shape_of(self._update)
        self._loop = _loop_of(self._update)
        self._predicates = deployment.predicates(number)
        self._states = StateClasses(program)
        self._fork: Any = deployment.fork(number)
        self._functions = None if self._fork is None else program.functions(self._fork)
        worker = deployment.tree.worker(number)
        self.empty: Callable[[], Any] = program.state_class(worker.state)
        self._own = self._states.of(worker.state)
        self._adds: list[tuple[Fork, Callable[[Any, Any], Any]]] = []
        if deployment.adds(number):
            adds = [deployment.types.adds(worker.state, child.state) for child in worker.children]
            self._adds = [(each, program.functions(each)[1]) for each in adds if each is not None]
        self.wants = CheckpointWish(program) if number == 1 and hasattr(program, "checkpoint") else None
        """What the program says at the root about checkpoints."""

    def first(self) -> Any:
        """The state before all events."""
        try:
            return self._states.first(self.program.init())
        except Exception as error:
            raise self._error(error) from error

    def update(self, state: Any, tag: int, item: HeldFrame, first: int, last: int) -> Any:
        replica = self.replica
        self._worked = True
        batch: Any = item.batch
        started = monotonic_ns()
        replica.count_input(last - first, batch.entry_min, batch.entry_max, batch.began or started)
        name, whole = self._tags[tag], self._batches[tag]
        if last - first == 1 and (whole is None or tag in self._declined):
            self._one(state, item.event(first), name)
        elif whole is None or not self._whole(whole, state, item.rows(first, last), name):
            if whole is not None:
                self._declined.add(tag)
            self._one_by_one(state, item.events(first, last), name)
        if self.wants is not None:
            try:
                self.wants.joined(state, item.times[last - 1])
            except Exception as error:
                raise self._error(error) from error
        replica.execute_ns += monotonic_ns() - started
        item.finished(last - first)
        return state

    def _whole(self, whole: Callable[..., Any], state: Any, batch: Batch, tag: Tag) -> bool:
        """One slice as columns, if the program will."""
        replica = self.replica
        try:
            answer = whole(state, batch, tag)
            if answer is NotImplemented:
                return False
            if type(answer) is Batch and self._passes_batches():
                if answer.rows:
                    replica.forward(answer)
            elif answer is not None:
                replica.outbox.gather(answer)
        except Exception as error:
            raise self._error(error, batch) from error
        return True

    def _passes_batches(self) -> bool:
        """Whether a batch can go on without the outbox: nothing that was put out before it waits there."""
        replica, outbox = self.replica, self.replica.outbox
        return replica.hands_on and not outbox.touched and not outbox.events["default"]

    def _one(self, state: Any, event: Any, tag: Tag) -> None:
        """A single event, as most that others depend on are."""
        try:
            answer = self._update(state, event, tag)
            if answer is None:
                return
            out = self.replica.outbox.events["default"]
            if self._shape in MANY:
                out.extend(answer)
            elif self._shape:
                out.append(answer)
            else:
                self._take_any(out, answer)
        except Exception as error:
            raise self._error(error, event) from error

    def _one_by_one(self, state: Any, events: list[Any] | Feed, tag: Tag) -> None:
        out = self.replica.outbox.events["default"]
        rest: Any = iter(events)
        try:
            if self._shape in MANY:
                answers = map(self._update, repeat(state), rest, repeat(tag))
                out.extend(chain.from_iterable(filter(None, answers)))
            else:
                self._loop(state, rest, tag, out.append if self._shape else partial(self._take_any, out))
            if not is_over(rest):
                raise stopped()
        except Exception as error:
            raise self._error(error, events[max(taken(rest, len(events)) - 1, 0)]) from error

    def _take_any(self, out: list[Any], answer: Any) -> None:
        if isinstance(answer, Batch):
            self.replica.outbox.gather(answer)
        else:
            out.extend(flatten((answer,)))

    def join(self, left: Any, right: Any) -> Any:
        started = monotonic_ns()
        try:
            state = self._functions[1](left, right)  # type: ignore[index]
            return state if type(state) is self._own else self._states.joined(self._fork, state)
        except Exception as error:
            raise self._error(error) from error
        finally:
            self.replica.execute_ns += monotonic_ns() - started

    def fork(self, state: Any) -> tuple[Any, Any]:
        started = monotonic_ns()
        try:
            answer = self._functions[0](state, *self._predicates)  # type: ignore[index, misc]
            left, right = self._states.forked(self._fork, answer)
        except Exception as error:
            raise self._error(error) from error
        self.replica.execute_ns += monotonic_ns() - started
        return left, right

    def add(self, state: Any, part: Any, child: int) -> Any:
        started = monotonic_ns()
        try:
            fork, join = self._adds[child]
            state = join(state, part)
            return state if type(state) is self._own else self._states.joined(fork, state)
        except Exception as error:
            raise self._error(error) from error
        finally:
            self.replica.execute_ns += monotonic_ns() - started

    def finish(self, state: Any) -> None:
        self._worked = True
        if hasattr(self.program, "end"):
            try:
                self.replica.outbox.gather(self.program.end(state))
            except Exception as error:
                raise self._error(error) from error

    def hand_on(self) -> None:
        """Pushes what the program has put out, if it may have."""
        if self._worked or self.replica.outbox.touched:
            self._worked = False
            self.replica.dispatch()

    def _error(self, error: Exception, what: Any = None) -> Exception:
        return operator_error(self.replica.name, self.replica.replica, what, error)
