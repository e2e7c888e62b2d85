"""Event hooks of every shape give the same rows, whatever the sizes of the batches that come and of what they answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.source import Source
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.topology.builder import Topology


class Rec(Event):
    n: int


class Sized(Source):
    """0, 1, 2, ... in batches of the given sizes."""

    outputs: ClassVar[dict[str, Any]] = {"default": Rec}

    def __init__(self, sizes: list[int]) -> None:
        self.sizes, self.first = list(sizes), 0

    def read(self, max_rows: int) -> Batch | None:
        if not self.sizes:
            return None
        first, self.first = self.first, self.first + self.sizes.pop(0)
        return Batch.of_columns(Rec, {"n": np.arange(first, self.first)})


class Picky(Actor):
    """Answers rows whose number is among `wanted`; raises at those among `wrong`."""

    def __init__(self, wanted: list[int], wrong: list[int]) -> None:
        self.wanted, self.wrong = frozenset(wanted), frozenset(wrong)

    def wants(self, event: Rec) -> bool:
        if event.n in self.wrong:
            raise ValueError(f"{event.n} is wrong")
        return event.n in self.wanted


class Yields(Picky):
    def on_event(self, event: Rec) -> Iterator[Rec]:
        if self.wants(event):
            yield event


class Returns(Picky):
    def on_event(self, event: Rec) -> Rec | None:
        return event if self.wants(event) else None


class Lists(Picky):
    def on_event(self, event: Rec) -> list[Rec]:
        return [event] if self.wants(event) else []


class Emits(Picky):
    outputs: ClassVar[dict[str, Any]] = {"default": Rec}

    def on_event(self, event: Rec) -> None:
        if self.wants(event):
            self.emit(event)


class Mixes(Picky):
    """Yields, and emits a batch now and then."""

    def on_event(self, event: Rec) -> Iterator[Rec]:
        if self.wants(event):
            if event.n % 3:
                yield event
            else:
                self.emit(Batch.of_events(Rec, [event]))


class Unannotated(Picky):
    outputs: ClassVar[dict[str, Any]] = {"default": Rec}

    def on_event(self, event: Rec):  # type: ignore[no-untyped-def]
        return [event] if self.wants(event) else None


class Awaits(Picky):
    async def on_event(self, event: Rec) -> Rec | None:
        return event if self.wants(event) else None


class Whole(Actor):
    def on_batch(self, batch: Batch) -> Batch:
        return batch


SHAPES = [Yields, Returns, Lists, Emits, Mixes, Unannotated, Awaits]


def rows_of(
    shape: type[Picky], sizes: list[int], wanted: list[int], wrong: list[int], before: str
) -> list[int]:
    topology = Topology("test")
    stream = topology.source(Sized, sizes=sizes)
    if before == "filter":
        stream = stream.through("filter", where="n >= 0")
    elif before == "batch":
        stream = stream.through(Whole)
    out = stream.through(shape, wanted=wanted, wrong=wrong, on_error="skip").collect()
    topology.run()
    return [row.n for row in out]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_by_itself_after_a_batch_that_gave_nothing_is_not_lost(shape: type[Picky]) -> None:
    assert rows_of(shape, [2, 1], [2], [], "") == [2]


@pytest.mark.parametrize("seed", range(24))
def test_what_an_event_hook_gives_does_not_depend_on_the_sizes_of_batches(seed: int) -> None:
    drawn = random.Random(seed)
    shape = SHAPES[seed % len(SHAPES)]
    sizes = [drawn.choice([1, 1, 2, 3, 17, 300]) for _ in range(12)]
    total = sum(sizes)
    density = drawn.choice([0, 0.02, 0.5, 1])
    wanted = [row for row in range(total) if drawn.random() < density] + [total - 1]
    wrong = [row for row in wanted[:-1] if drawn.random() < 0.1]
    expected = sorted({*wanted} - {*wrong})
    assert rows_of(shape, sizes, wanted, wrong, drawn.choice(["", "filter", "batch"])) == expected


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Raises(Actor):
    def __init__(self, long: bool) -> None:
        self.long = long

    def on_event(self, event: Rec) -> Rec:
        raise ValueError("x" * 200_000) if self.long else Unspeakable()


@pytest.mark.parametrize(
    ("long", "said"),
    [(True, r"ValueError: x{500,600} \.\.\. \(200"), (False, "Unspeakable .its text cannot be shown")],
)
def test_an_error_is_told_of_the_hook_that_raised_it_whatever_its_text_is(long: bool, said: str) -> None:
    topology = Topology("test")
    topology.source(Sized, sizes=[3]).through(Raises, name="guilty", long=long).into("null-sink")
    with pytest.raises(OperatorError, match=rf"operator 'guilty' \(replica 0\) failed: {said}") as caught:
        topology.run()
    assert len(str(caught.value)) < 8000

    topology = Topology("test")
    stream = topology.source(Sized, sizes=[3]).through(
        Raises, name="guilty", long=long, on_error="dead-letter"
    )
    stream.into("null-sink")
    dead = stream.dead.collect()
    topology.run()
    assert [letter.operator for letter in dead] == ["guilty"] * 3
