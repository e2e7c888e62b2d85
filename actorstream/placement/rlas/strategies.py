"""The ways to make a plan, one row each: RLAS, RLAS that takes remote memory as always or never there, and those it is compared
with (briskstream-rlas section 6.4). Pure."""

from __future__ import annotations

import random
from collections.abc import Callable

from actorstream.placement.rlas.costs import Costs
from actorstream.placement.rlas.instance import Instance, instance_of
from actorstream.placement.rlas.machine_model import MachineModel
from actorstream.placement.rlas.options import PlanOptions
from actorstream.placement.rlas.packing import first_fit, random_places, random_replicas, round_robin
from actorstream.placement.rlas.scaling import PlacedGroups, Scaling

Strategy = Callable[[Costs, MachineModel, PlanOptions, list[int]], tuple[PlacedGroups, int, bool]]
"""Costs, machine, options and the replicas to start with -> the plan, nodes visited, whether all searches ended."""


def rlas(
    costs: Costs, machine: MachineModel, options: PlanOptions, start: list[int]
) -> tuple[PlacedGroups, int, bool]:
    scaling = Scaling(costs, machine, options)
    best = scaling.run(start)
    return best, scaling.steps, scaling.complete


def fix_l(
    costs: Costs, machine: MachineModel, options: PlanOptions, start: list[int]
) -> tuple[PlacedGroups, int, bool]:
    """RLAS_fix(L): every fetch costs as much as from the farthest socket, wherever the producer is."""
    worst = max(each for row in machine.latency_ns for each in row)
    return _fixed(costs, machine, options, start, worst)


def fix_u(
    costs: Costs, machine: MachineModel, options: PlanOptions, start: list[int]
) -> tuple[PlacedGroups, int, bool]:
    """RLAS_fix(U): no fetch costs anything."""
    return _fixed(costs, machine, options, start, 0.0)


def _fixed(
    costs: Costs, machine: MachineModel, options: PlanOptions, start: list[int], nanoseconds: float
) -> tuple[PlacedGroups, int, bool]:
    count = len(machine.sockets)
    scaling = Scaling(costs, machine, options, latency=[[nanoseconds] * count for _ in range(count)])
    found = scaling.run(start)
    return _real(found.instance.replicas, found.places, scaling), scaling.steps, scaling.complete


def _real(replicas: list[int], places: list[int], scaling: Scaling) -> PlacedGroups:
    """A placement on the machine as it is."""
    instance = instance_of(scaling.costs, scaling.machine, replicas, ingress=scaling.options.ingress)
    return PlacedGroups(instance, places, instance.problem.peak(places))


def _packing(pack: Callable[[Instance], list[int]]) -> Strategy:
    """First-fit or round-robin of the replicas that RLAS chooses (figure 13)."""

    def strategy(
        costs: Costs, machine: MachineModel, options: PlanOptions, start: list[int]
    ) -> tuple[PlacedGroups, int, bool]:
        scaling = Scaling(costs, machine, options)
        replicas = scaling.run(start).instance.replicas
        instance = instance_of(costs, machine, replicas, ingress=options.ingress)
        places = pack(instance)
        return PlacedGroups(instance, places, instance.problem.peak(places)), scaling.steps, scaling.complete

    return strategy


def random_plan(
    costs: Costs, machine: MachineModel, options: PlanOptions, start: list[int]
) -> tuple[PlacedGroups, int, bool]:
    """Replicas and sockets drawn from the seed (figure 14)."""
    draw = random.Random(options.seed)
    scalable, equals = [each.scalable for each in costs.dataflow.operators], costs.dataflow.equals()
    replicas = random_replicas(scalable, start, options.most_replicas or machine.cores, draw, equals)
    instance = instance_of(costs, machine, replicas, ingress=options.ingress)
    places = random_places(instance, draw)
    return PlacedGroups(instance, places, instance.problem.peak(places)), 0, True


STRATEGIES: dict[str, Strategy] = {
    "rlas": rlas,
    "fix-l": fix_l,
    "fix-u": fix_u,
    "first-fit": _packing(first_fit),
    "round-robin": _packing(round_robin),
    "random": random_plan,
}
