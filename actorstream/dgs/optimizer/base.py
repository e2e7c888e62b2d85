"""What an optimizer is told and answers, and what all of them share. Pure: the same question has the same answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from actorstream.dgs.dependence import Dependence
from actorstream.dgs.plan import PlanWorker, SynchronizationPlan
from actorstream.dgs.states import StateTypes
from actorstream.dgs.tags import ImplementationTag, order_of

Tags = frozenset[ImplementationTag]


class Question(msgspec.Struct, frozen=True):
    """What is to be planned.

    Args:
        dependence: the implementation tags of the input and what depends on what.
        rates: events/s by tag; 1 where none is given.
        places: where each tag's events arrive, a node's or worker's name.
        types: the program's state types and forks.
        workers: how many may work at a time: leaves of the tree, at least 1.
    """

    dependence: Dependence
    rates: Mapping[ImplementationTag, float] = {}
    places: Mapping[ImplementationTag, str] = {}
    types: StateTypes = msgspec.field(default_factory=StateTypes)
    workers: int = 1 << 30

    def rate(self, tags: Iterable[ImplementationTag]) -> float:
        """Events/s of these tags together."""
        return sum(self.rates.get(tag, 1.0) for tag in tags)


Optimizer = Callable[[Question], SynchronizationPlan]
"""Answers a plan that is valid (Definition 3.2: `dgs.plan.check_plan` finds nothing), with `question.workers` leaves at
most, and the same one each time. `split` and `typed` make one of a rule for which parts go apart."""


class TagTree(msgspec.Struct, frozen=True):
    """A plan before it has types: what a worker is responsible for itself, and the two below it."""

    own: Tags
    children: tuple[TagTree, TagTree] | tuple[()] = ()

    @property
    def tags(self) -> Tags:
        """Its own and those of all below it."""
        return self.own.union(*(child.tags for child in self.children))


def divide(question: Question, tags: Tags) -> tuple[Tags, list[Tags]] | None:
    """Takes the least busy tags away until the rest falls apart: what was taken, and the parts; None: it never does.

    The greedy step of appendix B; among tags of one rate the one that most depend on goes first. What it took in vain goes
    back, the busiest first, so that leaves get as many events as this order of removal allows.
    """
    dependence = question.dependence
    by_rate = sorted(
        tags, key=lambda tag: (question.rate((tag,)), -len(dependence.on(tag) & tags), order_of(tag))
    )
    removed: list[ImplementationTag] = []
    for tag in [None, *by_rate]:
        if tag is not None:
            removed.append(tag)
        if len(dependence.components(tags.difference(removed))) > 1:
            break
    else:
        return None
    for tag in removed[-2::-1]:
        kept = [each for each in removed if each != tag]
        if len(dependence.components(tags.difference(kept))) > 1:
            removed = kept
    return frozenset(removed), list(dependence.components(tags.difference(removed)))


def halves(question: Question, parts: list[Tags]) -> tuple[list[Tags], list[Tags]]:
    """Parts in two groups of about the same rate; each busiest one goes to the group that has less."""
    groups: tuple[list[Tags], list[Tags]] = ([], [])
    rates = [0.0, 0.0]
    for part in sorted(parts, key=lambda part: (-question.rate(part), order_of(min(part, key=order_of)))):
        lighter = int(rates[1] < rates[0] or (rates[1] == rates[0] and len(groups[1]) < len(groups[0])))
        groups[lighter].append(part)
        rates[lighter] += question.rate(part)
    return groups


def split(
    question: Question,
    apart: Callable[[Question, list[Tags]], tuple[list[Tags], list[Tags]]],
    share: Callable[[Question, Tags, Tags, int], int],
) -> TagTree:
    """Divides the tags, and each half in the same way, while there are leaves for it.

    apart: the independent parts in two groups. share: how many of so many leaves go below the left half.
    """

    def below(tags: Tags, leaves: int) -> TagTree:
        found = divide(question, tags) if leaves > 1 else None
        if found is None:
            return TagTree(tags)
        own, parts = found
        left, right = (frozenset().union(*half) for half in apart(question, parts))
        for_left = share(question, left, right, leaves)
        return TagTree(own, (below(left, for_left), below(right, leaves - for_left)))

    return below(frozenset(question.dependence.tags), question.workers)


def typed(question: Question, tree: TagTree) -> SynchronizationPlan:
    """The tree with state types and forks: the first match of an exhaustive search (appendix B).

    A worker below which no fork fits the types takes over the tags of all below it.
    """
    return SynchronizationPlan(
        _typed(question, tree, question.types.initial) or _leaf(question, tree, question.types.initial)
    )


def _typed(question: Question, tree: TagTree, state: str) -> PlanWorker | None:
    types = question.types
    if not types.can(state, tree.tags):
        return None
    if not tree.children:
        return _leaf(question, tree, state)
    for fork in types.forks_of(state):
        for one, other in (tree.children, tree.children[::-1]):
            left = _typed(question, one, fork.left)
            right = None if left is None else _typed(question, other, fork.right)
            if left is not None and right is not None:
                return PlanWorker(
                    tuple(sorted(tree.own, key=order_of)),
                    state,
                    (left, right),
                    _place(question, tree, (left, right)),
                )
            if fork.left == fork.right:
                break
    return _leaf(question, tree, state)


def _leaf(question: Question, tree: TagTree, state: str) -> PlanWorker:
    tags = tuple(sorted(tree.tags, key=order_of))
    return PlanWorker(tags, state, (), _busiest(question, tags))


def _place(question: Question, tree: TagTree, children: tuple[PlanWorker, PlanWorker]) -> str:
    """A worker with children sits where most of its own events arrive, or beside the busier child."""
    if tree.own:
        return _busiest(question, sorted(tree.own, key=order_of))
    left, right = children
    return (left if question.rate(left.handled) >= question.rate(right.handled) else right).place


def _busiest(question: Question, tags: Iterable[ImplementationTag]) -> str:
    arriving: dict[str, float] = {}
    for tag in tags:
        place = question.places.get(tag, "")
        arriving[place] = arriving.get(place, 0.0) + question.rate((tag,))
    return max(arriving, key=lambda place: arriving[place], default="")
