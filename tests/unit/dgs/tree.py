"""A whole plan of worker protocols in one process, whose messages travel in any order that FIFO links allow."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from actorstream.dgs import holdings
from actorstream.dgs.adding import AddingChildren
from actorstream.dgs.joining import JoinedChildren
from actorstream.dgs.mailbox import ENDED
from actorstream.dgs.messages import StateDown, StateUp
from actorstream.dgs.worker import WorkerProtocol

Event = tuple[int, int]
"""(time, value)."""


class Keyed:
    """The paper's Figure 1 with a log: state is key -> sum; "i" adds to a key, "r" reads and resets it.

    Tags are (kind, key, stream). A fork gives a key to the right if that is who resets it."""

    def __init__(self, log: list[tuple[Any, Event, Any]], right: Iterable[Any] = ()) -> None:
        self.log = log
        self.right = {key for kind, key, _ in right if kind == "r"}
        self.final: dict[int, int] | None = None

    @staticmethod
    def depends(one: Any, other: Any) -> bool:
        return one[1] == other[1] and "r" in (one[0], other[0])

    def update(self, state: dict[int, int], tag: Any, item: list[Event], first: int, last: int) -> Any:
        kind, key, _ = tag
        for event in item[first:last]:
            if kind == "i":
                state[key] = state.get(key, 0) + event[1]
                self.log.append((tag, event, None))
            else:
                self.log.append((tag, event, state.pop(key, 0)))
        return state

    def join(self, left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
        return {key: left.get(key, 0) + right.get(key, 0) for key in {*left, *right}}

    def fork(self, state: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
        right = {key: state.pop(key) for key in self.right & state.keys()}
        return state, right

    def empty(self) -> dict[int, int]:
        return {}

    def add(self, state: dict[int, int], part: dict[int, int], child: int) -> dict[int, int]:
        return self.join(state, part)

    def finish(self, state: dict[int, int]) -> None:
        self.final = {key: value for key, value in state.items() if value}


class Tree:
    """Workers of a plan given as nested (tags, left, right) or (tags,), and their links.

    Args:
        streams: stream -> its events in order, as (tag, event).
        additive: whether tags of kind "i" are.
        held: how often a worker stops between two steps, or what it says does not leave it at once, for want of room.
        look: called between any two moves.
    """

    def __init__(
        self,
        plan: Any,
        ranks: list[Any],
        streams: dict[Any, list[Any]],
        chance: random.Random,
        additive: bool = False,
        *,
        held: float = 0.0,
        look: Callable[[Tree], None] | None = None,
    ) -> None:
        self.held, self.look = held, look
        self.log: list[tuple[Any, Event, Any]] = []
        self.chance, self.ranks, self.additive = chance, ranks, additive
        self.depends = {tag: [each for each in ranks if Keyed.depends(tag, each)] for tag in ranks}
        self.workers: list[WorkerProtocol] = []
        self.links: dict[tuple[int, int, int], deque[Any]] = {}
        """(from, to, which child) -> messages on their way."""
        self.owner: dict[Any, int] = {}
        self._add(plan, (), None)
        self.streams = {name: deque(events) for name, events in streams.items()}
        self.tags_of = {name: [tag for tag in ranks if tag[2] == name] for name in streams}
        self.lanes: dict[tuple[Any, int], deque[Any]] = {}
        """(stream, worker) -> what its source has sent there."""
        self.places = dict.fromkeys(streams, 0)
        self.ended: set[Any] = set()
        self.workers[0].start({})
        self._settle(0)

    def _add(self, plan: Any, above: tuple[Any, ...], parent: int | None, parent_adds: bool = False) -> int:
        tags, *children = plan
        adds = self.additive and bool(children)
        adds = adds and all(tag[0] == "i" for child in children for tag in tags_below(child))
        number = len(self.workers)
        calls = Keyed(self.log, tags_below(children[1]) if children else ())
        joined = JoinedChildren() if children else None
        protocol = WorkerProtocol(
            tags,
            above,
            ranks=self.ranks,
            depends=self.depends,
            calls=calls,
            children=AddingChildren() if adds else joined,
            is_root=parent is None,
            streams={tag: tag[2] for tag in self.ranks},
            adds=parent_adds,
        )
        self.workers.append(protocol)
        self.owner.update(dict.fromkeys(tags, number))
        for which, child in enumerate(children):
            below = self._add(child, (*above, *tags), number, adds)
            self.links[number, below, which] = deque()
            self.links[below, number, which] = deque()
        return number

    def _settle(self, number: int, *, all_of_it: bool = False) -> None:
        """Lets a worker run and puts what it says on its links."""
        worker = self.workers[number]
        if all_of_it or self.chance.random() >= self.held:
            worker.run()
        elif worker.run(1) or self.chance.random() < 0.5:
            return
        for (sender, receiver, which), link in self.links.items():
            if sender != number:
                continue
            outgoing = worker.to_children[which] if receiver > number else worker.to_parent
            link.extend(outgoing)
            outgoing.clear()

    # -- moves

    def moves(self) -> list[Any]:
        found: list[Any] = [("link", key) for key, link in self.links.items() if link]
        found += [("lane", key) for key, lane in self.lanes.items() if lane]
        found += [("source", name) for name in self.streams if name not in self.ended]
        return found

    def run(self) -> None:
        while moves := self.moves() or self._all_settled():
            kind, key = self.chance.choice(moves)
            if kind == "link":
                sender, receiver, which = key
                message = self.links[key].popleft()
                if sender < receiver:
                    self.workers[receiver].from_parent(message)
                else:
                    self.workers[receiver].from_child(which, message)
                self._settle(receiver)
            elif kind == "lane":
                self._arrive(key)
            else:
                self._send(key)
            if self.look is not None:
                self.look(self)

    def _all_settled(self) -> list[Any]:
        for number in range(len(self.workers)):
            self._settle(number, all_of_it=True)
        return self.moves()

    def _send(self, name: Any) -> None:
        """A source sends a slice by tag, then promises to all what it can; at its end everything."""
        events = self.streams[name]
        rows = [events.popleft() for _ in range(min(len(events), self.chance.randint(0, 5)))]
        slices: dict[Any, list[Any]] = {}
        for tag, event in rows:
            slices.setdefault(tag, []).append((self.places[name], event))
            self.places[name] += 1
        for tag, some in slices.items():
            self.lanes.setdefault((name, self.owner[tag]), deque()).append(("events", tag, some))
        if not events:
            self.ended.add(name)
        if rows or not events:
            bound = rows[-1][1][0] if events else ENDED
            if bound == ENDED or self.chance.random() < 0.7:
                for tag in self.tags_of[name]:
                    lane = self.lanes.setdefault((name, self.owner[tag]), deque())
                    lane.append(("promise", tag, bound))

    def _arrive(self, key: Any) -> None:
        kind, tag, what = self.lanes[key].popleft()
        worker = self.workers[key[1]]
        if kind == "promise":
            worker.promise(tag, what)
        else:
            times = np.array([event[0] for _, event in what], np.int64)
            places = np.array([place for place, _ in what], np.int64)
            events = [event for _, event in what]
            if len(self.tags_of[tag[2]]) > 1:
                worker.insert(tag, times, events, places)
            elif len(events) > 1 or not worker.begin(tag, events[0][0], events):  # places say nothing
                worker.insert(tag, times, events)
        if self.chance.random() < 0.8:
            self._settle(key[1])


def check_cut(tree: Tree, ranks: list[Any], streams: dict[Any, list[Any]]) -> None:
    """At this moment the states of all workers and links, each once, join into that of the sequential program after the
    events that were processed (Lemma C.3); and all others are to be found."""
    if tree.workers[0].done:
        return
    below = {(sender, which): receiver for sender, receiver, which in tree.links if sender < receiver}
    states: dict[int, Any] = {}

    def add(number: int, state: Any) -> None:
        assert number not in states
        states[number] = state

    for number, worker in enumerate(tree.workers):
        for which, state in holdings.states(worker):
            add(number if which < 0 else below[number, which], state)
    for (sender, receiver, _), link in tree.links.items():
        for message in link:
            if isinstance(message, StateUp):
                add(sender, message.state)
            elif isinstance(message, StateDown):
                add(receiver, message.state)

    def joined(number: int) -> Any:
        if number in states:
            return states.pop(number)
        return tree.workers[number].calls.join(*(joined(below[number, which]) for which in (0, 1)))

    found = joined(0)
    assert not states  # of somebody whose state was given away
    processed = {event for _, event, _ in tree.log}
    sequential, expected = Keyed([]), {}
    for tag, event in in_order(ranks, streams):
        if event in processed:
            expected = sequential.update(expected, tag, [event], 0, 1)
    assert {key: sum for key, sum in found.items() if sum} == {
        key: sum for key, sum in expected.items() if sum
    }
    waiting = [event for worker in tree.workers for _, item in holdings.unfinished(worker) for event in item]
    waiting += [
        event
        for lane in tree.lanes.values()
        for kind, _, what in lane
        if kind == "events"
        for _, event in what
    ]
    waiting += [event for events in tree.streams.values() for _, event in events]
    everything = {event for events in streams.values() for _, event in events}
    assert len(waiting) == len(set(waiting)) and set(waiting) - processed == everything - processed


def tags_below(plan: Any) -> list[Any]:
    tags, *children = plan
    return [*tags, *(tag for child in children for tag in tags_below(child))]


def in_order(ranks: list[Any], streams: dict[Any, list[Any]]) -> list[Any]:
    """All events as the sequential program sees them: by time, rank of the stream's first tag, place."""
    first = {name: min(ranks.index(tag) for tag in ranks if tag[2] == name) for name in streams}
    found = [
        (event[0], first[name], place, tag, event)
        for name, events in streams.items()
        for place, (tag, event) in enumerate(events)
    ]
    return [(tag, event) for *_, tag, event in sorted(found)]


def random_plan(chance: random.Random, tags: list[Any]) -> Any:
    """A valid plan: dependent tags are at one worker, or one above the other."""
    if len(tags) < 2 or chance.random() < 0.15:
        return (tags,)
    taken = set(chance.sample(tags, chance.randint(0, len(tags) // 2)))
    for _ in range(len(tags)):
        groups = components([tag for tag in tags if tag not in taken])
        if len(groups) > 1:
            break
        taken.add(chance.choice([tag for tag in tags if tag not in taken]))
        if len(taken) == len(tags):
            return (tags,)
    chance.shuffle(groups)
    cut = chance.randint(1, len(groups) - 1)
    halves = [[tag for group in part for tag in group] for part in (groups[:cut], groups[cut:])]
    return (sorted(taken), *(random_plan(chance, half) for half in halves))


def components(tags: list[Any]) -> list[list[Any]]:
    left, found = list(tags), []
    while left:
        group = [left.pop()]
        for one in group:
            near = [tag for tag in left if Keyed.depends(one, tag)]
            left = [tag for tag in left if tag not in near]
            group += near
        found.append(group)
    return found
