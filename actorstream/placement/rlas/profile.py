"""What the operators of a topology cost, as `actorstream profile` measures it (briskstream-rlas section 3.1). Data only.

All times are nanoseconds on a core of `hertz` cycles per second; a plan for another clock scales them.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from actorstream.topology.graph import fingerprint

LARGEST = 1e15
"""Of any number in a profile: nanoseconds of eleven days."""
NotNegative = Annotated[float, Meta(ge=0, le=LARGEST, description="a number from 0 to 1e15")]
AtLeast1 = Annotated[float, Meta(ge=1, le=LARGEST, description="a number from 1 to 1e15")]
Above0 = Annotated[float, Meta(gt=0, le=LARGEST, description="a number above 0, at most 1e15")]
Rows = Annotated[int, Meta(ge=1, description="a whole number of at least 1")]


class Measured(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One operator alone on a core, fed with jumbo tuples of `rows` tuples."""

    rows: Rows
    execute_ns: dict[str, float]
    """T^e: nanoseconds per input tuple (of a source: per tuple that it makes), by percentile: p50 is required, others
    (p01 … p99, min, max, mean) describe the distribution."""
    memory_bytes: NotNegative = 0.0
    """M: bytes of memory traffic per input tuple."""


class OutputProfile(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One output stream of an operator."""

    selectivity: NotNegative
    """Tuples on this stream per input tuple, whichever input it is from."""
    bytes: NotNegative = 0.0
    """N: bytes of a tuple of this stream, which its consumers fetch."""
    route_ns: NotNegative = 0.0
    """Nanoseconds that a tuple of this stream takes more where its consumer has several replicas: one is chosen, and its rows are
    gathered."""
    by_input: dict[str, NotNegative] = {}
    """Selectivity for tuples of the named inputs (the producing "actor" or "actor.output"), where it differs."""


class OperatorProfile(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """An operator, or a native chain measured as one; `batches` in ascending order of rows."""

    batches: list[Measured]
    outputs: dict[str, OutputProfile] = {}
    """By output stream; what is not listed has the selectivity 0. Of a chain: the outputs of its last member."""
    members: list[str] = []
    """Actors of a chain, head first; it stands under its head's name with "+": "lines+split". Empty: a single actor."""
    memory: Annotated[str, Meta(description="text")] = "estimated"
    """Where M is from: "counters" or "estimated"."""
    in_run: NotNegative = 1.0
    """How many times as long as alone a tuple took in a run of the whole topology on one core; `batches` has it in it."""
    apart: NotNegative = 1.0
    """How many times as long as `batches` says a tuple takes in such a run where the operator has a core to itself: below 1 where
    others take the caches of a core that they share with it, above 1 where tuples from another core cost more than that."""
    hand_over_ns: NotNegative = 0.0
    """Nanoseconds, at least, that a tuple takes more there for its way from and to other workers, without T^f. 0: nothing is
    known, or it is little beside T^e."""
    halved_ns: NotNegative = 0.0
    """Nanoseconds that a tuple takes more in the jumbo tuples that each of several replicas gets: half as large as those that the
    profile is for."""
    beside_ns: NotNegative = 0.0
    """Nanoseconds that a tuple takes more where another replica of the operator takes turns on the same core: the tuples and the
    state of both share its caches."""

    def execute_ns(self, rows: float, percentile: str = "p50") -> float:
        """T^e at jumbo tuples of `rows` tuples: linear in 1/rows between the measured sizes, constant beyond them."""
        return self._at(rows, [each.execute_ns[percentile] for each in self.batches])

    def memory_bytes(self, rows: float) -> float:
        """M per input tuple at jumbo tuples of `rows` tuples."""
        return self._at(rows, [each.memory_bytes for each in self.batches])

    def _at(self, rows: float, values: list[float]) -> float:
        sizes = [each.rows for each in self.batches]
        if rows <= sizes[0]:
            return values[0]
        for number in range(1, len(sizes)):
            if rows <= sizes[number]:
                small, large = 1 / sizes[number], 1 / sizes[number - 1]
                share = (1 / rows - small) / (large - small)
                return values[number] + share * (values[number - 1] - values[number])
        return values[-1]

    def selectivity(self, output: str, source: str = "") -> float:
        """Tuples on `output` per tuple of the input that comes from `source`."""
        stream = self.outputs.get(output)
        return 0.0 if stream is None else stream.by_input.get(source, stream.selectivity)


class Profile(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The costs of a whole topology. `topology`: the fingerprint of its graph, 0 if it fits by names alone."""

    name: str
    topology: int = 0
    machine: str = ""
    """Name of the machine it was measured on."""
    hertz: Above0
    """Cycles per second of the core it was measured on."""
    jumbo_hop_ns: NotNegative = 0.0
    """Nanoseconds that a producer takes more for a jumbo tuple whose consumer is in another worker, whatever its size."""
    byte_hop_ns: NotNegative = 0.0
    """Nanoseconds more for each byte of it."""
    jumbo_take_ns: NotNegative = 0.0
    """Nanoseconds that a consumer takes more for a jumbo tuple whose producer is in another worker, besides fetching it."""
    contention: AtLeast1 = 1.0
    """How many times as long a tuple takes all operators while another core of the machine has the same work: the cores share the
    memory and, mostly, a cache."""
    operators: dict[str, OperatorProfile] = {}

    def hop_ns(self, size: float, rows: float) -> float:
        """Nanoseconds that a tuple of `size` bytes takes its producer more on the way to another worker, in jumbo tuples of
        `rows` tuples."""
        return self.jumbo_hop_ns / rows + self.byte_hop_ns * size

    def take_ns(self, rows: float) -> float:
        """Nanoseconds that a tuple takes its consumer more if it comes from another worker, in jumbo tuples of `rows` tuples."""
        return self.jumbo_take_ns / rows

    @property
    def fingerprint(self) -> int:
        """64 unsigned bits over all values."""
        return fingerprint(self)
