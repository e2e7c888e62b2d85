"""What one user clicks, in order: sessions of items (Q2) and of pages (Q4), and what came before a purchase (Q3).

The work is done in C (kernel.c), a call a batch, without the interpreter's lock.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from actorstream import Actor, Batch, Contract
from actorstream.operators.prepared import Prepared
from apps.tpcx_bb.events import ItemPair, Purchase, Session, Visit
from apps.tpcx_bb.kernel import State
from apps.tpcx_bb.native import Native

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
ITEM_BYTES = 8


class Sessions(Native):
    """The distinct items that a user views in a session: when the session is known to be over, and at the end.

    Takes rows (time in s, user, item), the clicks of a user in the order of their time.

    Args:
        gap: a longer time without a click ends a session.
    """

    outputs: ClassVar = {"default": Session}

    def __init__(self, gap: timedelta = HOUR) -> None:
        self.kept = State(1, 3, gap // SECOND)

    def on_batch(self, batch: Batch) -> Batch | None:
        return self._sent(self.kept.call("sessions", batch["time"], batch["user"], batch["item"]))

    def prepare(self, batch: Batch) -> Prepared:
        return self.kept.prepared("sessions", [batch["time"], batch["user"], batch["item"]], self._sent)

    def _sent(self, came: int) -> Batch | None:
        return Batch.of(self._over(), event=Session, origin=self.kept.rows()) if came else None

    def on_end(self) -> Batch | None:
        return Batch.of(self._over(), event=Session) if self.kept.call("sessions_end") else None

    def _over(self) -> dict[str, Any]:
        ends = self.kept.column(1)
        items = self.kept.column(2, int(ends[-1]))
        offsets = np.zeros(len(ends) + 1, np.int32)
        np.multiply(ends, ITEM_BYTES, out=offsets[1:], casting="unsafe")
        packed = pa.BinaryArray.from_buffers(
            pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(items)]
        )
        return {"user": self.kept.column(0), "items": packed}


class SessionPairs(Actor):
    """Items of a session, two by two: item_1 < item_2.

    Args:
        item: only pairs with this one, which is then item_2.
    """

    outputs: ClassVar = {"default": ItemPair}
    contract = Contract(stateless=True)

    def __init__(self, item: int | None = None) -> None:
        self.kept = State(1, 0, -1 if item is None else item)

    def on_batch(self, batch: Batch) -> Batch | None:
        sessions = batch["items"]
        _, offset_buffer, items = sessions.buffers()
        offsets = np.frombuffer(offset_buffer, np.int32)[sessions.offset : sessions.offset + batch.rows + 1]
        if not self.kept.session_pairs(offsets, items):
            return None
        columns = {"item_1": self.kept.column(0), "item_2": self.kept.column(1)}
        return Batch.of(columns, event=ItemPair, origin=self.kept.rows())


class Visits(Native):
    """How many pages a user visits in a session, and which were the last dynamic and the last order page.

    Takes rows (time in s, user, dynamic, order), the clicks of a user in the order of their time.

    Args:
        gap: a longer time without a click ends a session.
    """

    outputs: ClassVar = {"default": Visit}
    taken = ("time", "user", "dynamic", "order")

    def __init__(self, gap: timedelta = HOUR) -> None:
        self.kept = State(1, 4, gap // SECOND)

    def on_batch(self, batch: Batch) -> Batch | None:
        return self._sent(self.kept.call("visits", *(batch[name] for name in self.taken)))

    def prepare(self, batch: Batch) -> Prepared:
        return self.kept.prepared("visits", [batch[name] for name in self.taken], self._sent)

    def _sent(self, came: int) -> Batch | None:
        return Batch.of(self._over(), event=Visit, origin=self.kept.rows()) if came else None

    def on_end(self) -> Batch | None:
        return Batch.of(self._over(), event=Visit) if self.kept.call("visits_end") else None

    def _over(self) -> dict[str, np.ndarray]:
        return {name: self.kept.column(number) for number, name in enumerate(Visit.__struct_fields__)}


class LastViewed(Native):
    """Of each purchase of an item, what its user had clicked or purchased last.

    Takes rows (time in s, user, item, sale; -1: none), the clicks of a user in the order of their time. Those of one
    second are put into the order of (sale, item) before they count, so a user's click waits for a later second's.

    Args:
        item: the item that is purchased.
        views: how many rows before the purchase.
        within: how long before it they may be.
    """

    outputs: ClassVar = {"default": Purchase}
    taken = ("time", "user", "item", "sale")

    def __init__(self, item: int, views: int = 5, within: timedelta = timedelta(days=10)) -> None:
        if views < 1:
            raise ValueError(f"views is {views}; allowed: 1 or more")
        self.item = item
        self.kept = State(1, 3 + 2 * views, item, views, within // SECOND)

    def on_batch(self, batch: Batch) -> Batch | None:
        return self._sent(self.kept.call("last_viewed", *(batch[name] for name in self.taken)))

    def prepare(self, batch: Batch) -> Prepared:
        return self.kept.prepared("last_viewed", [batch[name] for name in self.taken], self._sent)

    def _sent(self, came: int) -> Batch | None:
        return Batch.of(self._viewed(), event=Purchase, origin=self.kept.rows()) if came else None

    def on_end(self) -> Batch | None:
        if not self.kept.call("last_viewed_end"):
            return None
        return Batch.of(self._viewed(), event=Purchase)

    def _viewed(self) -> dict[str, np.ndarray]:
        viewed = self.kept.column(0)
        return {"purchased_item": np.full(len(viewed), self.item), "lastviewed_item": viewed}
