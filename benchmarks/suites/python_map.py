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


INTEGERS = 16_384
"""Events of a jumbo tuple of integers. What a jumbo tuple of 4,096 costs besides them is 8 % of what they cost; a batch of
bytewax, whose size changes nothing there, has 4,096."""


def run(
    source: type[Repeat], operator: type[Actor], seconds: float, *, workers: int = 1, batch_size: int = 4096
) -> float:
    """Events a second, on one core for each worker; the meter reads every column of the results."""
    here = "benchmarks.suites.python_map"
    actors: Actors = {
        "rows": {"type": f"{here}:{source.__name__}", "seconds": seconds, "shards": workers},
        "map": {"type": f"{here}:{operator.__name__}", "inputs": ["rows"]},
        "meter": {"type": "benchmarks.meter:Meter", "inputs": ["map"], "into": INTO, "touch": True},
    }
    actors = {name: {**table, "replicas": workers} for name, table in actors.items()}
    transport = "local" if workers == 1 else "shm"
    return launch("python-map", actors, transport=transport, workers=workers, batch_size=batch_size).rate()


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
    integers = partial(run, Numbers, AddOne, seconds, batch_size=INTEGERS)
    probes.append(probe("event-int", "events/s", integers, against=against))
    if "spark" in settings.peers:
        probes.append(probe("event-int-2", "events/s", partial(integers, workers=2), against="event-int"))
    probes.append(probe("batch-numpy", "events/s", partial(run, Readings, Doubled, seconds)))
    notes = (
        "one process and one thread; event-int-2 and spark-2 on two cores, spark-1 (JVM and Python) bound to one",
        f"event-int: jumbo tuples of {INTEGERS:,} events",
    )
    return Suite("python-map", (*probes, *peers(settings)), notes=notes)


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

        for cores, ours in ((1, "event-int"), (2, "event-int-2")):
            cases = tuple(Case(f"{kind}-{cores}", "events/s", ours) for kind in ("spark", "spark-arrow"))
            found.append(Probe(cases, partial(spark, rows, cores), "spark"))
    return found


def spark(rows: str, cores: int) -> tuple[float, float]:
    said = environments.run("spark", "spark_map.py", rows, str(cores))
    return said["value"], said["arrow"]


def value(name: str, program: str, *arguments: str) -> float:
    return float(environments.run(name, program, *arguments)["value"])
