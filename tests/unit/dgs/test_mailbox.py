"""Selective reordering: dependent events in order, independent ones at once, nothing early and nothing kept."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.dgs.mailbox import ENDED, NOTHING, SelectiveMailbox
from actorstream.errors import DataError


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_values_wait_for_the_barrier_and_the_barrier_for_the_values() -> None:
    box = SelectiveMailbox(["barrier", "value"], {"barrier": ["value"], "value": ["barrier"]})
    box.insert("value", times(1, 2, 5, 9), "values")
    assert box.release() == []
    box.insert("barrier", times(5), "barrier")
    assert box.release() == [
        ("value", "values", 0, 2),
        ("barrier", "barrier", 0, 1),
    ]
    box.promise("barrier", 6)
    assert box.release() == [("value", "values", 2, 3)]
    assert box.waiting == 1 and box.frontier == 6
    box.promise("barrier", ENDED)
    assert box.release() == [("value", "values", 3, 4)]


def test_a_mailbox_says_of_which_tags_events_wait() -> None:
    box = SelectiveMailbox(["barrier", "value"], {"barrier": ["value"], "value": ["barrier"]})
    box.insert("barrier", times(5), "barrier")
    box.release()
    assert box.waits("barrier") and not box.waits("value") and not box.waits(None)
    box.promise("value", 5)
    box.release()
    assert not box.waits("barrier")


def test_independent_events_overtake_freely() -> None:
    box = SelectiveMailbox(["a", "b"], {})
    box.insert("b", times(100, 200), "late")
    assert box.release() == [("b", "late", 0, 2)]
    box.insert("a", times(1), "early")
    assert box.release() == [("a", "early", 0, 1)]


def test_at_one_time_the_tag_of_lower_rank_goes_first() -> None:
    depends = {"a": ["b"], "b": ["a"]}
    box = SelectiveMailbox(["a", "b"], depends)
    box.insert("b", times(5), "b")
    box.promise("a", 5)
    assert box.release() == []  # a may still bring an event at 5
    box.insert("a", times(5), "a")
    assert box.release() == [("a", "a", 0, 1)]
    box.promise("a", 6)
    assert box.release() == [("b", "b", 0, 1)]


def test_without_heartbeats_a_silent_tag_holds_its_dependents_back() -> None:
    box = SelectiveMailbox(["a", "b"], {"a": ["b"], "b": ["a"]})
    box.insert("a", times(1, 2, 3), "a")
    assert box.release() == []
    box.promise("b", 3)
    assert box.release() == [("a", "a", 0, 3)]


def test_a_stream_that_goes_back_is_refused() -> None:
    box = SelectiveMailbox(["a"], {})
    with pytest.raises(DataError, match="stream of a: event 2 of its next 3 has time 4, after 7"):
        box.insert("a", times(5, 7, 4), "x")
    box.insert("a", times(5, 7), "x")
    with pytest.raises(DataError, match="event 0 of its next 1 has time 6, after 7"):
        box.insert("a", times(6), "y")
    box.insert("a", times(), "nothing")


Event = tuple[int, int, int]  # time, rank of the tag, number in its stream


class Model:
    """What each tag has brought and promised; an event may go when nothing that it depends on can come before it."""

    def __init__(self, count: int, depends: dict[int, set[int]]) -> None:
        self.depends, self.count = depends, count
        self.waiting: list[list[Event]] = [[] for _ in range(count)]
        self.bounds = [NOTHING] * count

    def may_go(self, tag: int) -> bool:
        if not self.waiting[tag]:
            return False
        time = self.waiting[tag][0][0]
        for other in self.depends[tag] - {tag}:
            least = self.waiting[other][0][0] if self.waiting[other] else self.bounds[other]
            if not (least > time or (least == time and other > tag)):
                return False
        return True


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_streams_are_released_in_order_and_as_soon_as_they_may(data: Any) -> None:
    count = data.draw(st.integers(1, 5))
    pairs = data.draw(st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=8))
    depends = {
        tag: {b for a, b in pairs if a == tag} | {a for a, b in pairs if b == tag} for tag in range(count)
    }
    random = data.draw(st.randoms(use_true_random=False))
    box, model = SelectiveMailbox(range(count), depends), Model(count, depends)
    events: list[list[Event]] = [[] for _ in range(count)]
    released: list[Event] = []

    def check() -> None:
        for slice_ in box.release():
            for row in range(slice_.first, slice_.last):
                assert model.may_go(slice_.tag), "it gave an event that has to wait"
                event = model.waiting[slice_.tag].pop(0)
                assert event == slice_.item[row]
                released.append(event)
        assert not any(model.may_go(tag) for tag in range(count)), "it kept an event that may go"
        assert box.waiting == sum(map(len, model.waiting))

    for _ in range(random.randrange(1, 40)):
        tag = random.randrange(count)
        if model.bounds[tag] == ENDED:
            continue
        start = max(model.bounds[tag], 0)
        if random.random() < 0.3:
            model.bounds[tag] = random.choice([start + random.randrange(4), ENDED])
            box.promise(tag, model.bounds[tag])
        else:
            column = start + np.cumsum([random.randrange(3) for _ in range(random.randrange(1, 6))])
            rows = [(int(time), tag, len(events[tag]) + number) for number, time in enumerate(column)]
            events[tag] += rows
            model.waiting[tag] += rows
            model.bounds[tag] = int(column[-1])
            box.insert(tag, column.astype(np.int64), rows)
        if random.random() < 0.7:
            check()
    for tag in random.sample(range(count), count):
        box.promise(tag, ENDED)
        model.bounds[tag] = ENDED
    check()
    assert sorted(released) == sorted(event for stream in events for event in stream)
    for one, other in pairs:
        both = [event for event in released if event[1] in (one, other)]
        assert both == sorted(both)


def test_tags_of_one_stream_go_by_their_places_at_one_time() -> None:
    box = SelectiveMailbox(["a", "b"], {"a": ["b"], "b": ["a"]}, {"a": "s", "b": "s"})
    box.insert("a", times(5, 5, 6), "a", times(0, 3, 4))
    box.insert("b", times(5, 5), "b", times(1, 2))
    assert box.release() == [("a", "a", 0, 1), ("b", "b", 0, 2)]  # at 5 b may bring more
    box.promise("b", 5, 4)
    assert box.release() == [("a", "a", 1, 2)]
    assert box.head("a") == (6, 4) and box.head("b") == (5, 4)


def test_the_time_of_a_single_event_may_come_as_a_number() -> None:
    box = SelectiveMailbox(["barrier", "value"], {"barrier": ["value"], "value": ["barrier"]})
    box.insert("barrier", (5,), "barrier")
    box.insert("value", (5,), "at")
    assert box.release() == [("barrier", "barrier", 0, 1)]
    box.promise("barrier", 5)
    assert box.release() == []
    box.promise("barrier", 6)
    assert box.release() == [("value", "at", 0, 1)]
    with pytest.raises(DataError, match="has time 4"):
        box.insert("value", (4,), "before")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**63))
def test_a_single_event_passes_if_and_only_if_it_would_be_released_alone(seed: int) -> None:
    chance = random.Random(seed)
    tags = list(range(chance.randint(1, 4)))
    depends: dict[int, set[int]] = {tag: set() for tag in tags}
    for one in tags:
        for other in tags[:one]:
            if chance.random() < 0.6:
                depends[one].add(other)
                depends[other].add(one)
    streams = {tag: chance.randint(0, 1) for tag in tags} if chance.random() < 0.3 else {}
    short, long = SelectiveMailbox(tags, depends, streams), SelectiveMailbox(tags, depends, streams)
    at = dict.fromkeys(tags, 0)
    for number in range(30):
        tag = chance.choice(tags)
        at[tag] += chance.choice((0, 1, 1, 3))
        if chance.random() < 0.4:
            short.promise(tag, at[tag])
            long.promise(tag, at[tag])
        elif chance.random() < 0.3:
            several = times(at[tag], at[tag] + 1)
            at[tag] += 1
            short.insert(tag, several, number)
            long.insert(tag, several, number)
        else:
            long.insert(tag, (at[tag],), number)
            found = long.release()
            assert short.passes(tag, at[tag]) is (found == [(tag, number, 0, 1)])
            if len(found) != 1 or found[0].item != number:
                short.insert(tag, (at[tag],), number)
                assert short.release() == found
        assert short.release() == long.release()
        assert [short.head(each) for each in tags] == [long.head(each) for each in tags]
        assert short.waiting == long.waiting


def test_a_mailbox_has_ended_when_every_tag_has_and_nothing_waits() -> None:
    box = SelectiveMailbox(["a", "b"], {"a": ["b"], "b": ["a"]})
    box.insert("b", times(3), "b")
    box.promise("b", ENDED)
    assert not box.ended
    box.promise("a", ENDED)
    assert not box.ended
    assert box.release() and box.ended
