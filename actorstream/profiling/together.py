"""What operators take in a run of their whole topology on one core, where they share its caches and keep the state that the
stream gives them. Pure.

An operator that is fed with a sample again and again has the core to itself, and its state does not grow. So the costs of a
profile are those of operators alone, raised or lowered to what such a run takes in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from actorstream.placement.rlas import Measured, OperatorProfile
from actorstream.placement.rlas.costs import UNROUTED
from actorstream.profiling.chunks import Look, warm_look

if TYPE_CHECKING:
    from actorstream.topology.graph import Edge, Graph


COPY = "copy."
"""Before the names of the actors of a graph's copy, which runs beside it."""
NEARLY = 0.05
"""Part of its cost by which an operator must differ between two runs before the difference counts."""


WAITS = 0.05, 0.15
"""Parts of its processor time for which an operator on a core of its own waits for its neighbours. Up to the first its hand-overs
count whole, from the second on not at all: it spins and is woken, and gathers rows while rings are full, so that its processor
time says little about them. In between they count in proportion, so that a little more waiting changes them little."""


WITHIN = 0.01
"""Part of its time that an actor takes to send, below which it sends within its hooks."""


class ActorWork(msgspec.Struct, frozen=True):
    """Counts of one actor in a run.

    Attributes:
        rows_in, rows_out: rows that it took and sent.
        hooks_ns: nanoseconds that its hooks and its sending took.
        execute_ns: the part of these that its hooks took.
        waits_ns: nanoseconds for which it waited for rows or for room."""

    rows_in: int
    rows_out: int
    hooks_ns: int
    execute_ns: int = 0
    waits_ns: int = 0

    def __add__(self, other: ActorWork) -> ActorWork:
        return ActorWork(*map(sum, zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other))))

    def __sub__(self, other: ActorWork) -> ActorWork:
        return ActorWork(
            *(a - b for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other)))
        )

    @property
    def rows(self) -> int:
        """Rows in; of a source: rows out."""
        return self.rows_in or self.rows_out


NO_WORK = ActorWork(0, 0, 0)


class WholeRun(msgspec.Struct, frozen=True):
    """A run after its warm-up. `cpu_ns`: processor time of the process in which all actors ran."""

    cpu_ns: int
    actors: Mapping[str, ActorWork]


def copy_of(run: WholeRun) -> WholeRun:
    """What the copy did in a run of a graph and its copy (`twice`). Its actors have the names of the graph's own."""
    copied = {name: each for name, each in run.actors.items() if name.startswith(COPY)}
    return WholeRun(run.cpu_ns, {name.removeprefix(COPY): each for name, each in copied.items()})


def both(first: WholeRun, second: WholeRun) -> WholeRun:
    """Two runs as one. With a third run between them, a machine whose speed changes steadily changes both sides alike."""
    names = {**first.actors, **second.actors}
    actors = {name: first.actors.get(name, NO_WORK) + second.actors.get(name, NO_WORK) for name in names}
    return WholeRun(first.cpu_ns + second.cpu_ns, actors)


def counted(looks: Sequence[Look], done: Sequence[Mapping[str, ActorWork]], names: Iterable[str]) -> WholeRun:
    """A run from what was seen of it: processor time, and what all actors (`names`) had `done`, at each look. The first quarter
    of the time is left out. Without a look no actor has done anything."""
    if not looks:
        return WholeRun(0, dict.fromkeys(names, NO_WORK))
    warm = warm_look(looks)
    actors = {name: each - done[warm].get(name, NO_WORK) for name, each in done[-1].items()}
    return WholeRun(looks[-1].cpu_ns - looks[warm].cpu_ns, actors)


def costs_together(
    alone: Mapping[str, float], chains: Sequence[Sequence[str]], run: WholeRun
) -> dict[str, float]:
    """Nanoseconds a row of each chain ("+" joins its members) and of each member, so that all chains together take the processor
    time of the run.

    An operator takes what its own hooks took in the run. The rest of the processor time (receiving, routing, sending) is shared
    out to those that took more alone than their hooks in the run, in proportion to the difference. Actors that had no rows are
    left out.

    Args:
        alone: nanoseconds a row of each stage that was measured. chains: those of the run, single actors among them."""
    hooks = hooks_of(run)
    names = ["+".join(chain) for chain in chains if run.actors[chain[0]].rows]
    members = {"+".join(chain): chain for chain in chains}
    own = {name: sum(hooks[each] for each in members[name]) for name in names}
    more = {}
    for name in names:
        by_itself = sum(alone.get(each, 0.0) * run.actors[each].rows for each in members[name])
        if name in alone:
            by_itself = alone[name] * run.actors[members[name][0]].rows
        more[name] = max(by_itself - own[name], 0.0)
    found: dict[str, float] = {}
    for name, cost in _shared_out(run.cpu_ns, own, more).items():
        rows = {each: run.actors[each].rows for each in members[name]}
        found[name] = cost / rows[members[name][0]]
        mine = {each: hooks[each] for each, count in rows.items() if count}
        above = {each: max(alone.get(each, 0.0) * rows[each] - hooks[each], 0.0) for each in mine}
        if len(rows) > 1:
            found |= {each: part / rows[each] for each, part in _shared_out(cost, mine, above).items()}
    return found


def hooks_of(run: WholeRun) -> dict[str, float]:
    """Nanoseconds of each actor's hooks. They are wall time, so where other programs have taken the core they come to more than
    the processor time of the run, and are cut to it in proportion."""
    share = _share(run)
    return {name: each.hooks_ns * share for name, each in run.actors.items()}


def _share(run: WholeRun) -> float:
    """The part of the hooks' wall time for which they had the core, at least."""
    total = sum(each.hooks_ns for each in run.actors.values())
    return min(1.0, run.cpu_ns / total) if total else 1.0


def contention_of(graph: Graph, pairs: Iterable[tuple[WholeRun, WholeRun]]) -> float:
    """How many times as long a row of the sources takes while another core does the same. Of pairs of runs, one after the other:
    alone, and so. The pair counts in which it makes the least difference: what only some pairs have is the machine's speed, and
    so are a difference below NEARLY and a row that takes less. If each side were an average, a machine of uneven speed would
    look like one with contention, since a speed-up is cut off here."""
    found = []
    for one, crowded in pairs:
        rows = [rows_of_sources(graph, run) for run in (one, crowded)]
        if all(rows) and one.cpu_ns:
            found.append(crowded.cpu_ns / rows[1] / (one.cpu_ns / rows[0]))
    least = min(found, default=1.0)
    return round(least, 4) if least > 1 + NEARLY else 1.0


def apart_of(
    chain: Sequence[str],
    cost: float,
    run: WholeRun,
    together: tuple[WholeRun, WholeRun],
    apart: WholeRun,
    contention: float,
) -> float:
    """How many times as long as `cost` a row takes a chain that has a core to itself, with the other operators on another one.
    More than once where its rows come from the other core and cost more than the caches save that it does not share. Differences
    below NEARLY are those of the machine's speed.

    The hooks of the run `apart`, which is so, are compared with those of `together`, the runs on one core right before and after
    it, because the machine's speed changes from minute to minute. More than once counts beside the slower of the two only: what
    the faster one alone has is the machine's speed. What is not hooks (receiving, routing, sending) is taken to cost as
    much as in `run`, all runs on one core, from which `cost` is. `contention` is taken out, as far as the other core has work."""
    runs = (run, *together, both(*together), apart)
    rows = [each.actors[chain[0]].rows for each in runs]
    if not all(rows) or not cost:
        return 1.0
    whole, before, after, near, far = (
        _execute_ns(each, chain) / count
        for each, count in zip((*runs[:-1], _part_of(apart, chain)), rows, strict=True)
    )
    far /= slowed(chain, cost, run, contention)
    slower = max(before, after)
    ratio = far / near if far < near else max(far / slower, 1.0) if slower else 1.0
    less = (1 - ratio) * min(whole / cost, 1.0)
    return round(1 - less, 4) if abs(less) > NEARLY else 1.0


def slowed(chain: Sequence[str], cost: float, run: WholeRun, contention: float) -> float:
    """How many times as long a chain takes with a core to itself because the other operators work on another core. The other core
    is busy for as much of the time as they have work, relative to the chain's; at most always."""
    own = cost * run.actors[chain[0]].rows
    return 1 + (contention - 1) * min(max(run.cpu_ns / own - 1, 0.0), 1.0)


def hand_over_ns(
    chain: Sequence[str], cost: float, together: WholeRun, apart: WholeRun, contention: float = 1.0
) -> float:
    """Nanoseconds, at least, that a row takes a chain more outside its hooks in the run `apart` than in the run `together`. In
    `apart` the chain has a core to itself, so that its input comes from another worker and its output goes to one. In `together`
    a row takes it `cost` in all. The hooks are left out, because the machine's speed may have changed between the runs, and
    what the rest takes more by `contention`.

    The time for which it waits for its neighbours is left out, and where that is long, less is said (see WAITS). Differences
    below NEARLY are those of the machine's speed."""
    rows = [each.actors[chain[0]].rows for each in (together, apart)]
    if not all(rows) or not apart.cpu_ns:
        return 0.0
    waits = sum(apart.actors[name].waits_ns for name in chain)
    short, long = WAITS
    counts = min(max((long - waits / apart.cpu_ns) / (long - short), 0.0), 1.0)
    own = [_execute_ns(run, chain) / count for run, count in zip((together, _part_of(apart, chain)), rows)]
    known = max(cost - own[0], 0.0) * (slowed(chain, cost, together, contention) if cost else 1.0)
    more = (apart.cpu_ns - waits) / rows[1] - own[1] - known
    return round(counts * more, 3) if more > NEARLY * cost else 0.0


def _part_of(run: WholeRun, chain: Sequence[str]) -> WholeRun:
    """The actors of a chain, whose process the run has watched."""
    return WholeRun(run.cpu_ns, {name: run.actors[name] for name in chain})


def _execute_ns(run: WholeRun, chain: Sequence[str]) -> float:
    """Processor time of a chain's hooks. Sending is no part of it."""
    return sum(run.actors[name].execute_ns for name in chain) * _share(run)


def _shared_out(total: float, own: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    """The total: to each its own, and of the rest in proportion to `more`; to its own where all of these are 0."""
    rest = max(total - sum(own.values()), 0.0)
    weights = more if sum(more.values()) else own
    whole = sum(weights.values())
    return {name: each + (rest * weights[name] / whole if whole else 0.0) for name, each in own.items()}


def behind_exchanges(graph: Graph) -> set[str]:
    """Actors whose replicas get parts of jumbo tuples: those behind a route that chooses replicas, and those behind them."""
    found: set[str] = set()
    for actor in graph.actors.values():
        edges = [edge for edge in actor.inputs if not edge.static]
        if any(_is_exchange(graph, edge) or edge.producer in found for edge in edges):
            found.add(actor.name)
    return found


def _is_exchange(graph: Graph, edge: Edge) -> bool:
    """Whether a row on the edge goes to one of several replicas."""
    return graph.actors[edge.consumer].replicas > 1 and edge.route not in UNROUTED and not edge.static


def halved_ns(
    chains: Sequence[Sequence[str]], smaller: Mapping[str, float], behind: set[str], run: WholeRun
) -> dict[str, float]:
    """Actor -> nanoseconds that a row takes it more in jumbo tuples of half as many rows, for those `behind` an exchange. Those
    of a chain come to as much as the chain's.

    Args:
        smaller: the same of each actor and chain ("+" joins its members), measured alone."""
    found: dict[str, float] = {}
    for chain in chains:
        mine = {name: smaller.get(name, 0.0) for name in chain if name in behind}
        total = _total(mine, run)
        whole = smaller.get("+".join(chain), 0.0) * run.actors[chain[0]].rows
        found |= {name: each * whole / total for name, each in mine.items() if total}
    return found


def beside_ns(
    graph: Graph, one: WholeRun, several: WholeRun, halved: Mapping[str, float] = MappingProxyType({})
) -> dict[str, float]:
    """Actor -> nanoseconds that a row takes its hooks more where two replicas of it take turns on a core, as in the run
    `several`: the rows and the state of both share its caches. Differences below NEARLY count as none.

    `halved`: what it takes more in jumbo tuples of half as many rows. This is subtracted: replicas on cores of their own get such
    jumbo tuples, too.

    A native chain routes within its hooks, so what a sender of routed rows takes more there is routing, and left out."""
    shares = [_share(run) for run in (one, several)]
    senders = {edge.producer for edge in graph.edges if _is_exchange(graph, edge)}
    found = {}
    for name, each in several.actors.items():
        before = one.actors.get(name, NO_WORK)
        is_within = name in senders and each.hooks_ns - each.execute_ns < WITHIN * each.hooks_ns
        if graph.actors[name].replicas > 1 and before.rows and each.rows and not is_within:
            times = [
                run.execute_ns * share / run.rows for run, share in zip((before, each), shares, strict=True)
            ]
            more = times[1] - times[0] - halved.get(name, 0.0)
            if more > times[0] * NEARLY:
                found[name] = more
    return found


def routing_ns(
    graph: Graph, costs: Mapping[str, float], several: WholeRun, *without: Mapping[str, float]
) -> dict[str, float]:
    """ "actor" or "actor.output" -> nanoseconds that a row takes more where it goes to one of several replicas: what the run with
    several replicas of the actors took more than `costs`, those of a run with one of each, shared out over the rows on such
    edges. `without`: what a row takes actors more there for other reasons.

    Both runs have all replicas on one core."""
    routed: dict[str, int] = {}
    for edge in graph.edges:
        if _is_exchange(graph, edge):
            routed[edge.source] = routed.get(edge.source, 0) + share_of(graph, edge, several)
    if not sum(routed.values()):
        return {}
    more = took_more(costs, several, *without)
    return {source: more / sum(routed.values()) for source, rows in routed.items() if rows}


def took_more(costs: Mapping[str, float], several: WholeRun, *without: Mapping[str, float]) -> float:
    """Nanoseconds that the run `several` took more than its actors' rows at `costs` (`costs_together` of the run with one replica
    of each), and more than what `without` says of a row; not below 0. Each actor counts by its own rows: those behind a window
    get theirs late, the later the slower the run is. A window itself counts by the rows that came, however many it has fired; an
    actor that `costs` lacks takes its whole time more."""
    mine = {name: costs[name] for name in several.actors if name in costs}
    return max(several.cpu_ns - sum(_total(each, several) for each in (mine, *without)), 0.0)


def at_most(costs: Mapping[str, float], most_ns: float, run: WholeRun) -> dict[str, float]:
    """Nanoseconds a row of actors, cut in proportion so that they come to no more than `most_ns` in the run."""
    total = _total(costs, run)
    return {name: each * min(1.0, most_ns / total) for name, each in costs.items() if total}


def of_head(members: Sequence[str], costs: Mapping[str, float], run: WholeRun) -> float:
    """Nanoseconds that a chain takes for a row that enters it. `costs`: what each member takes for a row that enters it."""
    mine = {name: costs[name] for name in members if name in costs}
    return round(_total(mine, run) / (run.actors[members[0]].rows or 1), 3)


def _total(costs: Mapping[str, float], run: WholeRun) -> float:
    return sum(each * run.actors[name].rows for name, each in costs.items())


def share_of(graph: Graph, edge: Edge, run: WholeRun) -> int:
    """Rows on an edge, about: those that its consumer took, shared evenly with its other inputs."""
    inputs = sum(not each.static for each in graph.actors[edge.consumer].inputs)
    return run.actors[edge.consumer].rows_in // inputs


def rows_of_sources(graph: Graph, run: WholeRun) -> int:
    """Rows that all sources together have made in a run."""
    sources = [each.name for each in graph.actors.values() if each.role == "source"]
    return sum(run.actors[name].rows for name in sources if name in run.actors)


def scaled_to(profile: OperatorProfile, cost: float, rows: float) -> OperatorProfile:
    """The profile with `cost` as its p50 at jumbo tuples of `rows` tuples; its other costs keep their ratio to it."""
    replace, known = msgspec.structs.replace, profile.execute_ns(rows)
    if not known:
        times = {name: round(cost, 3) for name in profile.batches[0].execute_ns}
        return replace(profile, batches=[Measured(rows=1, execute_ns=times)])
    factor = cost / known
    batches = [
        replace(each, execute_ns={name: round(value * factor, 3) for name, value in each.execute_ns.items()})
        for each in profile.batches
    ]
    return replace(profile, batches=batches, in_run=round(factor, 4))


def with_routing(profile: OperatorProfile, actor: str, routing: Mapping[str, float]) -> OperatorProfile:
    """The profile with what it costs to route the rows of its outputs, by "actor" or "actor.output"."""
    replace = msgspec.structs.replace
    outputs = {
        name: replace(
            each, route_ns=round(routing.get(actor if name == "default" else f"{actor}.{name}", 0.0), 3)
        )
        for name, each in profile.outputs.items()
    }
    return replace(profile, outputs=outputs)


def line_through(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The value at 0 and the slope of the line through one or two points; neither is below 0. One point, or two whose line is
    below 0 at 0: a slope alone, of the last one."""
    (x, y), *others = points
    if not others:
        return 0.0, round(max(y, 0.0) / x, 6)
    right, top = others[0]
    slope = max(top - y, 0.0) / (right - x)
    if slope * x > y:
        return line_through(others)
    return round(y - slope * x, 1), round(slope, 6)
