"""outlier_detection on more cores than there are (DGS paper, appendix A.1), by `plan_simulation` with the costs that the
suite `dgs-studies` measured. Measures nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorstream.dgs import Tag
from apps.outlier_detection.program import OutlierDetection
from benchmarks.case_studies import STREAMS
from benchmarks.plan_simulation import Costs, Load, Simulation
from benchmarks.plots import lines
from benchmarks.suite import Curve

CONNECTIONS = 8_000
"""Of all streams, before the check."""
CORES = (1, 2, 4, 8)


def speedup(medians: Mapping[str, float]) -> dict[int, float]:
    """Cores -> how many times the rate of one, as in A.1: eight streams, one check at the end."""
    whole, state = 1e9 / medians["outliers-1"], medians["outliers-model"] * 1e3
    found = {}
    for cores in CORES:
        # a core's message is the models of its streams
        spent = Costs(0.0, whole, 2_000.0, state * STREAMS / cores, state / 2, state)
        program = OutlierDetection(streams=STREAMS)
        given = Load(
            program,
            lambda number: Tag("connection", number),
            (Tag("check"),),
            CONNECTIONS // max(2, cores),
        )
        found[cores] = Simulation(given, cores, spent, 1).run().rate
    return {cores: rate / found[1] for cores, rate in found.items()}


def summary(medians: Mapping[str, float]) -> Sequence[str]:
    """The simulated speed-up beside the measured one."""
    gained, measured = speedup(medians), medians["outliers-2"] / medians["outliers-1"]
    return [
        f"outliers, simulated: 2 workers {gained[2]:.2f}×, measured {measured:.2f}×; 8 workers {gained[8]:.1f}× "
        "(A.1: 7.3×)"
    ]


def pictures(medians: Mapping[str, float]) -> Mapping[str, str]:
    """Speed-up over cores."""
    points = tuple((float(cores), each) for cores, each in speedup(medians).items())
    curve = Curve("outlier_detection", "cores (simulated)", "speed-up", points)
    return {"dgs-outliers": lines("outlier_detection: speed-up", [curve])}
