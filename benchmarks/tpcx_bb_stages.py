"""What the operators of the TPCx-BB queries cost, by reports of their runs, as stages for the simulator of a pool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorstream.runtime.schedule.kernel_edge import AHEAD_NS
from actorstream.scheduling.base import UNBOUNDED
from apps.tpcx_bb.generate import clicks, sales
from benchmarks.tpcx_bb import BATCH_SIZE, OBSERVED, QUERIES, SMALL, Query, topology
from benchmarks.worker_simulation import Stage

STATELESS = ("filter", "map", "static-join", "apps.tpcx_bb.clicks:SessionPairs")
LEAST_BLOCKED_S = 0.05
"""That a source has waited for credit where it is the credit that bounds the queue behind it, as long as that became."""
LEAST_COST_NS = 0.01


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
    """A chain for the simulator as this engine has run it with threads, up to who looks at the results: what is called
    directly is one operator of the event loop, and the kernels that it leaves to threads are one behind it. `report`: of
    a run with one replica of everything, a schedule and threads."""
    found: list[tuple[list[str], list[str]]] = []
    before = None
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
        cost = max(measured["cost_ns"], LEAST_COST_NS)
        pooled = min(measured["pooled_ns"], cost)
        of_loop = max(cost - pooled, LEAST_COST_NS)
        stage = Stage(
            names[0],
            of_loop,
            1.0 if pooled else measured["selectivity"],
            limit=UNBOUNDED if set(kinds) == {"stateless"} else 1,
            pooled=False,
            queue=measured["worklist_max"]
            if blocks and len(found) > 1 and names is found[1][0]
            else UNBOUNDED,
        )
        made.append(stage)
        if pooled:
            made.append(
                kernels(names[0], pooled, measured["selectivity"], set(kinds) <= {"source", "stateless"})
            )
    return made


def kernels(name: str, cost_ns: float, selectivity: float, stateless: bool) -> Stage:
    """The kernels of what the event loop calls, which are any worker's: of an operator with a state one jumbo tuple at a
    time, from what the loop does before it, of others as many as the loop prepares ahead."""
    ahead = max(2, math.ceil(AHEAD_NS / (cost_ns * BATCH_SIZE))) * 2
    limit = UNBOUNDED if stateless else 1
    return Stage(
        f"{name} kernels", cost_ns, selectivity, limit=limit, queue=ahead * BATCH_SIZE if stateless else 1
    )


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
