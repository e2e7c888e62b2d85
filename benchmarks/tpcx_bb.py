"""Runs of apps/tpcx_bb for the suite `tpcx-bb`: its queries with their generators as sources, by `actorstream launch`.
What their operators cost is tpcx_bb_stages.py's business.

A run lasts for a set time. The last stateful operator sends on what it has taken; how old that is when a sink gets it is
the latency.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import Any

import numpy as np

from actorstream import Actor, Batch
from apps.tpcx_bb.generate import DAY, Repeated, StoreSales, WebClickstreams
from benchmarks.dataflow import INTO, Actors, Ran, launch
from benchmarks.job import ROOT, JobError
from benchmarks.meter import note

APP = ROOT / "apps" / "tpcx_bb"
BATCH_SIZE, SMALL = 16_384, 2048
PARTITIONS = 100
"""Of a keyed operator in the paper's hybrid queue (section 7.2.1)."""
SOURCES = {"store_sales": "SalesForSeconds", "web_clickstreams": "ClicksForSeconds"}
OBSERVED = "observed"
"""Who looks at what comes out."""
WARM_UP = 0.2
"""The part of a run that does not count."""
SPAN = 4 * DAY
"""Of event time in a part of the generators."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query of the app.

    Attributes:
        file: its topology.
        last: the last stateful operator.
        seen: the output that says what it has taken; of Q4 what it is given.
        keyed: its partitioned operators, and the fields that rows of a sample are told apart by.
    """

    name: str
    file: str
    last: str
    seen: str
    keyed: Mapping[str, tuple[str, ...]]


QUERIES = {
    each.name: each
    for each in (
        Query(
            "q1",
            "q1",
            "leaders",
            "leaders.running",
            {"tickets": ("ss_ticket_number",), "pairs": ("ss_item_sk",)},
        ),
        Query(
            "q2",
            "q2_pairs",
            "leaders",
            "leaders.running",
            {"sessions": ("wcs_user_sk",), "pairs": ("wcs_item_sk",)},
        ),
        Query(
            "q3",
            "q3",
            "leaders",
            "leaders.running",
            {"last_viewed": ("wcs_user_sk",), "views": ("wcs_item_sk",)},
        ),
        Query("q4", "q4", "average", "abandoned", {"visits": ("wcs_user_sk",)}),
        Query("q15", "q15", "trends", "trends.running", {"trends": ("category",)}),
    )
}


class ForSeconds(Repeated):
    """The app's generator, for `seconds` from the first read on. Notes how many rows were read in the steady part of them:
    the first fifth, in which operators are compiled and queues fill, does not count."""

    def __init__(self, into: Path, seconds: float, rate: float | None = None) -> None:
        super().__init__(span=SPAN, rate=rate)
        self.into, self.seconds, self.ends = into, seconds, 0.0
        self.steady = (0.0, 0)

    def open(self, partitions: list[str]) -> None:
        """Makes the parts: they take longer than many a jumbo tuple, and are no work of the query."""
        super().open(partitions)
        self.made = [self.make(number, self.seed, self.span) for number in range(self.kept)]

    def read(self, max_rows: int) -> Batch | None:
        now = monotonic()
        self.ends = self.ends or now + self.seconds
        if now < self.ends - (1 - WARM_UP) * self.seconds:
            self.steady = now, self.next_row
        if now < self.ends:
            return super().read(max_rows)
        begun, rows = self.steady
        note(self, "read", rows=self.next_row - rows, seconds=now - begun)
        return None


class SalesForSeconds(ForSeconds, StoreSales):
    """Store sales."""


class ClicksForSeconds(ForSeconds, WebClickstreams):
    """Web clicks."""


class Ages(Actor):
    """How old rows are when they come: since the latest tuple that contributed to them entered. Of the steady part of the
    run: the first fifth of its batches, for which operators are compiled and tables built, do not count."""

    def __init__(self, into: Path) -> None:
        self.into = into
        self.ages: list[int] = []
        self.rows: list[int] = []

    def on_batch(self, batch: Batch) -> None:
        self.ages.append(monotonic_ns() - batch.entry_max)
        self.rows.append(batch.rows)

    def on_end(self) -> None:
        if not self.ages:
            raise ValueError("no row came: the run was too short")
        came = sum(self.rows)
        steady = slice(int(WARM_UP * len(self.ages)), None)
        ages, rows = np.array(self.ages)[steady] / 1e3, np.array(self.rows)[steady]
        order = np.argsort(ages)
        seen = np.cumsum(rows[order])
        p99 = ages[order][np.searchsorted(seen, 0.99 * seen[-1])]
        note(self, "ages", rows=came, mean=float(np.average(ages, weights=rows)), p99=float(p99))


def topology(query: Query, replicas: int, ordered: bool) -> Actors:
    """The query's actors with a generator as source.

    replicas: of each actor that has several in the file. Without `ordered` inputs ask for no order; with one replica of
    each actor it is that of the input all the same, since channels and pools keep it."""
    actors: dict[str, dict[str, Any]] = tomllib.loads((APP / f"{query.file}.toml").read_text())["actors"]
    for name, table in actors.items():
        if name in SOURCES:
            actors[name] = {"type": f"{__name__}:{SOURCES[name]}", "into": INTO}
            continue
        if "path" in table:
            table["path"] = str(APP / table["path"])
        if "replicas" in table:
            table["replicas"] = replicas
        if not ordered:
            table["inputs"] = [strip(each) for each in table.get("inputs", [])] or None
    made = {
        name: {key: value for key, value in table.items() if value is not None}
        for name, table in actors.items()
    }
    if "horizon" in made.get("tickets", {}):
        made["tickets"]["horizon"] = "1h"  # 200 tickets, whatever the rate
    made["result"] = {"type": "null-sink", "inputs": made["result"]["inputs"]}
    made[OBSERVED] = {"type": f"{__name__}:Ages", "inputs": [query.seen], "into": INTO}
    return made


def strip(given: Any) -> Any:
    return (
        {key: value for key, value in given.items() if key != "order"} if isinstance(given, dict) else given
    )


def run(
    name: str, seconds: float, *, replicas: int = 1, ordered: bool = False, rate: float = 0.0, **deploy: Any
) -> Ran:
    """A query for `seconds`; JobError if rows were lost on the way to the last operator."""
    query = QUERIES[name]
    actors = {key: dict(value) for key, value in topology(query, replicas, ordered).items()}
    source = next(each for each in actors if each in SOURCES)
    actors[source] |= {"seconds": seconds, **({"rate": rate} if rate else {})}
    settings = {"transport": "local", "workers": 1, "batch_size": BATCH_SIZE, **deploy}
    ran = launch(f"tpcx-bb-{name}", actors, **settings)
    last = query.last
    came, seen = ran.report["events_in"][last], ran.of("ages")["rows"]
    if came != seen:
        raise JobError(f"tpcx-bb {name}: {came} rows came to {last!r}, and {seen} were seen behind it")
    read = ran.of("read")
    ran.report["throughput_eps"] = (
        read["rows"] / read["seconds"]
    )  # that of the report is no steady one below 2 s
    return ran


def figures(ran: Ran) -> tuple[float, float, float]:
    """Source tuples a second; mean and p99 of the latency, µs."""
    ages = ran.of("ages")
    return ran.report["throughput_eps"], ages["mean"], ages["p99"]


# -- for the simulator
