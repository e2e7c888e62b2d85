"""Power prediction as a sequential program, what depends on what in it, and how its state is divided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec
import numpy as np

from actorstream import Batch
from actorstream.dgs import Program, Tag, Tags, Tick, every, keyed
from apps.smart_home.events import HouseholdLoad, HouseLoad, Measurement, PlugLoad, Prediction

LOAD = 1
"""The property of a measurement of load."""


class Total(msgspec.Struct, array_like=True):
    """Some load values."""

    sum: float = 0.0
    count: int = 0

    def add(self, other: Total) -> None:
        self.sum += other.sum
        self.count += other.count

    @property
    def average(self) -> float:
        return self.sum / self.count if self.count else 0.0


def total(parts: Iterable[Total]) -> Total:
    """What they make together, added in their order: another one could differ in the last digit."""
    found = Total()
    for part in parts:
        found.add(part)
    return found


class House(msgspec.Struct):
    """What is known of a house."""

    slice: int
    """Number of the slice of its last load value."""
    plugs: dict[tuple[int, int], Total] = {}
    """(Household, plug) -> its load values in the slice that is not over."""
    history: dict[int, Total] = {}
    """Time of day -> all load values of the slices at that time, without the one that is not over."""


class SmartHome(Program):
    """At the end of a slice: the average loads in it by house, household and plug, and what is to be expected of each
    house in the slice that follows.

    Args:
        origin: where slice 0 begins, in seconds.
        slice: seconds of a slice.
        slices_per_day: slices that are so many apart are at one time of the day.
        houses: all houses there are; unless given, the input is read for them before the run.
    """

    class State(msgspec.Struct):
        houses: dict[int, House] = {}

    outputs: ClassVar = {
        "house": HouseLoad,
        "household": HouseholdLoad,
        "plug": PlugLoad,
        "predictions": Prediction,
    }

    def __init__(
        self, origin: int = 0, slice: int = 3600, slices_per_day: int = 24, houses: list[int] | None = None
    ) -> None:
        self.origin, self.slice, self.slices_per_day = origin, slice, slices_per_day
        self.tags = {
            "measurements": keyed("house", "house", keys=houses),
            "slice": every(f"{slice}s", offset=f"{origin % slice}s"),
        }

    # parallelisation
    def depends(self, one: Tag, other: Tag) -> bool:
        return one == other or "slice" in (one.name, other.name)

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        to_right = {number: house for number, house in state.houses.items() if Tag("house", number) in right}
        to_left = {number: house for number, house in state.houses.items() if number not in to_right}
        return self.State(to_left), self.State(to_right)

    def join(self, left: State, right: State) -> State:
        left.houses.update(right.houses)
        return left

    # sequential
    def update(self, state: State, event: Measurement | Tick, tag: Tag) -> None:
        if isinstance(event, Tick):
            self.end(state)
        elif event.property == LOAD:
            house = self._house(state, event.house, event.ts)
            plug = house.plugs.get((event.household, event.plug))
            if plug is None:
                plug = house.plugs[event.household, event.plug] = Total()
            plug.sum += event.value
            plug.count += 1

    def _house(self, state: State, number: int, ts: int) -> House:
        slice = (ts - self.origin) // self.slice
        house = state.houses.get(number)
        if house is None:
            house = state.houses[number] = House(slice)
        house.slice = slice
        return house

    def end(self, state: State) -> None:
        """The slice is over. Nothing comes out if it has no load values."""
        houses = sorted(state.houses.items())
        now: dict[int, Total] = {}
        for number, house in houses:
            if house.plugs:
                slice = house.slice
                now[number] = self._emit_loads(number, house)
                house.history.setdefault(slice % self.slices_per_day, Total()).add(now[number])
                house.plugs = {}
        if not now:
            return
        following = (slice + 1) % self.slices_per_day
        everywhere = total(now.values()).average
        past = total(house.history.get(following, Total()) for _, house in houses).average
        for number, house in houses:
            here = now.get(number, Total()).average
            history = house.history.get(following, Total()).average
            prediction = (everywhere + past + here + history) / 4
            self.emit(Prediction(slice, number, prediction), to="predictions")

    def _emit_loads(self, number: int, house: House) -> Total:
        """Puts out the averages of a house and what is in it; answers the total of the house."""
        households: dict[int, Total] = {}
        for (household, plug), found in sorted(house.plugs.items()):
            self.emit(PlugLoad(house.slice, number, household, plug, found.average, found.count), to="plug")
            households.setdefault(household, Total()).add(found)
        for household, found in households.items():
            self.emit(
                HouseholdLoad(house.slice, number, household, found.average, found.count), to="household"
            )
        whole = total(households.values())
        self.emit(HouseLoad(house.slice, number, whole.average, whole.count), to="house")
        return whole

    # the same, a batch at a time
    def update_batch(self, state: State, batch: Batch, tag: Tag) -> None:
        loads = batch.take(batch["property"] == LOAD)
        if not loads.rows:
            return
        house = self._house(state, int(tag.key or 0), int(loads["ts"][-1]))
        households, plugs = loads["household"], loads["plug"]
        order = np.lexsort((plugs, households))
        ordered = households[order], plugs[order]
        begins = np.concatenate(
            [[True], (ordered[0][1:] != ordered[0][:-1]) | (ordered[1][1:] != ordered[1][:-1])]
        )
        firsts = np.flatnonzero(begins)
        keys = list(zip(ordered[0][firsts].tolist(), ordered[1][firsts].tolist()))
        known = [house.plugs.get(key) or Total() for key in keys]
        sums = np.array([each.sum for each in known])
        np.add.at(sums, np.cumsum(begins) - 1, loads["value"][order])  # one after the other, as `update` does
        counts = np.diff(np.append(firsts, loads.rows))
        for key, each, sum, count in zip(keys, known, sums.tolist(), counts.tolist()):
            each.sum, each.count = sum, each.count + count
            house.plugs[key] = each
