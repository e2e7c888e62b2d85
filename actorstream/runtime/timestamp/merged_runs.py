"""Runs of rows of several sources as one sequence of batches: a ScaleGate (viper-scalegate section 3.3) and what its readers
make of the stretches that it gives. native/src/scalegate.c decides the order; no row is copied here.

A batch is a slice of one run where many of its rows follow each other. Else it is rows of several runs, whose columns are
put together when somebody asks for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.events.interleaved import Interleaving, cut, runs
from actorstream.native.scalegate import ScaleGate, Stretches
from actorstream.native.stretches import StretchBatches

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

RUNS = 64
"""Runs of each source that may be in the gate."""
MOST_STRETCHES = 1 << 16
LONG_RUN = 512
"""So many rows of one source that go before those of all others are a slice; fewer rows become a batch with others."""
LEAST_MERGED = 1024
"""The least number of rows that are merged at once, however few a jumbo tuple has."""

Found = list[tuple["Batch", int]]
"""Batches in order, each with a source whose input its rows are of."""


class MergedRuns:
    """What sources add, each in order, comes out in one order for every reader.

    Args:
        ranks: by source, of the input that it belongs to. readers: how many.
        schemas: of each rank, with the system columns that its rows keep.
        ties: int64 columns that tell tied rows of one rank apart.
        one_stream: whether rows of several inputs may become one batch.
        as_events: whether readers ask batches for events.
    """

    def __init__(
        self,
        ranks: Sequence[int],
        schemas: dict[int, Schema],
        *,
        readers: int = 1,
        batch_size: int = LEAST_MERGED,
        ties: int = 0,
        one_stream: bool = False,
        as_events: bool = False,
    ) -> None:
        self.ties, self.as_events = ties, as_events
        self.batch_size = max(batch_size, LEAST_MERGED)
        stretches = min(MOST_STRETCHES, 4 << (self.batch_size - 1).bit_length())
        self.gate = ScaleGate(ranks, readers, runs=RUNS, stretches=stretches, ties=ties)
        self._shared = readers > 1
        room = min(MOST_STRETCHES, max(self.batch_size // 4, 1 + len(ranks)))
        self._given = Stretches(room, self.batch_size)
        self._inputs = [0] * len(ranks) if one_stream else list(ranks)
        self._schemas = {kind: schemas[rank] for kind, rank in zip(reversed(self._inputs), reversed(ranks))}
        self._cuts = StretchBatches(self._given, len(ranks) * RUNS, len(ranks), LONG_RUN)
        self._runs: list[tuple[Batch, Sequence[np.ndarray]] | None] = [None] * (len(ranks) * RUNS)
        """By reference: the rows of a run, and the times and ties that the gate reads."""
        self._added = [0] * len(ranks)
        self._gone = [0] * len(ranks)
        self._made: dict[int, tuple[int, Found]] = {}
        """First stretch -> the stretch behind, and the batches that one reader has made of them. The other readers take them
        too, and they are kept until all have."""
        self.positions = [0] * readers
        """Stretches that each reader was given."""

    def inside(self, source: int) -> int:
        """Runs of a source that were added, and that some reader has not passed."""
        return self._added[source] - self._gone[source]

    def add(self, source: int, batch: Batch, times: np.ndarray, ties: Sequence[np.ndarray]) -> None:
        """Adds the next rows of a source, of which fewer than `RUNS` runs are inside: sorted by (time, ties)."""
        reference = source * RUNS + self._added[source] % RUNS
        self._runs[reference] = batch, (times, *ties)
        self._added[source] += 1
        added = self.gate.add(source, times, reference, ties)
        assert added, "there is room for the run"

    def passed(self, source: int) -> int:
        """How many runs of a source all readers have passed since the last call."""
        if self._added[source] == self._gone[source]:
            return 0
        before, now = self._gone[source], self.gate.acknowledged(source)
        for run in range(before, now):
            self._runs[source * RUNS + run % RUNS] = None
        self._gone[source] = now
        return now - before

    def waiting(self, source: int) -> list[Batch]:
        """As of the last look at the gate, the rows of a source that were added and are in no stretch."""
        first, skipped = self.gate.gone(source)
        runs = [self._runs[source * RUNS + run % RUNS] for run in range(first, self._added[source])]
        found = [run[0] for run in runs if run is not None]
        if skipped:
            found[0] = found[0].slice(skipped, found[0].rows - skipped)
        return found

    def read(self, reader: int) -> Found:
        """The next rows in order, about a batch of them; an empty list if none is ready."""
        gate, given, at = self.gate, self._given, self.positions[reader]
        if at in self._made:
            end, found = self._made[at]
            gate.give(reader, given, end - at)
        else:
            behind = [start - at for start in self._made if start > at] if self._made else ()
            gate.give(reader, given, min(behind, default=None))
            found = self._batches() if given.count else []
        end = self.positions[reader] = at + given.count
        if self._shared and found:
            self._made[at] = end, found
            least = min(self.positions)
            for start in [each for each in self._made if each < least]:
                del self._made[start]
        gate.acknowledge(reader)
        return found

    def _batches(self) -> Found:
        """Batches of the stretches that were given last."""
        found = Found()
        for rows, named, tags in self._cuts.divide():
            if tags is None:
                reference, first = named
                found.append((cut(self._run(reference), first, rows), reference // RUNS))
                continue
            references = named[::2]
            sources = [reference // RUNS for reference in references]
            parts = [(self._run(reference), row) for reference, row in zip(references, named[1::2])]
            inputs = [self._inputs[source] for source in sources]
            merged = runs(self._schemas, Interleaving(tags, parts), inputs, as_events=self.as_events)
            found += [(batch, sources[part]) for batch, part in merged]
        return found

    def _run(self, reference: int) -> Batch:
        run = self._runs[reference]
        assert run is not None, "a run stays until all readers have passed it"
        return run[0]
