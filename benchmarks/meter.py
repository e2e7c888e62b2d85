"""The actors that benchmarks measure with: they note when and how much, and write it to a folder at the
end."""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic_ns, process_time_ns

from actorstream import Actor, Batch


class Meter(Actor):
    """Counts the rows that arrive, and when the first and last batch did.

    Args:
        into: the folder that the note is written to.
        touch: reads every column as NumPy or Arrow, so that none is left in another form.
        add: the int64 column whose sum is taken of every batch.
    """

    def __init__(self, into: Path, touch: bool = False, add: str = "") -> None:
        self.into, self.touch, self.add = into, touch, add
        self.batches = self.rows = self.first_rows = self.sum = 0
        self.started_ns = self.begun_ns = self.ended_ns = 0

    def on_start(self) -> None:
        self.started_ns = monotonic_ns()

    def on_batch(self, batch: Batch) -> None:
        if self.add:
            self.sum += int(batch[self.add].sum())
        elif self.touch:
            for name in batch.schema.names():
                batch[name]
        self.rows += len(batch)
        self.batches += 1
        self.ended_ns = monotonic_ns()
        if self.batches == 1:
            self.begun_ns, self.first_rows = self.ended_ns, self.rows

    def on_end(self) -> None:
        note(
            self,
            "meter",
            batches=self.batches,
            rows=self.rows,
            first_rows=self.first_rows,
            started_ns=self.started_ns,
            begun_ns=self.begun_ns,
            ended_ns=self.ended_ns,
        )


def note(actor: Actor, kind: str, **values: object) -> None:
    """Writes one note into the folder `actor.into`."""
    path = Path(actor.into) / f"{actor.name}-{actor.replica}-{kind}.json"  # type: ignore[attr-defined]
    path.write_text(json.dumps({"kind": kind, **values}))


class CpuMeter(Actor):
    """Notes the CPU time of its process between a row some time after the start and the last one.

    Args:
        skip: seconds after the first row that are not counted.
    """

    def __init__(self, into: Path, skip: float) -> None:
        self.into, self.skip_ns = into, round(skip * 1e9)
        self.first_ns = self.begun_ns = self.begun_cpu = self.ended_ns = self.ended_cpu = 0

    def on_batch(self, batch: Batch) -> None:
        self.ended_ns, self.ended_cpu = monotonic_ns(), process_time_ns()
        if not self.first_ns:
            self.first_ns = self.ended_ns
        if self.ended_ns < self.first_ns + self.skip_ns:
            self.begun_ns, self.begun_cpu = self.ended_ns, self.ended_cpu

    def on_end(self) -> None:
        note(
            self,
            "cpu",
            wall_ns=self.ended_ns - self.begun_ns,
            cpu_ns=self.ended_cpu - self.begun_cpu,
        )
