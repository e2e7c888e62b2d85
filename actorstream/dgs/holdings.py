"""Reads what a worker of a synchronization plan holds between two of its steps: its states, the events that it has not processed,
and the time up to which it has processed all. It changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from actorstream.dgs.mailbox import ENDED, NOTHING
from actorstream.dgs.messages import StateDown
from actorstream.dgs.worker import HAS, WorkerProtocol

NO_EVENTS = ENDED - 1
"""The frontier of a root that has no events any more and has not called `end` yet."""


def states(worker: WorkerProtocol) -> Iterator[tuple[int, Any]]:
    """The states that a worker holds: (-1, the state of all its tags), or (a child's number, that of the child's tags).

    Each state exists exactly once: at an ancestor, here, in all descendants, or in a message between them."""
    if worker.phase is HAS and not worker.to_children:
        yield -1, worker.state
    yield from ((-1, message.state) for message in worker.to_parent)
    for child, answers in enumerate(worker.answers):
        yield from ((child, answer.state) for answer in answers)
    for child, messages in enumerate(worker.to_children):
        yield from ((child, message.state) for message in messages if isinstance(message, StateDown))


def unfinished(worker: WorkerProtocol) -> Iterator[tuple[Any, Any]]:
    """Tags and items of own events that are not, or not all, processed, in the order of each tag; once each."""
    released = ((each.tag, each.rows) for each in worker.open_operations() if each.first < each.last)
    seen = set()
    for tag, rows in (*released, *worker.mailbox.items()):
        if rows.item is not None and id(rows) not in seen:
            seen.add(id(rows))
            yield tag, rows.item


def frontier(worker: WorkerProtocol) -> int:
    """No event before this time will be worked on here any more."""
    found = min((worker.mailbox.head(tag)[0] for tag in worker.own), default=ENDED)
    for operation in worker.open_operations():
        if not operation.is_request and operation.first < operation.last:
            found = min(found, operation.head[0])
    return found


def outputs_from(worker: WorkerProtocol, *, ends: bool) -> int:
    """Returns the least time that an output may still have. NO_EVENTS: no event is left, but the program's `end` (if it `ends`
    so) may still put out rows of any time. ENDED: nothing comes any more."""
    found = frontier(worker)
    return NO_EVENTS if found == ENDED and ends and worker.is_root and not worker.done else found


def latest(worker: WorkerProtocol) -> int:
    """The last time of the own tags that have ended; NOTHING: there was none."""
    return max(map(worker.mailbox.latest, worker.own), default=NOTHING)


def statistics(worker: WorkerProtocol) -> dict[str, int]:
    """waiting: events in the mailbox; released: of them, those that wait for states; joins."""
    released = sum(each.last - each.first for each in worker.open_operations())
    return {"waiting": worker.mailbox.waiting, "released": released, "joins": worker.joins}
