"""Branch and bound against exhaustive search and against a solver for mixed-integer programs."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from actorstream.placement.rlas.costs import costs_of
from actorstream.placement.rlas.instance import Instance, instance_of
from actorstream.placement.rlas.options import PlanOptions
from actorstream.placement.rlas.scaling import Scaling

from .small import dataflow, machine, operator, profile, random_costs


def exhaustive(instance: Instance) -> float:
    places = itertools.product(range(instance.sockets), repeat=len(instance.groups))
    return min(instance.problem.peak(each) for each in places)


def cases(count: int) -> list[Instance]:
    draw = random.Random(19)
    found = []
    for _ in range(count):
        costs, replicas = random_costs(draw)
        model = machine(
            3, draw.choice([1, 2]), far=draw.choice([50, 300, 900]), bandwidth=draw.choice([1e12, 2e8])
        )
        found.append(instance_of(costs, model, replicas))
    return found


def test_without_heuristics_the_search_finds_the_best_of_all_placements() -> None:
    for instance in cases(40):
        places, peak, _, ended = instance.problem.search(10_000_000, heuristics=False)
        assert ended
        assert places is not None
        assert instance.problem.peak(places) == pytest.approx(peak)
        assert peak == pytest.approx(exhaustive(instance), rel=1e-9)


def test_with_heuristics_a_placement_is_within_five_per_cent_of_the_best() -> None:
    for instance in cases(40):
        scaling = Scaling(instance.costs, instance.machine, PlanOptions(compression=1, steps=20_000))
        assert scaling.place(instance.replicas).peak <= exhaustive(instance) * 1.05


def test_a_solver_for_mixed_integer_programs_finds_no_better_placement() -> None:
    for instance in cases(6):
        _, peak, _, _ = instance.problem.search(10_000_000, heuristics=False)
        assert peak == pytest.approx(solved(instance), rel=1e-5)


def test_a_search_ends_at_its_limit_of_steps_with_the_best_so_far() -> None:
    instance = cases(1)[0]
    places, peak, used, ended = instance.problem.search(len(instance.groups) + 1, heuristics=False)
    assert (used, ended) == (len(instance.groups) + 1, False)
    assert places is not None
    assert instance.problem.peak(places) == peak


def test_no_placement_is_found_within_too_few_steps_and_a_known_one_is_kept() -> None:
    instance = cases(1)[0]
    assert instance.problem.search(2)[0] is None
    known = [0] * len(instance.groups)
    assert instance.problem.search(2, best=known)[:2] == (known, instance.problem.peak(known))


def test_moves_never_make_a_placement_worse() -> None:
    draw = random.Random(3)
    for instance in cases(20):
        places = [draw.randrange(3) for _ in instance.groups]
        better, peak = instance.problem.improved(places, 500)
        assert peak == instance.problem.peak(better) <= instance.problem.peak(places)
        assert instance.problem.improved(places, 500) == (better, peak)


def test_the_peak_of_hundreds_of_replicas_is_that_of_their_sockets() -> None:
    costs = costs_of(dataflow("a"), profile(a=operator(500)))
    problem = instance_of(costs, machine(2, 400), [800]).problem
    assert problem.peak([0, 1] * 400) == pytest.approx(500e-9 / 800)
    assert problem.peak([1] * 800) == pytest.approx(2 * 500e-9 / 800)


def test_more_replicas_than_the_stack_has_room_for_are_placed_together() -> None:
    costs = costs_of(dataflow("a"), profile(a=operator(500)))
    scaling = Scaling(costs, machine(2, 4000), PlanOptions(compression=1, steps=1, heuristics=False))
    found = scaling.place([8000])
    assert sorted(found.places) == [0] * 4000 + [1] * 4000


def test_collocation_is_chosen_where_the_producer_s_socket_has_room() -> None:
    costs = costs_of(dataflow("a>b", "b>c"), profile(a=operator(500), b=operator(500), c=operator(500)))
    places, _, _, _ = instance_of(costs, machine(4, 3), [1, 1, 1]).problem.search(1000)
    assert places is not None
    assert len(set(places)) == 1


def test_places_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="allowed: 6, each 0 to 2"):
        cases(1)[0].problem.peak([3] * 6)


def solved(instance: Instance) -> float:
    """The least peak by HiGHS: groups on sockets as binaries, and a product of two of them for each link."""
    highs: Any = pytest.importorskip("highspy")
    model = highs.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("mip_rel_gap", 1e-9)
    sockets, groups = range(instance.sockets), range(len(instance.groups))
    scale = 1e9  # nanoseconds and bytes per nanosecond keep the numbers near 1
    on = {(g, s): model.addBinary() for g in groups for s in sockets}
    peak = model.addVariable(lb=0)
    for g in groups:
        model.addConstr(sum(on[g, s] for s in sockets) == 1)
    both = {}
    for c in groups:
        for link in instance.entering[c]:
            for i in sockets:
                for j in sockets:
                    both[link.group, i, c, j] = model.addVariable(lb=0, ub=1)
                model.addConstr(sum(both[link.group, i, c, j] for j in sockets) == on[link.group, i])
            for j in sockets:
                model.addConstr(sum(both[link.group, i, c, j] for i in sockets) == on[c, j])
    cpu: dict[int, list[Any]] = {s: [] for s in sockets}
    channels: dict[tuple[int, int], list[Any]] = {}
    for c in groups:
        mine = [on[c, s] * (instance.execute[c][s] * scale) for s in sockets]
        for s, term in zip(sockets, mine):
            cpu[s].append(term)
        for link in instance.entering[c]:
            for i in sockets:
                for j in sockets:
                    variable = both[link.group, i, c, j]
                    if i != j:
                        term = variable * (link.lines * instance.latency[j][i] * scale)
                        mine.append(term)
                        cpu[j].append(term)
                        channels.setdefault((i, j), []).append(variable * (link.bytes * scale))
        model.addConstr(sum(mine) <= peak * instance.divisor[c])
    for s in sockets:
        model.addConstr(sum(cpu[s]) <= peak * float(instance.machine.sockets[s].cores))
        traffic = sum(on[g, s] * (instance.memory[g] * scale) for g in groups)
        model.addConstr(traffic * (1 / instance.machine.bandwidth[s][s]) <= peak)
    for (i, j), terms in channels.items():
        model.addConstr(sum(terms) * (1 / instance.machine.bandwidth[i][j]) <= peak)
    model.minimize(peak)
    return float(model.getInfo().objective_function_value) / scale
