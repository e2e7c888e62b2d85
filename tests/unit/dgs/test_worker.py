"""The worker protocol: any interleaving of messages gives what the sequential program gives (Theorem 3.5)."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.dgs.holdings import NO_EVENTS, frontier, latest, outputs_from, statistics
from actorstream.dgs.joining import JoinedChildren
from actorstream.dgs.mailbox import ENDED, NOTHING
from actorstream.dgs.messages import Promise, Request, StateDown, StateUp
from actorstream.dgs.worker import WorkerProtocol
from actorstream.errors import DataError
from tests.unit.dgs.tree import Keyed, Tree, check_cut, in_order, random_plan

BARRIER, VALUE, OTHER = ("r", 0, "barriers"), ("i", 0, "left"), ("i", 0, "right")


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def check_equals_sequential(seed: int, additive: bool = False, cuts: bool = False) -> None:
    """A random program input, plan and interleaving against the sequential run; with `cuts` at every moment."""
    chance = random.Random(seed)
    names = [f"s{number}" for number in range(chance.randint(1, 4))]
    keys = range(chance.randint(1, 3))
    ranks = [(kind, key, name) for name in names for key in keys for kind in "ri" if chance.random() < 0.7]
    ranks = ranks or [("r", 0, names[0])]
    ranks.sort(key=lambda tag: (tag[2], chance.random()))
    streams: dict[Any, list[Any]] = {}
    value = 0
    for name in dict.fromkeys(tag[2] for tag in ranks):
        time, events = 0, []
        for _ in range(chance.randint(0, 25)):
            time += chance.choice((0, 0, 1, 1, 2, 5))
            value += 1
            events.append((chance.choice([tag for tag in ranks if tag[2] == name]), (time, value)))
        streams[name] = events
    look = partial(check_cut, ranks=ranks, streams=streams) if cuts else None
    held = 0.3 if cuts or seed % 2 else 0.0
    tree = Tree(random_plan(chance, ranks), ranks, streams, chance, additive, held=held, look=look)
    tree.run()
    assert all(worker.done for worker in tree.workers)
    sequential, state = Keyed([]), {}
    expected = in_order(ranks, streams)
    for tag, event in expected:
        state = sequential.update(state, tag, [event], 0, 1)
    sequential.finish(state)
    assert Counter(map(repr, tree.log)) == Counter(map(repr, sequential.log))
    assert tree.workers[0].calls.final == sequential.final
    at = {event: number for number, (_, event, _) in enumerate(tree.log)}
    for number, (tag, event) in enumerate(expected):
        for other, later in expected[number + 1 :]:
            if additive and tag[0] == "r" and other[0] == "i":
                continue  # it puts nothing out, so it may be worked on before what the state comes back from
            if Keyed.depends(tag, other) or tag == other:
                assert at[event] < at[later], (tag, event, other, later)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**63))
def test_any_interleaving_gives_the_sequential_results_in_the_order_of_dependence(seed: int) -> None:
    check_equals_sequential(seed)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**63))
def test_any_interleaving_does_where_children_only_add(seed: int) -> None:
    check_equals_sequential(seed, additive=True)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**63))
def test_at_any_moment_all_states_join_into_one_that_the_sequential_program_has(seed: int) -> None:
    check_equals_sequential(seed, cuts=True)


@pytest.mark.slow
@settings(max_examples=3_000, deadline=None)
@given(st.integers(0, 2**63))
def test_at_many_more_moments_they_do(seed: int) -> None:
    check_equals_sequential(seed, cuts=True)


@pytest.mark.slow
@settings(max_examples=4_000, deadline=None)
@given(st.integers(0, 2**63))
def test_any_of_many_more_does_where_children_only_add(seed: int) -> None:
    check_equals_sequential(seed, additive=True)


@pytest.mark.slow
@settings(max_examples=4_000, deadline=None)
@given(st.integers(0, 2**63))
def test_any_of_many_more_interleavings_does(seed: int) -> None:
    check_equals_sequential(seed)


def parent_of_two(log: list[Any]) -> WorkerProtocol:
    """A root with barriers above two leaves with values of the same key."""
    tags = [BARRIER, VALUE, OTHER]
    depends = {tag: [each for each in tags if Keyed.depends(tag, each)] for tag in tags}
    children = JoinedChildren()
    root = WorkerProtocol([BARRIER], [], ranks=tags, depends=depends, calls=Keyed(log), children=children)
    root.start({})
    return root


def leaf(log: list[Any], names: dict[Any, str] | None = None) -> WorkerProtocol:
    depends = {BARRIER: [BARRIER, VALUE], VALUE: [BARRIER]}
    found = WorkerProtocol(
        [VALUE],
        [BARRIER],
        ranks=[BARRIER, VALUE],
        depends=depends,
        calls=Keyed(log),
        is_root=False,
        names=names,
    )
    found.from_parent(StateDown({}, 0))
    return found


def taken(messages: list[Any]) -> list[Any]:
    found, messages[:] = list(messages), []
    return found


def test_events_with_nothing_between_them_in_the_children_share_one_join() -> None:
    log: list[Any] = []
    root = parent_of_two(log)
    taken(root.to_children[0])
    root.insert(BARRIER, times(10, 20, 30), [(10, 1), (20, 2), (30, 3)])
    root.run()
    (request,) = taken(root.to_children[0])  # which promises that nothing before 30 follows
    assert isinstance(request, Request) and list(request.times) == [10, 20, 30]
    root.from_child(0, StateUp({0: 5}, 3))
    root.run()
    assert not taken(root.to_children[0])
    root.from_child(1, StateUp({0: 2}, 2))  # the right one has values between 20 and 30
    root.run()
    assert [answer for *_, answer in log] == [7, 0] and root.joins == 1
    assert taken(root.to_children[0]) == [StateDown({}, 2)]
    root.from_child(0, StateUp({}, 3))
    root.from_child(1, StateUp({0: 4}, 3))
    root.run()
    assert [answer for *_, answer in log] == [7, 0, 4]
    assert taken(root.to_children[0]) == [StateDown({}, 3)]


def test_a_child_covers_as_many_requested_events_as_it_has_nothing_between() -> None:
    log: list[Any] = []
    child = leaf(log)
    child.from_parent(Request(BARRIER, times(10, 20, 30)))
    child.insert(VALUE, times(5, 25), [(5, 1), (25, 2)])
    child.run()
    assert taken(child.to_parent) == [StateUp({0: 1}, 2)]
    child.from_parent(StateDown({}, 1))  # the other child covered only one
    child.run()
    assert taken(child.to_parent) == [StateUp({}, 2)]
    child.from_parent(StateDown({}, 2))
    child.run()
    assert not child.to_parent  # a value may come at 25 still
    child.promise(VALUE, 31)
    child.run()
    assert taken(child.to_parent) == [StateUp({0: 2}, 3)]


def test_a_lent_state_waits_for_the_first_event_that_is_not_done_however_many_were_requested() -> None:
    """Behind it no source needs room on this worker's account: else a long run of requests takes all input in."""
    child = leaf([])
    assert child.lent_until is None
    child.from_parent(Request(BARRIER, times(10, 20, 30)))
    child.promise(VALUE, ENDED)
    child.run()
    assert taken(child.to_parent) == [StateUp({}, 3)]
    assert child.lent_until == 10
    child.from_parent(StateDown({}, 2))
    child.run()
    assert taken(child.to_parent) == [StateUp({}, 3)]
    assert child.lent_until == 30
    child.from_parent(StateDown({}, 3))
    child.run()
    assert child.lent_until is None


def test_promises_follow_the_requests_they_cover() -> None:
    root = parent_of_two([])
    taken(root.to_children[1])
    root.promise(BARRIER, 7)
    root.run()
    assert taken(root.to_children[1]) == [Promise(BARRIER, 7)]
    root.insert(BARRIER, times(8), [(8, 1)])
    root.insert(BARRIER, times(9), [(9, 1)])
    root.promise(BARRIER, 50)
    root.run()
    first, second = taken(root.to_children[1])
    assert isinstance(first, Request) and list(first.times) == [8]
    assert second == Promise(BARRIER, 9)  # the event at 9 is not requested yet


def test_without_heartbeats_a_worker_stalls_and_with_one_it_goes_on() -> None:
    log: list[Any] = []
    child = leaf(log)
    child.insert(VALUE, times(1, 2), [(1, 1), (2, 2)])
    child.run()
    assert not log and statistics(child)["waiting"] == 2
    child.from_parent(Promise(BARRIER, 2))
    child.run()
    assert [event for _, event, _ in log] == [(1, 1)]  # a barrier at 2 would come first
    child.from_parent(Promise(BARRIER, 3))
    child.run()
    assert len(log) == 2 and frontier(child) == 2


def test_the_run_ends_with_one_state_at_the_root() -> None:
    root = parent_of_two([])
    root.promise(BARRIER, ENDED)
    root.run()
    messages = taken(root.to_children[0])
    assert Promise(BARRIER, ENDED) in messages
    assert [each.tag for each in messages if isinstance(each, Request)] == [None]
    root.from_child(0, StateUp({0: 1}, 0))
    root.from_child(1, StateUp({0: 2}, 0))
    root.run()
    assert root.done and root.calls.final == {0: 3}  # type: ignore[attr-defined]


def test_events_of_one_tag_come_from_one_source() -> None:
    child = leaf([], names={VALUE: "value@values"})
    child.insert(VALUE, times(1), [(1, 1)], source="one")
    child.insert(VALUE, times(2), [(2, 2)], source="one")
    with pytest.raises(DataError, match=r"rows of value@values come from several replicas .*replicas = 1"):
        child.insert(VALUE, times(3), [(3, 3)], source="other")


def test_a_root_without_events_promises_the_end_of_time_when_it_has_called_end() -> None:
    root = parent_of_two([])
    root.promise(BARRIER, 9)
    assert (outputs_from(root, ends=True), latest(root)) == (9, NOTHING)
    root.promise(BARRIER, ENDED)
    root.run()
    assert (outputs_from(root, ends=True), latest(root)) == (NO_EVENTS, 9)
    assert outputs_from(root, ends=False) == ENDED
    root.from_child(0, StateUp({}, 0))
    root.from_child(1, StateUp({}, 0))
    root.run()
    assert outputs_from(root, ends=True) == ENDED


def test_a_worker_with_children_takes_all_its_events_in_their_order() -> None:
    """Two tags of a worker that are independent, a third below that depends on both: were the later one begun first,
    it would wait for the third, which waits for the earlier one."""
    early, late, below = ("i", 0, "a"), ("i", 0, "b"), ("r", 0, "c")
    tags = [early, late, below, ("i", 1, "d")]
    depends = {early: [below], late: [below], below: [early, late, below], tags[3]: []}
    children, calls = JoinedChildren(), Keyed([])
    root = WorkerProtocol([early, late], [], ranks=tags, depends=depends, calls=calls, children=children)
    root.start({})
    root.run()
    taken(root.to_children[0])
    root.insert(late, times(6), [(6, 1)])
    root.run()
    assert taken(root.to_children[0]) == [Promise(late, 6)]
    root.insert(early, times(2), [(2, 1)])
    root.promise(early, 7)
    root.run()
    requests = [each for each in taken(root.to_children[0]) if isinstance(each, Request)]
    assert [each.tag for each in requests] == [early]


def test_a_single_event_that_nothing_goes_before_is_begun_at_once() -> None:
    log: list[Any] = []
    root = parent_of_two(log)
    taken(root.to_children[0])
    assert root.begin(BARRIER, 10, [(10, 1)])
    (request,) = taken(root.to_children[0])
    assert isinstance(request, Request) and list(request.times) == [10]
    assert not root.begin(BARRIER, 20, [(20, 2)])  # the children have the state
    root.run()
    assert not taken(root.to_children[0])  # the request has promised as much
    root.from_child(0, StateUp({0: 5}, 1))
    root.from_child(1, StateUp({0: 2}, 1))
    root.run()
    assert log == [(BARRIER, (10, 1), 7)]
    assert [type(each) for each in taken(root.to_children[0])] == [StateDown]


def test_a_leaf_answers_a_request_at_once_that_nothing_goes_before() -> None:
    child = leaf([])
    child.insert(VALUE, times(5), [(5, 1)])
    assert child.from_parent(Request(BARRIER, (10,)))  # something goes before it
    child.run()
    assert not child.to_parent
    child.promise(VALUE, 11)
    child.run()
    assert taken(child.to_parent) == [StateUp({0: 1}, 1)]
    child.from_parent(StateDown({0: 0}, 1))
    child.run()
    assert not child.from_parent(Request(BARRIER, (10,)))
    assert taken(child.to_parent) == [StateUp({0: 0}, 1)] and child.lent_until == 10
