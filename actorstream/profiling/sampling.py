"""Runs a stage once in this process, to have samples of what it makes for the operators behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from actorstream.actors.contract import Contract
from actorstream.connectors.sink import Sink
from actorstream.launch.process import new_event_loop
from actorstream.metrics.counters import Counter
from actorstream.placement import place
from actorstream.plan.compile import make_job
from actorstream.plan.fuse import fusible
from actorstream.profiling.sample_source import Sample
from actorstream.profiling.stages import OUT, alone, outputs_of
from actorstream.runtime.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch
    from actorstream.profiling.stages import Stage
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph

LARGEST_BYTES = 256 << 20
"""Of a sample of one stream."""
MOST_MADE = 5
"""How many times the rows of a sample a source makes, at most, where few or none of them leave its chain."""
LOOK_S = 0.005


class Tap(Sink):
    """Keeps what it receives, until there is enough; counts all."""

    contract: ClassVar[Contract] = Contract(one_stream=True, destination="nowhere", uses_event_time=True)
    enough: Any = None
    """Called when there are `most` rows; set before the run."""
    most: int = 0

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.rows = self.kept = self.bytes = 0

    def on_batch(self, batch: Batch) -> None:
        self.rows += batch.rows
        if self.kept < self.most and self.bytes < LARGEST_BYTES:
            self.batches.append(batch.compact())
            self.kept += batch.rows
            self.bytes += batch.nbytes
        elif self.enough is not None:
            self.enough()


class Sampled(msgspec.Struct):
    """What a run of one stage has made: rows in, and of each output stream its rows and a sample of them."""

    rows: int
    made: dict[str, int]
    samples: dict[str, Sample]


def sample_stage(
    graph: Graph,
    stage: Stage,
    samples: Mapping[str, Sample],
    deploy: DeploySpec,
    changed: Mapping[str, Mapping[str, Any]],
    rows: int,
) -> Sampled:
    """One pass of a stage over its samples; of a source, until some `rows` rows are there, or it has made MOST_MADE times as
    many."""
    small = alone(graph, stage, samples, passes=1, changed=changed, sink=Tap)
    spec = msgspec.structs.replace(
        deploy,
        **{"transport": "local", "workers": 1, "schedule": "none", "threads": 0, "placement": "spread"},
        **{"checkpoint": None, "hosts": [], "testing": None},
    )
    job = make_job(small, place(small, spec, direct=fusible))
    is_source = small.actors[stage.head].role == "source"
    head = next(each.id for each in job.plan.replicas if each.actor == stage.head)

    async def run() -> Worker:
        worker = Worker(job, 0, None, None)
        Tap.most, Tap.enough = rows, staticmethod(worker.drain) if is_source else None
        limit = asyncio.create_task(limited(worker)) if is_source else None
        await worker.run()
        if limit is not None:
            limit.cancel()
        return worker

    async def limited(worker: Worker) -> None:
        while job.counters.value(head, Counter.EVENTS_OUT) < MOST_MADE * rows:
            await asyncio.sleep(LOOK_S)
        worker.drain()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        worker = runner.run(run())
    made, found = {}, {}
    for number, edge in enumerate(outputs_of(graph, stage)):
        tap: Any = worker.replicas(f"{OUT}{number}")[0].actor
        made[edge.source] = tap.rows
        found[edge.source] = Sample(graph.schema(edge), tap.batches)
    counter = Counter.EVENTS_OUT if is_source else Counter.EVENTS_IN
    return Sampled(job.counters.value(head, counter), made, found)
