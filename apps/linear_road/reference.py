"""The same, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.linear_road.reference RESULT FILE

prints a result of topology.toml (new_segments, segment_stats, tolls, accident_alerts or toll_charges) as csv.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COLUMNS = {
    "new_segments": ("time", "vid", "xway", "dir", "seg"),
    "segment_stats": ("minute", "xway", "dir", "seg", "reports", "cars", "speed_sum"),
    "tolls": ("time", "vid", "lav", "toll"),
    "accident_alerts": ("time", "vid", "xway", "dir", "accident_seg"),
    "toll_charges": ("time", "vid", "toll"),
}
ENTRY_LANE, EXIT_LANE = 0, 4
STOPPED_AFTER = 4
"""Reports from one place."""
NEW_TRIP_AFTER = 60
"""Seconds without a report."""
MINUTES, AHEAD = 5, 4
"""Minutes that speeds are averaged over; segments that an accident is announced before it."""
FREE_CARS, FREE_SPEED = 50, 40

Row = tuple[int, ...]
Segment = tuple[int, int, int]
Place = tuple[int, int, int, int]


def read(path: Path) -> Iterator[Row]:
    """The lines of a file in the benchmark's layout; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        for line in csv.reader(file):
            yield tuple(map(int, line))


def minute_of(time: int) -> int:
    return time // 60 + 1


@dataclass
class Car:
    """A trip: where the car's last report came from, and how often."""

    time: int
    segment: Segment | None = None
    place: Place | None = None
    same: int = 0
    stands: bool = False
    left: bool = False
    toll: int = 0


@dataclass
class Minute:
    """A minute of a segment."""

    reports: int = 0
    cars: set[int] = field(default_factory=set)
    speed_sum: int = 0


@dataclass
class Crash:
    """An accident in `segment`: since when, and until when if it is over."""

    segment: Segment
    start: int
    clear: int | None = None

    def announced(self, minute: int) -> bool:
        return self.start // 60 + 2 <= minute and (self.clear is None or minute <= self.clear // 60 + 1)


class LinearRoad:
    """Takes the rows of a file one after the other. `results`: rows by the names of COLUMNS; `requests`: how many of each
    type there were."""

    def __init__(self) -> None:
        self.results: dict[str, list[Row]] = {name: [] for name in COLUMNS}
        self.requests: Counter[int] = Counter()
        self.last: dict[int, Segment] = {}
        self.cars: dict[int, Car] = {}
        self.minutes: dict[tuple[int, Segment], Minute] = defaultdict(Minute)
        self.standing: Counter[Place] = Counter()
        self.crashes: dict[tuple[int, int], list[Crash]] = defaultdict(list)
        self.open: dict[Place, Crash] = {}

    def run(self, rows: Iterable[Row]) -> LinearRoad:
        for kind, time, vid, speed, xway, lane, direction, seg, pos, *_ in rows:
            if kind == 0:
                self.report(time, vid, speed, (xway, direction, seg), lane, pos)
            else:
                self.requests[kind] += 1
        self.results["segment_stats"] = [
            (minute, *segment, each.reports, len(each.cars), each.speed_sum)
            for (minute, segment), each in sorted(self.minutes.items(), key=lambda item: item[0])
        ]
        return self

    def report(self, time: int, vid: int, speed: int, segment: Segment, lane: int, pos: int) -> None:
        if self.last.get(vid) != segment:
            self.results["new_segments"].append((time, vid, *segment))
        self.last[vid] = segment
        minute = self.minutes[minute_of(time), segment]
        minute.reports += 1
        minute.cars.add(vid)
        minute.speed_sum += speed
        car = self.cars.get(vid)
        if car is not None and car.left and lane != ENTRY_LANE:
            return
        if car is None or (lane == ENTRY_LANE and time - car.time > NEW_TRIP_AFTER):
            if car is not None and car.stands and car.place is not None:
                self.goes(time, car.place)
            car = self.cars[vid] = Car(time)
        self.notice_stop(car, time, segment, (*segment[:2], lane, pos))
        if car.segment != segment:
            if car.toll:
                self.results["toll_charges"].append((time, vid, car.toll))
            car.toll = 0 if lane == EXIT_LANE else self.assess(time, vid, segment)
        car.segment, car.time, car.left = segment, time, car.left or lane == EXIT_LANE

    def notice_stop(self, car: Car, time: int, segment: Segment, place: Place) -> None:
        """Counts reports from one place; two cars that stand there have had an accident."""
        if car.place == place:
            car.same += 1
        else:
            if car.stands and car.place is not None:
                self.goes(time, car.place)
            car.place, car.same, car.stands = place, 1, False
        if car.same == STOPPED_AFTER:
            car.stands = True
            self.standing[place] += 1
            if self.standing[place] == 2:
                self.open[place] = Crash(segment, time)
                self.crashes[segment[:2]].append(self.open[place])

    def goes(self, time: int, place: Place) -> None:
        self.standing[place] -= 1
        if self.standing[place] == 1:
            self.open.pop(place).clear = time

    def assess(self, time: int, vid: int, segment: Segment) -> int:
        """Tells a car that enters a segment its toll, and the nearest accident ahead."""
        now = minute_of(time)
        reports = speeds = 0
        for each in range(now - MINUTES, now):
            found = self.minutes.get((each, segment))
            if found is not None:
                reports, speeds = reports + found.reports, speeds + found.speed_sum
        lav = (2 * speeds + reports) // (2 * reports) if reports else 0
        before = self.minutes.get((now - 1, segment))
        cars = len(before.cars) if before is not None else 0
        toll = 2 * (cars - FREE_CARS) ** 2 if cars > FREE_CARS and lav < FREE_SPEED else 0
        xway, direction, seg = segment
        ahead = [
            (distance, crash)
            for crash in self.crashes[segment[:2]]
            if crash.announced(now)
            and 0 <= (distance := (crash.segment[2] - seg) * (1 if direction == 0 else -1)) <= AHEAD
        ]
        if ahead:
            toll = 0
            nearest = min(ahead, key=lambda each: each[0])[1]
            self.results["accident_alerts"].append((time, vid, xway, direction, nearest.segment[2]))
        self.results["tolls"].append((time, vid, lav, toll))
        return toll


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints a result of topology.toml.")
    parser.add_argument("result", choices=COLUMNS)
    parser.add_argument("path", type=Path, metavar="FILE")
    options = parser.parse_args()
    found = LinearRoad().run(read(options.path)).results[options.result]
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS[options.result], *found])


if __name__ == "__main__":
    main()
