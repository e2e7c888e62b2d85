"""Event times that user code promises: any integer is one; anything else is an error that names the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.operators.filter import Filter
from actorstream.topology.builder import Topology
from tests.integration.parts import Number, Numbers


class Says(Numbers):
    """Promises in another type."""

    kind: Callable[[int], Any] = int

    def lower_bound(self, now_ns: int) -> Any:
        bound = super().lower_bound(now_ns)
        return bound if bound is None else type(self).kind(bound)


class Passes(Actor):
    """Promises what it hears in another type."""

    kind: ClassVar[Callable[[int], Any]] = int
    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_batch(self, batch: Batch) -> Batch:
        return batch

    def promise(self, frontier: int) -> Any:
        return type(self).kind(frontier)


class Hears(Passes):
    """Promises nothing of its own; what it hears is a Python int."""

    heard: ClassVar[set[type]] = set()

    def on_heartbeat(self, frontier: int) -> None:
        self.heard.add(type(frontier))

    def promise(self, frontier: int) -> int:
        return frontier


def run(source: type[Numbers], actor: type[Actor]) -> int:
    """The rows that come through. Behind both ends that promise are kernels, whose inputs keep promises among batches."""
    topology = Topology("promises")
    rows = topology.source(source, name="source", count=1000).through(
        Filter, name="first", where="value % 2 == 0"
    )
    rows = rows.through(actor, name="actor").through(Filter, name="second", where="value % 4 == 0")
    out = rows.through(Hears, name="hears").collect()
    topology.run(transport="local")
    return len(out)


def with_kind(cls: type, kind: Callable[[int], Any]) -> type:
    return type(cls.__name__, (cls,), {"kind": staticmethod(kind), "__module__": cls.__module__})


@pytest.mark.parametrize("kind", [int, np.int64, np.uint64, bool])
def test_any_integer_is_a_promise(kind: Callable[[int], Any]) -> None:
    Hears.heard.clear()
    assert run(with_kind(Says, kind), Passes) == 250
    assert run(Numbers, with_kind(Passes, kind)) == 250
    assert Hears.heard == {int}


@pytest.mark.parametrize(("kind", "shown"), [(float, r"[\d.e+]+"), (str, r"'\d+'"), (lambda _: None, "None")])
def test_anything_else_is_an_error_that_names_the_operator_and_the_value(
    kind: Callable[[int], Any], shown: str
) -> None:
    with pytest.raises(
        OperatorError, match=rf"operator 'actor' .*: promise returned {shown}, where an event time"
    ):
        run(Numbers, with_kind(Passes, kind))
    if kind in (float, str):  # None promises nothing new
        with pytest.raises(
            OperatorError, match=rf"operator 'source' .*: lower_bound returned {shown}, where"
        ):
            run(with_kind(Says, kind), Passes)


def test_a_promise_that_raises_is_an_error_of_its_operator() -> None:
    def no(_: int) -> int:
        raise ValueError("no promise")

    for source, actor, name in [
        (Numbers, with_kind(Passes, no), "actor"),
        (with_kind(Says, no), Passes, "source"),
    ]:
        with pytest.raises(OperatorError, match=f"operator '{name}' .*: ValueError: no promise"):
            run(source, actor)
