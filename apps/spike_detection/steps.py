"""What the three speeds of each operator have in common: their keys, and the rows that come in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta

from actorstream import Actor, Contract, Schema
from actorstream.errors import Problem
from apps.spike_detection.events import Average, Signal, Spike, named_as_in

if TYPE_CHECKING:
    from pathlib import Path

    from actorstream import Event

Size = Annotated[int, Meta(ge=1, description="a whole number from 1")]
"""Of a window."""
NUMBERS = "biuf"
"""Kinds of NumPy's types that can be averaged."""


class Averaging(Actor):
    """The moving average of each mote's values, whose readings meet in one replica.

    Args:
        field: that has the value.
        window: how many values of a mote are averaged, fewer at its beginning.
    """

    mote_kinds: ClassVar = ""
    """Kinds of NumPy's types that a mote may have; "": any."""

    def __init__(self, field: str = "temperature", window: Size = 1000) -> None:
        self.field, self.window = field, window

    @classmethod
    def keyed_by(cls, keys: dict[str, Any], input: int) -> tuple[str, ...]:
        return ("mote_id",)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return {"default": named_as_in(inputs[0], Average)}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        given, field = inputs[0], keys.get("field", "temperature")
        numbers = [each.name for each in given.fields if each.plain and each.dtype.kind in NUMBERS]  # type: ignore[union-attr]
        problems = []
        if field not in numbers:
            problems.append(Problem("field", f"{field!r} is no field of numbers", ", ".join(numbers)))
        mote = given.field("mote_id")
        if cls.mote_kinds and (not mote.plain or mote.dtype.kind not in cls.mote_kinds):  # type: ignore[union-attr]
            hint = "use batch_operators:AverageBatch for any other"
            problems.append(Problem("type", f"mote_id is {mote.kind.value}", "whole numbers", hint))
        return problems

    @property
    def made(self) -> Schema:
        """Of the rows that come out."""
        (given,) = self.context.inputs.values()
        return named_as_in(given, Average)


class Detecting(Actor):
    """Readings whose value differs from the moving average by more than a share of it.

    Args:
        threshold: the share.
        signals: whether each reading comes out, with a field `spike` (the paper's selectivity of one); else spikes do.
    """

    contract = Contract(stateless=True)

    def __init__(self, threshold: float = 0.03, signals: bool = False) -> None:
        self.threshold, self.signals = threshold, signals

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return {"default": named_as_in(inputs[0], Signal if keys.get("signals") else Spike)}

    @property
    def made(self) -> Schema:
        """Of the rows that come out."""
        (given,) = self.context.inputs.values()
        return named_as_in(given, Signal if self.signals else Spike)
