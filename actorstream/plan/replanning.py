"""Compares what a run has measured with what its plan was made from, and looks for a better plan with the measured costs. Pure,
but for what is handed in.

Measured costs are wall time of hooks and sending. Where other programs take the cores, all of them are too high alike, which
changes no choice: so what another plan would gain is told by the model under the measured costs for both plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.plan.rlas_plan import execution_plan, fastest, operators_of, rates_of

if TYPE_CHECKING:
    from actorstream.placement.rlas import OperatorProfile, Profile
    from actorstream.plan.rlas_inputs import RlasInputs
    from actorstream.plan.rlas_plan import GraphOf
    from actorstream.topology.graph import Graph
    from actorstream.topology.plan import ExecutionPlan, PlanModel

NEARLY = 0.02
WORTH = 1.05
"""A plan is another one only if the model says that it gains more than this."""


class MeasuredCost(msgspec.Struct, frozen=True):
    """One actor: nanoseconds a row by the profile and as measured."""

    actor: str
    profiled_ns: float
    measured_ns: float


class PlanComparison(msgspec.Struct, frozen=True):
    """What a run says of its plan.

    Attributes:
        predicted, measured: tuples per second that all sources together make.
        costs: of the actors that had rows.
        now: the same of this plan by the model under the measured costs. best: of the plan that would be chosen.
        plan: that plan; this run's own if no other is worth it.
    """

    predicted: float
    measured: float
    costs: list[MeasuredCost]
    now: float
    best: float
    plan: ExecutionPlan
    is_other: bool

    @property
    def gain(self) -> float:
        """How many times as much the other plan would let in."""
        return self.best / self.now if self.now else 1.0


def compare(
    plan: ExecutionPlan, graph: Graph, report: Mapping[str, Any], inputs: RlasInputs, graph_of: GraphOf
) -> PlanComparison:
    """What the report of a run of `plan` says of it. `inputs`: what it was made from."""
    assert plan.model is not None
    slower = inputs.profile.contention if plan.deploy.workers > 1 else 1.0
    profile, costs = measured_profile(inputs.profile, graph, report["actors"], inputs.options.rows, slower)
    measured = msgspec.structs.replace(inputs, profile=profile)
    now = ingress_of(plan, graph, measured)
    chosen = fastest(graph_of, plan.deploy, measured)
    best = chosen.rates.ingress
    is_other = best > WORTH * now
    return PlanComparison(
        plan.model.ingress,
        report["throughput_eps"],
        costs,
        now,
        max(best, now),
        _of_files(execution_plan(chosen, measured, plan.deploy), plan.model) if is_other else plan,
        is_other,
    )


def _of_files(made: ExecutionPlan, before: PlanModel) -> ExecutionPlan:
    """The plan as one of the same profile. The measured costs are in no file, so that a run of it could not be compared: it
    begins from that profile and measures anew."""
    assert made.model is not None
    model = msgspec.structs.replace(made.model, profile=before.profile)
    return msgspec.structs.replace(made, model=model)


def measured_profile(
    profile: Profile,
    graph: Graph,
    actors: Mapping[str, Sequence[Mapping[str, Any]]],
    rows: float,
    slower: float = 1.0,
) -> tuple[Profile, list[MeasuredCost]]:
    """The profile with costs and selectivities as measured, where there are any; and the costs. `slower`: how many times as long
    as on a core alone rows took in that run, because other cores worked, too; the profile's costs are without that."""
    costs, scale = [], {}
    for name, replicas in actors.items():
        known = profile.operators.get(name)
        count = sum(each["in"] or each["out"] for each in replicas)
        spent = sum(each["execute_s"] + each["transfer_s"] for each in replicas)
        planned = known.execute_ns(rows) if known is not None else 0.0
        if count and spent and planned:
            costs.append(MeasuredCost(name, planned, spent * 1e9 / count))
            scale[name] = costs[-1].measured_ns / planned / slower
    found = {}
    for name, each in profile.operators.items():
        members = each.members or [name]
        weights = {
            actor: profile.operators[actor].execute_ns(rows)
            for actor in members
            if actor in profile.operators
        }
        total = sum(weights.values())
        factor = (
            sum(scale.get(actor, 1.0) * weight for actor, weight in weights.items()) / total if total else 1.0
        )
        found[name] = with_selectivities(
            _scaled(each, factor),
            measured_selectivities(graph, members[-1], members[0], actors),
            rows_made(graph, members[-1], members[0], actors),
        )
    return msgspec.structs.replace(profile, operators=found), costs


def measured_selectivities(
    graph: Graph, actor: str, head: str, actors: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, float]:
    """Rows on each output for a row into `head`, where a consumer has counted them: it reads nothing else, and gets each
    once."""
    if head not in actors:
        return {}
    entered = sum(each["in"] or each["out"] for each in actors[head])
    found: dict[str, float] = {}
    for edge in graph.consumers(actor):
        alone = len(graph.actors[edge.consumer].inputs) == 1 and edge.route != "broadcast"
        if alone and entered and edge.consumer in actors:
            found[edge.output] = sum(each["in"] for each in actors[edge.consumer]) / entered
    return found


def _scaled(profile: OperatorProfile, factor: float) -> OperatorProfile:
    changed = msgspec.structs.replace
    batches = [
        changed(
            each, execute_ns={percentile: value * factor for percentile, value in each.execute_ns.items()}
        )
        for each in profile.batches
    ]
    return changed(profile, batches=batches)


def rows_made(
    graph: Graph, actor: str, head: str, actors: Mapping[str, Sequence[Mapping[str, Any]]]
) -> float | None:
    """Rows on all outputs together for a row into `head`; None: there were none, or an output that may have rows has no consumer,
    so that they are counted and go nowhere."""
    if actor not in actors or head not in actors:
        return None
    made = graph.actors[actor]
    unread = set(made.outputs) - {edge.output for edge in graph.consumers(actor)}
    if made.on_error == "fail":
        unread.discard("dead")
    if not (made.contract.uses_event_time or made.contract.sorts):
        unread.discard("late")
    if unread:
        return None
    entered = sum(each["in"] or each["out"] for each in actors[head])
    return sum(each["out"] for each in actors[actor]) / entered if entered else None


def with_selectivities(
    profile: OperatorProfile, measured: Mapping[str, float], total: float | None = None
) -> OperatorProfile:
    """The profile with other selectivities of the outputs that were measured, and of the others what is left of `total`, in
    proportion. Differences below NEARLY are rows on their way.

    Where all outputs were measured they come to `total`. What consumers have counted may come to less, since rows still wait in
    a ring; or to more, since more rows waited before than wait now."""
    changed = msgspec.structs.replace
    others = {name: each.selectivity for name, each in profile.outputs.items() if name not in measured}
    taken = sum(measured.values())
    left = (total or 0.0) - taken
    if not others and total and taken:
        measured = {name: each * total / taken for name, each in measured.items()}
    elif left > 0 and any(others.values()):
        part = left / sum(others.values())
        measured = {**measured, **{name: each * part for name, each in others.items()}}
    outputs = {
        name: changed(each, selectivity=round(measured[name], 6), by_input={})
        if name in measured and not isclose(measured[name], each.selectivity, rel_tol=NEARLY)
        else each
        for name, each in profile.outputs.items()
    }
    return changed(profile, outputs=outputs)


def ingress_of(plan: ExecutionPlan, graph: Graph, inputs: RlasInputs) -> float:
    """How many tuples per second the model lets into a plan as it is, with replicas where they are."""
    socket_of = {socket.node: number for number, socket in enumerate(inputs.machine.sockets)}
    seats = inputs.seats or (plan.model.sockets if plan.model is not None else [])
    places = {
        (each.actor, each.index): seats[each.worker] if seats else socket_of.get(each.node, 0)
        for each in plan.replicas
    }
    workers = {(each.actor, each.index): each.worker for each in plan.replicas}
    dataflow = operators_of(graph, plan.deploy.pipelining, workers)
    return rates_of(dataflow, plan.counts(), workers, places, inputs, plan.deploy).ingress


def described(found: PlanComparison) -> list[str]:
    """The lines that `launch` prints."""
    lines = [
        f"plan: {found.measured:,.0f} tuples/s read, {found.predicted:,.0f} predicted "
        f"({found.measured / found.predicted:.2f})"
    ]
    most = sorted(found.costs, key=lambda each: -abs(each.measured_ns / each.profiled_ns - 1))[:3]
    if most:
        lines.append(
            "costs, measured against profiled, ns a row: "
            + ", ".join(f"{each.actor} {each.measured_ns:,.0f} / {each.profiled_ns:,.0f}" for each in most)
        )
    if not found.is_other:
        lines.append("with the measured costs the planner finds no plan that is worth a change")
        return lines
    counts = ", ".join(f"{actor} ×{count}" for actor, count in found.plan.counts().items())
    lines.append(
        f"with the measured costs the planner would choose another plan: {counts} on {found.plan.workers} workers, "
        f"{found.gain:.2f} times the throughput of this one by the model"
    )
    return lines


def as_json(found: PlanComparison) -> dict[str, Any]:
    """What the report has of it, under `model`."""
    return {
        "predicted_eps": round(found.predicted, 1),
        "measured_eps": round(found.measured, 1),
        "profiled_ns": {each.actor: round(each.profiled_ns, 3) for each in found.costs},
        "measured_ns": {each.actor: round(each.measured_ns, 3) for each in found.costs},
        "would_change": found.is_other,
        "gain": round(found.gain, 4) if found.is_other else 1.0,
    }
