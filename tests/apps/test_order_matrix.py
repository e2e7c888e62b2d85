"""Every app that claims an order gives the sequence of one worker under whatever schedule, threads, workers and reorder
window, with hand-overs delayed at random. A few runs by default; `-m slow` has the whole matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actorstream.errors import ConfigurationError
from actorstream.scheduling import SCHEDULES
from actorstream.testing import verify
from actorstream.verify.deployments import Deployment
from actorstream.verify.launches import FileTarget
from actorstream.verify.sinks import outputs

ROOT = Path(__file__).resolve().parents[2]
WINDOWS = [1024, 1, 2, 3, 4, 8, 16, 64, 256, 512]
POOLS = [{"schedule": name, "threads": threads} for name in SCHEDULES for threads in (0, 1, 2, 3)]


def claims_an_order(topology: Path) -> bool:
    """Whether some sink of it is compared as a sequence."""
    try:
        found, _, _ = outputs(FileTarget(topology).graph(Deployment(0, {})), memory=False)
    except ConfigurationError:  # a deployment, or an app that needs what is not installed
        return False
    return any(each.how == "sequence" for each in found)


# Written down, since reading every topology of apps/ takes each process of pytest half a second.
ORDERED = [
    "apps/call_fraud/topology.toml",
    "apps/linear_road/topology.toml",
    *(f"apps/spike_detection/{name}.toml" for name in ("batch", "nab", "native", "topology")),
    *(f"apps/tpcx_bb/{query}.toml" for query in ("q1", "q15", "q1_hourly", "q2", "q2_pairs", "q3", "q4")),
    "apps/word_count/running.toml",
    "apps/ysb/swa.toml",
]


def matrix(topology: str, runs: int, **options: Any) -> None:
    """Runs that soon have every pair of schedule, threads, workers, window and transport. The baseline has none of it."""
    verify(
        ROOT / topology,
        workers=options.pop("workers", range(1, 9)),
        runs=runs,
        vary={
            "deploy": [{"schedule": "none", "threads": 0}, *POOLS],
            "deploy.reorder_window": WINDOWS,
        },
        **options,
    )


def test_the_apps_that_claim_an_order_are_the_ones_written_down() -> None:
    topologies = sorted((ROOT / "apps").glob("*/*.toml"))
    assert [str(path.relative_to(ROOT)) for path in topologies if claims_an_order(path)] == ORDERED


@pytest.mark.parametrize("topology", ["apps/tpcx_bb/q2_pairs.toml", "apps/word_count/running.toml"])
def test_an_ordered_app_gives_the_sequence_of_one_worker(topology: str) -> None:
    matrix(topology, 2, workers=(3, 8), seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("topology", ORDERED)
def test_an_ordered_app_gives_the_sequence_of_one_worker_under_the_whole_matrix(
    topology: str, seed: int
) -> None:
    matrix(topology, 10, seed=seed)  # so many that a busy machine gets through them before a test is late
