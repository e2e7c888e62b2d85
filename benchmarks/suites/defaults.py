"""`defaults`: topologies as somebody types them, `actorstream launch FILE --workers 2`, beside the same with the deployment file
that was tuned for them."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.dataflow import launch_file
from benchmarks.job import ROOT
from benchmarks.suite import Probe, Settings, Suite, probe
from benchmarks.yahoo import EVENTS, STAR, START_SECONDS, SWA, YSB, Workload, native

WORKERS = 2
WORD_COUNT = ROOT / "apps" / "word_count"


def tuned(app: Path) -> dict[str, Any]:
    """The keys of the deployment file of an app, but for the number of workers and how they talk, which are the same for both."""
    keys = tomllib.loads((app / "deploy.toml").read_text())
    return {key: value for key, value in keys.items() if key not in ("workers", "transport")}


def events(workload: Workload, seconds: float, keys: dict[str, Any]) -> float:
    """Events a second of a topology of apps/ysb, whose generator goes on until the time is over."""
    return native(workload, WORKERS, seconds, **keys)


def lines(seconds: float, keys: dict[str, Any]) -> float:
    """Lines a second of apps/word_count/native.toml, which reads its book again and again until the time is over."""
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        sets = {"actors.lines.repeat": 0, "actors.counts.path": Path(folder) / "counts.csv"}
        topology = WORD_COUNT / "native.toml"
        ran = launch_file(topology, sets=sets, seconds=seconds + START_SECONDS, workers=WORKERS, **keys)
        return float(ran.report["throughput_eps"])


def suite(settings: Settings) -> Suite:
    seconds = 2.0 if settings.quick else 3.0
    probes: list[Probe] = []
    of_ysb = tuned(YSB.file.parent)
    for workload in (YSB, STAR, SWA):
        probes += _both(workload.name, EVENTS, partial(events, workload, seconds), of_ysb)
    probes += _both("word-count", "lines/s", partial(lines, seconds), tuned(WORD_COUNT))
    notes = (
        "NAME-defaults: no deployment file, --workers 2; NAME-tuned: the deploy.toml of the app, which fixes the batch size",
        "the source goes on until the time is over: count (apps/ysb) and repeat (apps/word_count) are set to that end",
    )
    return Suite("defaults", tuple(probes), notes)


def _both(
    name: str, unit: str, run: Callable[[dict[str, Any]], float], deploy: dict[str, Any]
) -> list[Probe]:
    """The tuned case, and that of the defaults beside it, compared round by round."""
    return [
        probe(f"{name}-tuned", unit, partial(run, deploy)),
        probe(f"{name}-defaults", unit, partial(run, {}), against=f"{name}-tuned", paired=True),
    ]
