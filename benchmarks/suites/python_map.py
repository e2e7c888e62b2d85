"""`python-map`: one Python call an event (or a batch), from columns to columns, within one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar

import numpy as np

from actorstream import Actor, Batch, Event
from benchmarks import environments, job
from benchmarks.dataflow import INTO, Actors, launch
from benchmarks.loops.python_map import Reading, columns
from benchmarks.repeat import Repeat
from benchmarks.suite import Case, Probe, Settings, Suite, probe


class Number(Event):
    """A single integer."""

    value: int


class Readings(Repeat):
    """The rows of the bare loops."""

    outputs: ClassVar = {"default": Reading}

    def make(self, shard: int, rows: int) -> list[dict[str, np.ndarray]]:
        return [columns(rows)]


class Numbers(Repeat):
    outputs: ClassVar = {"default": Number}

    def make(self, shard: int, rows: int) -> list[dict[str, np.ndarray]]:
        return [{"value": np.arange(rows)}]


class Return(Actor):
    def on_event(self, event: Reading) -> Reading:
        return Reading(event.sensor, event.time, event.value * 2.0)


class Yield(Actor):
    def on_event(self, event: Reading) -> Iterator[Reading]:
        yield Reading(event.sensor, event.time, event.value * 2.0)


class Same(Actor):
    def on_event(self, event: Reading) -> Reading:
        return event


class AddOne(Actor):
    def on_event(self, event: Number) -> Number:
        return Number(event.value + 1)


class Doubled(Actor):
    def on_batch(self, batch: Batch) -> Batch:
        return batch.with_columns(value=batch["value"] * 2.0)


def run(source: type[Repeat], operator: type[Actor], seconds: float) -> float:
    """Events a second on one core; the meter reads every column of the results."""
    here = "benchmarks.suites.python_map"
    actors: Actors = {
        "rows": {"type": f"{here}:{source.__name__}", "seconds": seconds},
        "map": {"type": f"{here}:{operator.__name__}", "inputs": ["rows"]},
        "meter": {"type": "benchmarks.meter:Meter", "inputs": ["map"], "into": INTO, "touch": True},
    }
    return launch("python-map", actors, transport="local", workers=1).rate()


def bare(style: str, seconds: float) -> float:
    return float(job.call("benchmarks.loops.python_map:loop", style=style, seconds=seconds))


def suite(settings: Settings) -> Suite:
    seconds = 0.7 if settings.quick else 1.5
    probes: list[Probe] = []
    for style, operator in (("return", Return), ("yield", Yield), ("same", Same)):
        ours: Callable[[], float] = partial(run, Readings, operator, seconds)
        probes.append(probe(f"event-3-fields-{style}", "events/s", ours, against=f"bare-loop-{style}"))
        probes.append(probe(f"bare-loop-{style}", "events/s", partial(bare, style, seconds)))
    against = "bytewax-1" if "bytewax" in settings.peers else None
    probes.append(probe("event-int", "events/s", partial(run, Numbers, AddOne, seconds), against=against))
    probes.append(probe("batch-numpy", "events/s", partial(run, Readings, Doubled, seconds)))
    return Suite("python-map", (*probes, *peers(settings)), notes=("one process, one thread",))


def peers(settings: Settings) -> list[Probe]:
    """A map that adds one to integers, in each peer's own plain way."""
    found = []
    if "bytewax" in settings.peers:
        rows = str(settings.scale(30_000_000, 10_000_000))
        found.append(
            probe("bytewax-1", "events/s", lambda: value("bytewax", "bytewax_map.py", rows), peer="bytewax")
        )
    if "flink" in settings.peers:
        rows = str(settings.scale(2_000_000, 500_000))
        measured = partial(value, "flink", "flink_map.py", rows)
        found.append(probe("flink-1", "events/s", measured, against="event-int", peer="flink"))
    if "spark" in settings.peers:
        rows = str(settings.scale(16_000_000, 4_000_000))

        def spark() -> tuple[float, float]:
            said = environments.run("spark", "spark_map.py", rows)
            return said["value"], said["arrow"]

        cases = (Case("spark-1", "events/s", "event-int"), Case("spark-arrow-1", "events/s", "event-int"))
        found.append(Probe(cases, spark, "spark"))
    return found


def value(name: str, program: str, *arguments: str) -> float:
    return float(environments.run(name, program, *arguments)["value"])
