"""A worker whose children only add: parts are added up event by event, however far the children are ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorstream.dgs.adding import AHEAD, AddingChildren
from actorstream.dgs.holdings import statistics
from actorstream.dgs.mailbox import ENDED
from actorstream.dgs.messages import Promise, Request, StateDown, StateUp
from actorstream.dgs.worker import WorkerProtocol
from tests.unit.dgs.tree import Keyed

BARRIER, ABOVE, VALUE, OTHER = (
    ("r", 0, "barriers"),
    ("r", 0, "above"),
    ("i", 0, "left"),
    ("i", 0, "right"),
)
TAGS = [BARRIER, ABOVE, VALUE, OTHER]
DEPENDS = {tag: [each for each in TAGS if Keyed.depends(tag, each)] for tag in TAGS}


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def taken(messages: list[Any]) -> list[Any]:
    found, messages[:] = list(messages), []
    return found


def parent(log: list[Any], *above: Any) -> WorkerProtocol:
    options: Any = {"ranks": TAGS, "depends": DEPENDS, "calls": Keyed(log), "is_root": not above}
    return WorkerProtocol([BARRIER], above, children=AddingChildren(), **options)


def root(log: list[Any]) -> WorkerProtocol:
    found = parent(log)
    found.start({})
    return found


def leaf(log: list[Any], *above: Any) -> WorkerProtocol:
    return WorkerProtocol(
        [VALUE], above, ranks=TAGS, depends=DEPENDS, calls=Keyed(log), is_root=False, adds=True
    )


def test_a_child_begins_without_a_state_and_goes_on_at_once() -> None:
    child = leaf([], BARRIER)
    child.insert(VALUE, times(1, 11, 12, 21), [(1, 1), (11, 2), (12, 3), (21, 4)])
    child.from_parent(Request(BARRIER, times(10, 20, 20)))
    child.from_parent(Promise(BARRIER, 30))
    child.run()
    assert taken(child.to_parent) == [StateUp({0: 1}, 1), StateUp({0: 5}, 3)]
    assert child.lent_until is None
    child.from_parent(Promise(BARRIER, ENDED))
    child.promise(VALUE, ENDED)
    child.from_parent(Request(None, times()))
    child.run()
    assert taken(child.to_parent) == [StateUp({0: 4}, 0)] and child.done


def test_a_child_answers_requests_of_several_tags_in_the_order_of_their_events() -> None:
    child = leaf([], BARRIER, ABOVE)
    child.insert(VALUE, times(5, 15), [(5, 1), (15, 2)])
    child.promise(VALUE, ENDED)
    child.from_parent(Request(ABOVE, times(20)))
    child.run()
    assert not child.to_parent  # a barrier may come before it
    child.from_parent(Request(BARRIER, times(10)))
    child.from_parent(Promise(BARRIER, 30))
    child.run()
    assert taken(child.to_parent) == [StateUp({0: 1}, 1), StateUp({0: 2}, 1)]


def test_an_event_takes_the_parts_that_began_before_it_and_no_state_goes_down() -> None:
    log: list[Any] = []
    worker = root(log)
    worker.insert(BARRIER, times(10, 20, 30), [(10, 1), (20, 2), (30, 3)])
    worker.run()
    assert [type(each) for each in taken(worker.to_children[0])] == [Request]  # which promises as much
    for part in (StateUp({0: 5}, 1), StateUp({0: 6}, 2), StateUp({0: 7}, 3)):
        worker.from_child(0, part)
    worker.run()
    assert not log
    worker.from_child(1, StateUp({0: 2}, 2))  # nothing between 10 and 20 here
    worker.run()
    assert [answer for *_, answer in log] == [7, 6]
    worker.from_child(1, StateUp({}, 3))
    worker.run()
    assert [answer for *_, answer in log] == [7, 6, 7]
    assert not any(isinstance(each, StateDown) for messages in worker.to_children for each in messages)


def test_a_part_is_added_while_the_other_child_is_waited_for_and_the_last_lets_the_event_go() -> None:
    log: list[Any] = []
    worker = root(log)
    assert worker.begin(BARRIER, 10, [(10, 1)])
    assert not worker.from_child(1, StateUp({0: 5}, 1))
    assert worker.state == {0: 5} and not log
    assert worker.from_child(0, StateUp({0: 2}, 1))
    assert [answer for *_, answer in log] == [7]


def test_parts_behind_an_event_that_is_not_done_wait_for_it() -> None:
    log: list[Any] = []
    worker = root(log)
    for time in (10, 20):
        assert worker.insert(BARRIER, times(time), [(time, 1)]) is None
    worker.run()
    assert not worker.from_child(0, StateUp({0: 5}, 1))
    assert not worker.from_child(0, StateUp({0: 9}, 1))
    assert worker.state == {0: 5} and not log
    assert worker.from_child(1, StateUp({0: 2}, 1))
    assert [answer for *_, answer in log] == [7]
    assert worker.from_child(1, StateUp({}, 1))
    worker.run()
    assert [answer for *_, answer in log] == [7, 9]


def test_requests_do_not_wait_for_each_other() -> None:
    log: list[Any] = []
    worker = root(log)
    for time in (10, 20):
        worker.insert(BARRIER, times(time), [(time, time)])
        worker.run()
    requests = [each for each in taken(worker.to_children[1]) if isinstance(each, Request)]
    assert [each.times.tolist() for each in requests] == [[10], [20]]
    for child in (0, 1):
        worker.from_child(child, StateUp({0: 1}, 1))
        worker.from_child(child, StateUp({0: 3}, 1))
    worker.run()
    assert [answer for *_, answer in log] == [2, 6]
    assert statistics(worker)["released"] == 0


def test_children_run_ahead_by_a_bounded_number_of_events() -> None:
    log: list[Any] = []
    worker = root(log)
    count = 2 * AHEAD + 10
    worker.insert(BARRIER, np.arange(count), [(time, time) for time in range(count)])
    asked = 0
    while asked < count:
        worker.run()
        made = [each for each in taken(worker.to_children[0]) if isinstance(each, Request)]
        new = sum(len(each.times) for each in made)
        assert 0 < new <= AHEAD
        asked += new
        for child in (0, 1):
            for each in made:
                worker.from_child(child, StateUp({}, len(each.times)))
    worker.run()
    assert len(log) == count


def test_while_the_parent_has_the_state_children_go_on() -> None:
    worker = parent([], ABOVE)
    worker.from_parent(StateDown({0: 1}, 0))
    worker.from_parent(Request(ABOVE, times(10)))
    worker.promise(BARRIER, 15)
    worker.run()
    for child in (0, 1):
        assert worker.from_child(child, StateUp({0: 2}, 1)) is bool(child)  # then the parent gets the state
    worker.run()
    assert taken(worker.to_parent) == [StateUp({0: 5}, 1)] and worker.lent_until == 10
    taken(worker.to_children[0])
    worker.from_parent(Promise(ABOVE, 30))
    worker.insert(BARRIER, times(20), [(20, 1)])
    worker.run()
    assert [each.tag for each in taken(worker.to_children[0]) if isinstance(each, Request)] == [BARRIER]
    for child in (0, 1):
        worker.from_child(child, StateUp({0: 4}, 1))
    worker.run()
    assert not worker.calls.log  # type: ignore[attr-defined]
    worker.from_parent(StateDown({0: 100}, 1))
    worker.run()
    assert [answer for *_, answer in worker.calls.log] == [108]  # type: ignore[attr-defined]


def test_the_run_ends_with_what_all_parts_make_together() -> None:
    worker = root([])
    worker.promise(BARRIER, ENDED)
    worker.run()
    assert [each.tag for each in taken(worker.to_children[0]) if isinstance(each, Request)] == [None]
    worker.from_child(0, StateUp({0: 1}, 0))
    worker.run()
    assert not worker.done
    worker.from_child(1, StateUp({0: 2}, 0))
    worker.run()
    assert worker.done and worker.calls.final == {0: 3}  # type: ignore[attr-defined]
