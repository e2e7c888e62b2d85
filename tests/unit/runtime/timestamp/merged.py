"""Lanes of sorted rows in front of a merge in timestamp order, driven by hand; and its ready rows by their definition."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorstream.events.schema import Schema
from actorstream.ordering.none import NoOrder
from actorstream.plan.channels import IDLE_WORD
from actorstream.runtime.inbox import Step
from actorstream.runtime.lanes import InLane
from actorstream.runtime.timestamp.inbox import TimestampInbox
from actorstream.runtime.timestamp.lane_rows import LaneRows, RowOrder
from actorstream.runtime.timestamp.merge import MergeReader, TimestampMerge
from actorstream.runtime.timestamp.merged_runs import MergedRuns
from actorstream.transports.base import FrameKind
from tests.conformance.frames import Ports, Scripted, Waiting, data, mark
from tests.conformance.frames import Row as Numbered

Ranked = tuple[int, int, int, int]
"""Time, rank, number and lane of a row."""
FRONTIER_END = 2**63 - 1


class Late(Ports):
    """Keeps the numbers of late rows. Lanes may be idle."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def tell_idle(self, count: int) -> None:
        """Nobody asks."""

    def late(self, batch: Any) -> None:
        self.numbers += [int(number) for number in batch["n"]]


class Merged:
    """Lanes of sorted rows, driven by hand. `ended`, `promised`: what each lane's producer has said. `ports`: unless given, no
    lane may be idle."""

    def __init__(self, lanes: list[list[Ranked]], ranks: list[int], ports: Ports | None = None) -> None:
        self.left, self.ended = [list(rows) for rows in lanes], [False] * len(lanes)
        self.ranks, self.came, self.out = ranks, list[Ranked](), list[Ranked]()
        self.channels = [Scripted([]) for _ in lanes]
        for channel in self.channels:
            channel.words += [0] * (IDLE_WORD + 1 - len(channel.words))
        orders = [RowOrder(rank=rank, columns=("_position",), local=True) for rank in ranks]
        rows = [
            LaneRows(
                InLane(at, f"input{rank}", channel, lambda frame: frame.payload, idles=ports is not None),
                order,
                Waiting(),
            )
            for at, (channel, order, rank) in enumerate(zip(self.channels, orders, ranks))
        ]
        schemas = dict.fromkeys(ranks, Schema.of(Numbered).with_system(("_position",)))
        merge = TimestampMerge(rows, MergedRuns(ranks, schemas, ties=1), np.zeros(64, np.int64))
        self.reader = MergeReader(merge, ports or Ports(), 0)
        self.inbox = TimestampInbox(self.reader, [], NoOrder([]), {})
        self.known = {row[2]: row for rows in lanes for row in rows}

    def arrive(self, lane: int, rows: int) -> None:
        some, self.left[lane] = self.left[lane][:rows], self.left[lane][rows:]
        if some:
            self.came += some
            self.channels[lane].frames.append(data(*((time, number) for time, _, number, _ in some)))
        elif not self.ended[lane]:
            self.ended[lane] = True
            self.channels[lane].frames.append(mark(FrameKind.END))

    def promise(self, lane: int) -> None:
        """The most that a producer can promise: the time of the row it sends next."""
        self.channels[lane].words[0] = self.left[lane][0][0] if self.left[lane] else FRONTIER_END

    def drain(self) -> Step:
        while (step := self.inbox.next()) is Step.ROWS:
            self.out += [self.known[int(number)] for number in self.inbox.batch["n"]]
            self.inbox.done()
        return step

    def ready(self) -> list[Ranked]:
        """By the definition: rows, in order, for which every lane of lower or equal rank has promised nothing more at their
        time, and every one of higher rank nothing more below it."""
        found = []
        for row in sorted(self.came):
            for lane, rank in enumerate(self.ranks):
                own = [each for each in self.came if each[3] == lane]
                said = max([self.channels[lane].words[0], *(each[0] for each in own)])
                follows = FRONTIER_END if self.ended[lane] else said
                later = lane == row[3] or any(each > row for each in own)
                if not (later or follows > row[0] or (follows == row[0] and rank > row[1])):
                    return found
            found.append(row)
        return found
