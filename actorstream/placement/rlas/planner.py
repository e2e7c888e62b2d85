"""The planner: replicas and the socket of every replica, for a dataflow on a machine (briskstream-rlas section 4). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from actorstream.errors import ConfigurationError, Problem
from actorstream.placement.rlas.costs import costs_of
from actorstream.placement.rlas.dataflow import Dataflow
from actorstream.placement.rlas.machine_model import MachineModel
from actorstream.placement.rlas.options import PlanOptions
from actorstream.placement.rlas.prediction import Prediction, predicted
from actorstream.placement.rlas.profile import Profile
from actorstream.placement.rlas.scaling import PlacedGroups
from actorstream.placement.rlas.socket_plan import PlacedReplica, SocketPlan
from actorstream.placement.rlas.strategies import STRATEGIES
from actorstream.topology.suggestions import did_you_mean, listed

MORE = 1.03
"""Only for so many times as many tuples a later dataflow is taken: what it costs to hand rows over to another core of the same
socket is no part of a plan on sockets."""


def plan(
    dataflow: Dataflow, machine: MachineModel, profile: Profile, options: PlanOptions | None = None
) -> SocketPlan:
    """How many replicas each operator gets, the socket of each, and what rates the model predicts.

    The same input gives the same plan: the search is bounded by steps, never by time.

    Raises:
        ConfigurationError: the profile lacks an operator, a name is unknown, or no plan sustains the offered ingress; it
            says which constraint is in the way, by how much, and what would fit."""
    return fastest_plan([dataflow], machine, profile, options or PlanOptions())[1]


def fastest_plan(
    dataflows: Sequence[Dataflow], machine: MachineModel, profile: Profile, options: PlanOptions
) -> tuple[Dataflow, SocketPlan]:
    """The plan that lets in most tuples, of one for each of some dataflows of a graph, and its dataflow. An earlier one is taken
    if it lets in nearly as many.

    ConfigurationError: as `plan`."""
    plans = [search(each, machine, profile, options) for each in dataflows]
    most = max(each.ingress for each in plans)
    # A plan that takes less than what is offered is not as good as one that takes all of it.
    least = max(most / MORE, min(most, options.ingress)) * (1 - 1e-9)
    dataflow, found = next(each for each in zip(dataflows, plans) if each[1].ingress >= least)
    if options.ingress and options.strategy == "rlas":
        check_ingress(dataflow, options.ingress, found.ingress, found.limit)
    return dataflow, found


def search(dataflow: Dataflow, machine: MachineModel, profile: Profile, options: PlanOptions) -> SocketPlan:
    """As `plan`, but returns the best plan that there is even if it does not sustain the offered ingress."""
    _check_names(dataflow, options)
    costs = costs_of(dataflow, profile, rows=options.rows, percentile=options.percentile)
    start = start_of(dataflow, options)
    placed, steps, complete = STRATEGIES[options.strategy](costs, machine, options, start)
    found = predicted(placed.instance, placed.places)
    return socket_plan(dataflow, machine, profile, options.strategy, placed, found, steps, complete)


def start_of(dataflow: Dataflow, options: PlanOptions) -> list[int]:
    """Replicas of each operator to start with: those that are fixed, else those to start from, else the dataflow's."""
    found = []
    for each, equal in zip(dataflow.operators, dataflow.equals()):
        names = [name for number in equal for name in dataflow.operators[number].members]
        given = [
            counts[name]
            for counts in (options.replicas, options.start if each.scalable else {})
            for name in names
            if name in counts
        ]
        found.append(given[0] if given else each.replicas)
    return found


def socket_plan(
    dataflow: Dataflow,
    machine: MachineModel,
    profile: Profile,
    strategy: str,
    placed: PlacedGroups,
    found: Prediction,
    steps: int = 0,
    complete: bool = True,
) -> SocketPlan:
    """A placement as a plan, actor by actor."""
    replicas = []
    for number, operator in enumerate(dataflow.operators):
        mine = [
            (g.first, place)
            for g, place in zip(placed.instance.groups, placed.places)
            if g.operator == number
        ]
        replicas += [
            PlacedReplica(actor=actor, index=index, socket=place)
            for actor in operator.members
            for index, place in mine
        ]
    return SocketPlan(
        name=dataflow.name,
        topology=dataflow.topology,
        machine=machine.name,
        machine_fingerprint=machine.fingerprint,
        profile_fingerprint=profile.fingerprint,
        strategy=strategy,
        replicas=replicas,
        rates=found.rates,
        sockets=found.sockets,
        ingress=found.ingress,
        throughput=found.throughput,
        bottleneck=found.bottleneck,
        limit=found.limit,
        steps=steps,
        complete=complete,
    )


def _check_names(dataflow: Dataflow, options: PlanOptions) -> None:
    problems = []
    if options.strategy not in STRATEGIES:
        hint = did_you_mean(options.strategy, STRATEGIES)
        problems.append(Problem("strategy", f"is {options.strategy!r}", listed(STRATEGIES), hint))
    actors = [name for each in dataflow.operators for name in each.members]
    for key, counts in (("replicas", options.replicas), ("start", options.start)):
        for name, count in counts.items():
            if name not in actors:
                hint = did_you_mean(name, actors)
                problems.append(Problem(f"{key}.{name}", "is no actor", listed(actors), hint))
            elif count < 1:
                problems.append(Problem(f"{key}.{name}", f"is {count}", "at least 1"))
    if problems:
        raise ConfigurationError(problems)


def check_ingress(dataflow: Dataflow, offered: float, sustained: float, limit: str) -> None:
    """ConfigurationError: the best plan of a dataflow does not sustain what its sources are offered. `limit`: why, in words."""
    if sustained >= offered * (1 - 1e-9):
        return
    message = f"{offered:,.0f} tuples/s fit no plan that was found: {limit}; it needs {offered / sustained:.2f} times as much"
    fixed = [each.name for each in dataflow.operators if not each.scalable]
    hint = f'fixed numbers of replicas: {listed(fixed)}; "auto" lets the planner choose' if fixed else ""
    raise ConfigurationError(Problem("ingress", message, f"at most {sustained:,.0f} tuples/s", hint))
