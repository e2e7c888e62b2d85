"""Cars on expressways, seeded, a second at a time on whole columns. No actors and no files here.

Every car reports each 30 seconds; the cars that report in one second are a group of arrays. Time steps are the group's:
whoever reports has driven for 30 seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.linear_road.events import Report

SEGMENTS, FEET = 100, 5280
"""Segments of an expressway, feet of one."""
EVERY = 30
"""Seconds between a car's reports."""
FEET_PER_MPH = 44
"""What a mile an hour makes in EVERY seconds."""
ENTRY_LANE, EXIT_LANE, LANES = 0, 4, 3
MEAN_TRIP = 15 * FEET
FREE_SPEED, FULL = 60.0, 800.0
"""Miles an hour on an empty road; cars in a segment at which nothing moves faster than CRAWL."""
CRAWL = 12.0
STANDS_FOR = (600, 1200)
"""Seconds for which the two cars of an accident stand, at least and at most."""
REQUESTS = 100
"""One report in so many comes with a request for the account balance (type 2)."""

Columns = dict[str, np.ndarray]
FIELDS = Report.__struct_fields__
STATE = ("vid", "road", "pos", "lane", "leaves_at", "stands_until")


@dataclass(frozen=True, slots=True)
class Settings:
    """What traffic there is.

    Attributes:
        xways: expressways, numbered from 0.
        density: cars on a mile of one direction once traffic is full; 255 make the 1,700 reports a second of one
            expressway that Linear Road ends with.
        ramp: seconds until traffic is full; it begins with a tenth.
        accidents: an hour and expressway.
        seed: another one gives other traffic.
    """

    xways: int = 1
    density: float = 255.0
    ramp: int = 10_800
    accidents: float = 3.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name, least in (("xways", 1), ("density", 0), ("ramp", 0), ("accidents", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; allowed: {least} or more")


class Traffic:
    """The reports of the expressways `first`, `first` + `step`, ... of some settings.

    A vehicle's number tells which part it is of, so that parts have no numbers in common: the reports of one part do not
    depend on how many replicas read the others."""

    def __init__(self, settings: Settings, first: int = 0, step: int = 1) -> None:
        self.settings, self.first, self.step = settings, first, step
        self.xways = np.arange(first, settings.xways, step, dtype=np.int32)
        self.rng = np.random.default_rng([settings.seed, first, step])
        self.time = 0
        self.cars = 0
        """That have entered so far."""
        self.roads = 2 * len(self.xways)
        self.groups = [{name: np.empty(0, np.int32) for name in STATE} for _ in range(EVERY)]
        self.limit = np.full((self.roads, SEGMENTS), FREE_SPEED, np.float32)
        self.closed: list[tuple[int, int, int]] = []
        """Accidents: road, segment, until when."""

    def second(self) -> Columns:
        """All reports of the next second, by column (time int64, the others int32)."""
        time = self.time
        if time % EVERY == 0:
            self._limit_speeds(time)
        group = self.groups[time % EVERY]
        if len(group["vid"]):
            group = self._drive(self._without_gone(group), time)
        group = self._enter(group, time)
        if self.rng.random() < self.settings.accidents * len(self.xways) / 3600:
            self._crash(group, time)
        self.groups[time % EVERY] = group
        self.time += 1
        return self._reports(group, time)

    def _without_gone(self, group: Columns) -> Columns:
        stays = group["lane"] != EXIT_LANE
        return {name: values[stays] for name, values in group.items()}

    def _drive(self, group: Columns, time: int) -> Columns:
        pos = group["pos"]
        speed = self.limit[group["road"], pos // FEET]
        speed *= self.rng.random(len(pos), np.float32) * np.float32(0.4) + np.float32(0.8)
        speed[group["stands_until"] > time] = 0
        group["spd"] = speed.astype(np.int32)
        ahead = pos + group["spd"] * FEET_PER_MPH
        leaves = ahead >= group["leaves_at"]
        group["pos"] = np.minimum(ahead, group["leaves_at"])
        lane = np.where(group["lane"] == ENTRY_LANE, group["vid"] % LANES + 1, group["lane"])
        group["lane"] = np.where(leaves, np.int32(EXIT_LANE), lane).astype(np.int32)
        return group

    def _enter(self, group: Columns, time: int) -> Columns:
        full = self.settings.density * self.roads * SEGMENTS / EVERY
        share = min(1.0, 0.1 + 0.9 * time / self.settings.ramp) if self.settings.ramp else 1.0
        more = int(full * share + self.rng.random()) - len(group["vid"])
        if more <= 0:
            return group
        rng = self.rng
        pos = rng.integers(0, SEGMENTS * FEET * 9 // 10, more, np.int32)
        trip = (FEET + rng.exponential(MEAN_TRIP, more)).astype(np.int32)
        numbers = np.arange(self.cars, self.cars + more, dtype=np.int32)
        self.cars += more
        made = {
            "vid": 1 + self.first + self.step * numbers,
            "road": rng.integers(0, self.roads, more, np.int32),
            "pos": pos,
            "lane": np.full(more, ENTRY_LANE, np.int32),
            "leaves_at": np.minimum(pos + trip, SEGMENTS * FEET - 1),
            "stands_until": np.zeros(more, np.int32),
            "spd": rng.integers(25, 45, more, np.int32),
        }
        if not len(group["vid"]):
            return made
        return {name: np.concatenate([values, made[name]]) for name, values in group.items()}

    def _limit_speeds(self, time: int) -> None:
        """From how many cars there are in each segment, and the accidents: cars slow down behind them."""
        places = [group["road"] * SEGMENTS + group["pos"] // FEET for group in self.groups]
        counts = np.bincount(np.concatenate(places), minlength=self.roads * SEGMENTS)
        counts = counts.reshape(self.roads, SEGMENTS)
        self.limit = np.maximum(FREE_SPEED * (1 - counts / FULL), CRAWL).astype(np.float32)
        self.closed = [each for each in self.closed if each[2] > time]
        for road, seg, _ in self.closed:
            self.limit[road, max(seg - 2, 0) : seg + 1] = CRAWL

    def _crash(self, group: Columns, time: int) -> None:
        """Two cars of one segment, on travel lanes, stand at one place from now on."""
        moves = (group["lane"] != ENTRY_LANE) & (group["lane"] != EXIT_LANE) & (group["stands_until"] <= time)
        rows = np.flatnonzero(moves)
        if len(rows) < 2:
            return
        one = int(rows[self.rng.integers(len(rows))])
        seg = group["pos"] // FEET
        near = rows[(group["road"][rows] == group["road"][one]) & (seg[rows] == seg[one]) & (rows != one)]
        if not len(near):
            return
        both = [one, int(near[0])]
        until = time + int(self.rng.integers(*STANDS_FOR))
        group["pos"][both], group["lane"][both] = group["pos"][one], group["lane"][one]
        further = max(int(group["leaves_at"][both].max()), int(group["pos"][one]) + FEET)
        group["leaves_at"][both] = min(further, SEGMENTS * FEET - 1)
        group["stands_until"][both], group["spd"][both] = until, 0
        self.closed.append((int(group["road"][one]), int(seg[one]), until))

    def _reports(self, group: Columns, time: int) -> Columns:
        """Position reports, then requests. Direction 1 goes the other way: its positions count down."""
        rows = len(group["vid"])
        asks = np.flatnonzero(self.rng.integers(0, REQUESTS, rows, np.int32) == 0)
        both = rows + len(asks)
        made = {name: np.full(both, -1, np.int32) for name in FIELDS}
        made["time"] = np.full(both, time, np.int64)
        made["type"][:rows], made["type"][rows:] = 0, 2
        direction = group["road"] % 2
        pos = np.where(direction == 0, group["pos"], SEGMENTS * FEET - 1 - group["pos"])
        made["xway"][:rows] = self.xways[group["road"] // 2]
        made["dir"][:rows], made["pos"][:rows], made["seg"][:rows] = direction, pos, pos // FEET
        for name in ("vid", "spd", "lane"):
            made[name][:rows] = group[name]
        made["vid"][rows:] = group["vid"][asks]
        made["qid"][rows:] = asks
        return made
