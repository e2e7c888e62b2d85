"""What flows through the prediction of power. Times and slices are in seconds, loads in watts."""

from __future__ import annotations

from actorstream import Event


class Measurement(Event, event_time="ts", time_unit="s"):
    """What a plug measures: its load (property 1), or the work since it was reset (property 0)."""

    ts: int
    value: float
    property: int
    plug: int
    household: int
    house: int


class HouseLoad(Event):
    """The average of the load values of a house in a slice, and how many there are."""

    slice: int
    house: int
    avg: float
    count: int


class HouseholdLoad(Event):
    """The same of a household."""

    slice: int
    house: int
    household: int
    avg: float
    count: int


class PlugLoad(Event):
    """The same of a plug."""

    slice: int
    house: int
    household: int
    plug: int
    avg: float
    count: int


class Prediction(Event):
    """What is expected of a house in the slice after this one."""

    after_slice: int
    house: int
    prediction: float
