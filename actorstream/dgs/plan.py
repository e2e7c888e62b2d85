"""Synchronization plans (dgs-flumina Definitions 3.1, 3.2): a binary tree of workers, as data, and whether it is valid."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec

from actorstream.dgs.dependence import Dependence
from actorstream.dgs.states import Fork, StateTypes
from actorstream.dgs.tags import ImplementationTag, order_of
from actorstream.errors import Problem


class PlanWorker(msgspec.Struct, frozen=True):
    """One worker: a sequential thread of computation on the events of its tags.

    Attributes:
        tags: what it is responsible for, sorted. To process one of them it joins the states of its children.
        state: the name of its state type.
        children: none, or two.
        place: where most of its input arrives; "": anywhere.
    """

    tags: tuple[ImplementationTag, ...]
    state: str = "State"
    children: tuple[PlanWorker, PlanWorker] | tuple[()] = ()
    place: str = ""

    def walk(self) -> Iterator[PlanWorker]:
        """This worker, then those below it, left before right."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def handled(self) -> frozenset[ImplementationTag]:
        """Its tags and those of all workers below it."""
        return frozenset(tag for worker in self.walk() for tag in worker.tags)


class SynchronizationPlan:
    """A tree of workers. They are numbered from 1 in the order of `root.walk()`."""

    def __init__(self, root: PlanWorker) -> None:
        self.root = root
        self.workers: tuple[PlanWorker, ...] = tuple(root.walk())
        self.parents: dict[int, int] = {}
        """Number of a worker -> its parent's."""
        self._number(root, 1)

    def _number(self, worker: PlanWorker, number: int) -> int:
        following = number + 1
        for child in worker.children:
            self.parents[following] = number
            following = self._number(child, following)
        return following

    def worker(self, number: int) -> PlanWorker:
        """The worker of that number, from 1."""
        return self.workers[number - 1]

    def ancestors(self, number: int) -> list[int]:
        """A worker's parent, its parent's, up to the root."""
        found = []
        while number in self.parents:
            number = self.parents[number]
            found.append(number)
        return found

    def children(self, number: int) -> list[int]:
        """Numbers of a worker's children, left before right; empty at a leaf."""
        return [child for child, parent in self.parents.items() if parent == number]

    def responsible(self, tag: ImplementationTag) -> int | None:
        """The number of the worker that processes events of this tag."""
        return next((n for n, worker in enumerate(self.workers, 1) if tag in worker.tags), None)

    def picture(self, rates: dict[ImplementationTag, float] | None = None) -> str:
        """The tree as text: a line a worker with its tags, rates (events/s) and place."""
        return "\n".join(self._lines(1, "", "", rates or {}))

    def _lines(
        self, number: int, first: str, rest: str, rates: dict[ImplementationTag, float]
    ) -> Iterator[str]:
        worker = self.worker(number)
        tags = ", ".join(f"{tag} {rates[tag]:g}/s" if tag in rates else str(tag) for tag in worker.tags)
        place = f" on {worker.place}" if worker.place else ""
        yield f"{first}w{number} {worker.state}{place}: {tags or 'joins and forks only'}"
        below = self.children(number)
        for child in below:
            last = child == below[-1]
            yield from self._lines(
                child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), rates
            )


def check_plan(plan: SynchronizationPlan, dependence: Dependence, types: StateTypes) -> list[Problem]:
    """Everything that makes a plan invalid (Definition 3.2): V1, types; V2, independence; and tags that nobody has."""
    found: list[Problem] = []
    for number, worker in enumerate(plan.workers, 1):
        found += _check_types(f"w{number}", worker, types)
    if plan.root.state != types.initial:
        found.append(
            Problem(
                "w1",
                f"the root's state type is {plan.root.state!r}",
                f"the initial state's, {types.initial!r}",
            )
        )
    for tag in dependence.tags:
        owners = [f"w{number}" for number, worker in enumerate(plan.workers, 1) if tag in worker.tags]
        if len(owners) != 1:
            who = " and ".join(owners) if owners else "no worker"
            found.append(Problem(str(tag), f"{who} is responsible for it", "exactly one worker"))
    unknown = sorted(plan.root.handled - set(dependence.tags), key=order_of)
    found += [
        Problem(str(tag), "no input stream has events of this tag", "tags of the inputs") for tag in unknown
    ]
    known = set(dependence.tags)
    for one, other in combinations(range(1, len(plan.workers) + 1), 2):
        if one in plan.ancestors(other):
            continue
        pair = dependence.between(
            known.intersection(plan.worker(one).tags), known.intersection(plan.worker(other).tags)
        )
        if pair is not None:
            found.append(
                Problem(
                    f"w{one}, w{other}",
                    f"{pair[0]} of w{one} and {pair[1]} of w{other} depend on each other, and neither worker is above "
                    "the other",
                    "independent tags",
                    "give one of the two to a common ancestor",
                )
            )
    return found


def _check_types(where: str, worker: PlanWorker, types: StateTypes) -> Iterator[Problem]:
    if worker.state not in types.handles:
        known = ", ".join(map(repr, types.handles))
        yield Problem(where, f"there is no state type {worker.state!r}", known)
        return
    for tag in sorted(worker.handled, key=order_of):
        if not types.can(worker.state, (tag,)):
            yield Problem(
                where, f"a state of type {worker.state!r} cannot process {tag}", "tags of its predicate"
            )
    if not worker.handled and where != "w1":
        yield Problem(
            where, "it and those below it have no tags", "a tag at each leaf", "leave the worker out"
        )
    if worker.children:
        left, right = worker.children
        if Fork(worker.state, left.state, right.state) not in types.forks:
            allowed = ", ".join(f"{fork.whole} -> ({fork.left}, {fork.right})" for fork in types.forks)
            yield Problem(
                where,
                f"the program has no fork of {worker.state} into ({left.state}, {right.state})",
                allowed or "no forks",
            )
