from __future__ import annotations

from typing import Any

import pytest

from actorstream.actors import Actor
from actorstream.errors import ActorError


class OperatorContext:
    """What a dataflow gives its operators: no spawning, no watching."""

    name = "split"
    replica = 1
    replicas = 2
    input = "lines"

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def emit(self, item: Any, to: str) -> None:
        self.calls.append((item, to))

    def allocate(self, event: Any, rows: int) -> Any:
        return (event, rows)

    def set_timer(self, name: str, after: float, every: float | None) -> None:
        self.calls.append((name, after, every))

    def cancel_timer(self, name: str) -> None:
        self.calls.append(name)

    def ref(self, name: str) -> Any:
        return f"ref of {name}"


def test_an_operator_reaches_its_surroundings_through_its_context() -> None:
    actor, context = Actor(), OperatorContext()
    actor._bind(context)
    assert (actor.name, actor.replica, actor.replicas, actor.input) == ("split", 1, 2, "lines")
    actor.emit("x")
    actor.emit("y", to="alerts")
    actor.set_timer("t", after=1, every=2)
    actor.cancel_timer("t")
    assert context.calls == [("x", "default"), ("y", "alerts"), ("t", 1, 2), "t"]
    assert actor.ref("other") == "ref of other"


@pytest.mark.parametrize(("after", "every"), [(-1, None), (0, 0), (0, -2), (float("nan"), None)])
def test_times_of_a_timer_that_make_no_sense_are_refused(after: float, every: float | None) -> None:
    actor, context = Actor(), OperatorContext()
    actor._bind(context)
    with pytest.raises(ActorError, match="'split': timer 'flush'"):
        actor.set_timer("flush", after=after, every=every)
    assert context.calls == []


async def test_what_only_control_actors_may_do_is_refused_to_operators_by_name() -> None:
    actor = Actor()
    actor._bind(OperatorContext())
    for call in (actor.stop, lambda: actor.watch(None), lambda: actor.unwatch(None), lambda: actor.actor_ref):
        with pytest.raises(ActorError, match="'split'"):
            call()
    with pytest.raises(ActorError, match="operator"):
        await actor.spawn(Actor)


def test_an_actor_that_does_not_run_has_no_context() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        _ = Actor().name


def test_state_is_what_a_snapshot_holds_unless_overridden() -> None:
    actor = Actor()
    actor.state = {"count": 3}
    other = Actor()
    other.restore(actor.snapshot())
    assert other.state == {"count": 3}
