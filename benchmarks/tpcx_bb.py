"""Runs of apps/tpcx_bb for the suite `tpcx-bb`: its queries with their generators as sources, by `actorstream launch`; and
what their operators cost, as stages for the simulator of a pool.

A run lasts for a set time. The last stateful operator sends on what it has taken; how old that is when a sink gets it is
the latency.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import Any

import numpy as np

from actorstream import Actor, Batch
from actorstream.scheduling.base import UNBOUNDED
from actorstream.scheduling.simulation import Stage
from apps.tpcx_bb.generate import DAY, Repeated, StoreSales, WebClickstreams, clicks, sales
from benchmarks.dataflow import INTO, Actors, Ran, launch
from benchmarks.job import ROOT, JobError
from benchmarks.meter import note

APP = ROOT / "apps" / "tpcx_bb"
BATCH_SIZE, SMALL = 16_384, 2048
PARTITIONS = 100
"""Of a keyed operator in the paper's hybrid queue (section 7.2.1)."""
STATELESS = ("filter", "map", "static-join", "apps.tpcx_bb.clicks:SessionPairs")
SOURCES = {"store_sales": "SalesForSeconds", "web_clickstreams": "ClicksForSeconds"}
LEAST_SHARE = 0.05
"""Of an operator's turns that threads of the pool have had: with less it is one that the pool leaves to the loop."""
LEAST_BLOCKED_S = 0.05
"""That a source has waited for credit where it is the credit that bounds the queue behind it, as long as that became."""
LEAST_COST_NS = 0.01
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


@dataclass(frozen=True, slots=True)
class Cost:
    """What one actor of a chain does for a row that reaches it: measured."""

    name: str
    kind: str
    """"source", "stateless", "keyed" or "stateful"."""
    row_ns: float
    turn_ns: float
    selectivity: float


def costs(name: str, large: Mapping[str, Any], small: Mapping[str, Any]) -> list[Cost]:
    """The costs of a query's actors, from the source to the last stateful one. The reports of two runs on one worker whose
    jumbo tuples differ in size (BATCH_SIZE, SMALL) tell what a row costs from what a jumbo tuple costs."""
    of_chain = chain(QUERIES[name])
    source, last = of_chain[0][0], of_chain[-1][0]
    rows = large["events_out"][source]
    found = []
    for actor, kind in of_chain:
        with_large, with_small = (
            own_time(report, actor) * 1e9 / report["events_out"][source] for report in (large, small)
        )
        turn = max((with_small - with_large) / (1 / SMALL - 1 / BATCH_SIZE), 0.0)
        turn = min(turn, 0.9 * with_large * BATCH_SIZE)
        came = rows if kind == "source" else large["events_in"][actor]
        out = came if actor == last else large["events_out"][actor]
        row = (with_large - turn / BATCH_SIZE) * rows / max(came, 1)
        found.append(Cost(actor, kind, row, turn, out / max(came, 1)))
    return found


def own_time(report: Mapping[str, Any], actor: str) -> float:
    """Seconds that all replicas of an actor have worked and sent."""
    return sum(each["execute_s"] + each["transfer_s"] for each in report["actors"][actor])


def chain(query: Query) -> list[tuple[str, str]]:
    """Actors from the source to the last stateful one, and their kinds. Tables are not among them."""
    actors = topology(query, 1, ordered=False)
    last = query.last
    found = [(last, "keyed" if last in query.keyed else "stateful")]
    while True:
        table = actors[found[-1][0]]
        if "inputs" not in table:
            found[-1] = (found[-1][0], "source")
            return found[::-1]
        given = table["inputs"][0]
        name = (given if isinstance(given, str) else given["from"]).split(".")[0]
        kind = (
            "keyed"
            if name in query.keyed
            else "stateless"
            if actors[name]["type"] in STATELESS
            else "stateful"
        )
        found.append((name, kind))


def stages(found: list[Cost], *, locked: bool, partitions: float, slower: Mapping[str, float]) -> list[Stage]:
    """A chain for the simulator; stateless neighbours are one stage, as in a pool.

    locked: what a jumbo tuple costs is spent holding the interpreter's lock, and the source is the event loop's, as it is
    in this engine; else, as in the paper's, tuples are there for nothing and no lock is shared. partitions: of keyed
    operators. slower: by how much they are slower than their rows' cost says, because partitions wait for the largest."""
    made: list[tuple[str, Stage]] = []
    for each in found if locked else found[1:]:
        turn = each.turn_ns if locked else 0.0
        row = each.row_ns * slower.get(each.name, 1.0) + (0.0 if locked else each.turn_ns / BATCH_SIZE)
        limit = {"stateless": UNBOUNDED, "keyed": partitions}.get(each.kind, 1)
        stage = Stage(
            each.name,
            row,
            each.selectivity,
            limit=limit,
            pooled=each.kind != "source",
            turn_ns=turn,
        )
        if made and each.kind == made[-1][0] == "stateless":
            before = made.pop()[1]
            stage = Stage(
                before.name,
                before.cost_ns + before.selectivity * row,
                before.selectivity * each.selectivity,
                turn_ns=before.turn_ns + turn,
            )
        made.append((each.kind, stage))
    return [stage for _, stage in made]


def pooled_stages(name: str, report: Mapping[str, Any]) -> list[Stage]:
    """A chain for the simulator as this engine has run it on the workers of a pool, up to who looks at the results: what is
    called directly is one operator; what a row costs is time in kernels, and Python with the interpreter's lock, without
    the waiting for others. `report`: of a run with one replica of everything, a schedule and a pool."""
    found: list[tuple[list[str], list[str]]] = []
    before = None
    actors = topology(QUERIES[name], 1, ordered=False)
    for actor, kind in [*chain(QUERIES[name]), (OBSERVED, "sink")]:
        (measured,) = report["actors"][actor]
        turns = measured["turns"], measured["cost_ns"]
        if turns == before:
            found[-1][0].append(actor)
            found[-1][1].append(kind)
        else:
            found.append(([actor], [kind]))
        before = turns
    blocks = report["actors"][found[0][0][0]][0]["wait_out_s"] >= LEAST_BLOCKED_S
    made: list[Stage] = []
    for names, kinds in found:
        (measured,) = report["actors"][names[0]]
        cost = max(measured["cost_ns"] - measured["waited_ns"], LEAST_COST_NS)
        kernel = 0.0 if is_python(actors[names[0]]["type"]) else min(measured["kernel_ns"], cost)
        stage = Stage(
            names[0],
            cost,
            measured["selectivity"],
            limit=UNBOUNDED if set(kinds) == {"stateless"} else 1,
            pooled=kinds[0] not in ("source", "sink")
            and measured["pool_turns"] >= LEAST_SHARE * measured["turns"],
            locked=1.0 - kernel / cost,
            queue=measured["worklist_max"] if blocks and len(made) == 1 else UNBOUNDED,
        )
        made.append(stage)
    return made


def is_python(kind: str) -> bool:
    """Whether an actor of that type has a hook for each event: it keeps the interpreter's lock, and what is counted as a
    kernel's is none. Hooks over batches leave the work to NumPy, which gives the lock up."""
    module, _, cls = kind.partition(":")
    return bool(cls) and hasattr(getattr(import_module(module), cls), "on_event")


def own_cost(stages: Sequence[Stage]) -> float:
    """What all stages together spend on a row of the source, ns."""
    rows, cost = 1.0, 0.0
    for stage in stages:
        cost += rows * stage.cost_ns
        rows *= stage.selectivity
    return cost


def contention(name: str, pooled: Mapping[str, Any], alone: Mapping[str, Any]) -> float:
    """How many times what operators cost one worker they cost each of two: for memory, caches, and for what is not called
    directly there. Reports of a run each."""
    of_chain = chain(QUERIES[name])
    one = sum(own_time(alone, actor) for actor, _ in of_chain) * 1e9 / alone["events_out"][of_chain[0][0]]
    return own_cost(pooled_stages(name, pooled)) / one


def between(name: str, report: Mapping[str, Any]) -> float:
    """What a worker spends between two turns, ns: what is missing from the turns of a run on one worker under a schedule,
    whose report this is."""
    worked = own_cost(pooled_stages(name, report))
    heads = {
        (rows["turns"], rows["cost_ns"])
        for actor in (*dict(chain(QUERIES[name])), OBSERVED)
        for rows in report["actors"][actor]
    }
    rows = report["events_out"][chain(QUERIES[name])[0][0]]
    turns = sum(turns for turns, _ in heads) / rows
    return max(1e9 / report["throughput_eps"] - worked, 0.0) / turns


def imbalance(name: str, workers: int) -> dict[str, float]:
    """Of each keyed operator: how many times the mean the largest of `workers` partitions is, by the rows of a sample of
    the source (of pairs: by one of their items)."""
    sample = {**sales(0, 1), **clicks(0, 1)}
    found = {}
    for operator, fields in QUERIES[name].keyed.items():
        if fields == ("category",):
            keys = np.asarray(sample["ss_item_sk"].fill_null(0)) % 10
        else:
            column = sample[fields[0]]
            keys = np.asarray(column.fill_null(0) if hasattr(column, "fill_null") else column)
        mixed = (keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
        shares = np.bincount((mixed % np.uint64(workers)).astype(np.int64), minlength=workers)
        found[operator] = float(shares.max() / shares.mean())
    return found
