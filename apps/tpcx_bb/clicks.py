"""What one user clicks, in order: sessions of items (Q2) and of pages (Q4), and what came before a purchase (Q3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import timedelta
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from actorstream import Actor, Batch
from apps.tpcx_bb.events import ItemPair, Purchase, Session, Visit


class Sessions(Actor):
    """The distinct items that a user views in a session: when the session is known to be over, and at the end.

    Takes rows (time in s, user, item), the clicks of a user in the order of their time.

    Args:
        gap: a longer time without a click ends a session.
    """

    outputs: ClassVar = {"default": Session}

    def __init__(self, gap: timedelta = timedelta(hours=1)) -> None:
        self.gap = gap.total_seconds()
        self.state: dict[int, list[Any]] = {}
        """User -> time of the last click, items."""

    def on_batch(self, batch: Batch) -> Batch | None:
        open_sessions, over, rows = self.state, [], []
        for row, (time, user, item) in enumerate(
            zip(*(batch[name].tolist() for name in ("time", "user", "item")))
        ):
            session = open_sessions.get(user)
            if session is not None and time - session[0] <= self.gap:
                session[0] = time
                if item not in session[1]:
                    session[1].append(item)
                continue
            if session is not None:
                over.append(Session(user, session[1]))
                rows.append(row)
            open_sessions[user] = [time, [item]]
        return batch_of(over, rows, batch)

    def on_end(self) -> list[Session]:
        return [Session(user, items) for user, (_, items) in sorted(self.state.items())]


class SessionPairs(Actor):
    """Items of a session, two by two: item_1 < item_2.

    Args:
        item: only pairs with this one, which is then item_2.
    """

    outputs: ClassVar = {"default": ItemPair}
    stateless = True

    def __init__(self, item: int | None = None) -> None:
        self.item = item

    def on_batch(self, batch: Batch) -> Batch | None:
        found: list[ItemPair] = []
        rows: list[int] = []
        for row, session in enumerate(batch.events()):
            pairs = self.pairs(session.items)
            found += pairs
            rows += [row] * (len(found) - len(rows))
        return batch_of(found, rows, batch)

    def pairs(self, items: list[int]) -> Iterable[ItemPair]:
        if self.item is None:
            return [ItemPair(first, second) for first, second in combinations(sorted(items), 2)]
        if self.item not in items:
            return []
        return [ItemPair(other, self.item) for other in items if other != self.item]


class Visits(Actor):
    """How many pages a user visits in a session, and which were the last dynamic and the last order page.

    Takes rows (time in s, user, dynamic, order), the clicks of a user in the order of their time.

    Args:
        gap: a longer time without a click ends a session.
    """

    outputs: ClassVar = {"default": Visit}

    def __init__(self, gap: timedelta = timedelta(hours=1)) -> None:
        self.gap = gap.total_seconds()
        self.state: dict[int, list[int]] = {}
        """User -> time of the last click, then as in Visit."""

    def on_batch(self, batch: Batch) -> Batch | None:
        visits, over, rows = self.state, [], []
        names = ("time", "user", "dynamic", "order")
        for row, (time, user, dynamic, order) in enumerate(zip(*(batch[name].tolist() for name in names))):
            visit = visits.get(user)
            if visit is None or time - visit[0] > self.gap:
                if visit is not None:
                    over.append(Visit(user, *visit[1:]))
                    rows.append(row)
                visits[user] = visit = [time, 0, 0, 0]
            visit[0] = time
            visit[1] += 1
            if dynamic:
                visit[2] = visit[1]
            if order:
                visit[3] = visit[1]
        return batch_of(over, rows, batch)

    def on_end(self) -> list[Visit]:
        return [Visit(user, *visit[1:]) for user, visit in sorted(self.state.items())]


class LastViewed(Actor):
    """Of each purchase of an item, what its user had clicked or purchased last.

    Takes rows (time in s, user, item, sale; -1: none), the clicks of a user in the order of their time. Those of one second
    are put into the order of (sale, item) before they count, so a user's click waits for the next second's.

    Args:
        item: the item that is purchased.
        views: how many rows before the purchase.
        within: how long before it they may be.
    """

    outputs: ClassVar = {"default": Purchase}

    def __init__(self, item: int, views: int = 5, within: timedelta = timedelta(days=10)) -> None:
        self.item, self.views, self.within = item, views, within.total_seconds()
        self.users: dict[int, tuple[deque[tuple[int, int]], list[tuple[int, int, int]]]] = {}
        """User -> (time, item) of the last rows, (time, sale, item) of those of the second that is not over."""

    def on_batch(self, batch: Batch) -> Batch | None:
        users = self.users
        found: list[Purchase] = []
        rows: list[int] = []
        names = ("time", "user", "sale", "item")
        for row, (time, user, sale, item) in enumerate(zip(*(batch[name].tolist() for name in names))):
            known = users.get(user)
            if known is None:
                users[user] = deque(maxlen=self.views), [(time, sale, item)]
                continue
            last, second = known
            if second[0][0] != time:
                self._settle(last, second, found)
                rows += [row] * (len(found) - len(rows))
            second.append((time, sale, item))
        return batch_of(found, rows, batch)

    def on_end(self) -> list[Purchase]:
        found: list[Purchase] = []
        for _, (last, second) in sorted(self.users.items()):
            self._settle(last, second, found)
        return found

    def _settle(
        self, last: deque[tuple[int, int]], second: list[tuple[int, int, int]], found: list[Purchase]
    ) -> None:
        """The rows of a second that is over join the last ones."""
        second.sort()
        for time, sale, item in second:
            if sale >= 0 and item == self.item:
                found += [Purchase(item, viewed) for when, viewed in last if when >= time - self.within]
            last.append((time, item))
        second.clear()

    def snapshot(self) -> list[Any]:
        return [(user, list(last), second) for user, (last, second) in self.users.items()]

    def restore(self, snapshot: Any) -> None:
        self.users = {
            user: (deque(map(tuple, last), self.views), list(map(tuple, second)))
            for user, last, second in snapshot
        }


def batch_of(events: list[Any], rows: list[int], batch: Batch) -> Batch | None:
    """Events that descend from rows of a batch, one each."""
    if not events:
        return None
    return Batch.of_events(type(events[0]), events).inherit(batch, np.array(rows, np.uint32))
