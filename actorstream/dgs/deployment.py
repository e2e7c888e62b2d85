"""Deployment: a program and its planned tree together, and what a worker of the tree, a source or a drawing asks of them.
Pure; the same in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from actorstream.dgs.classifier import Classifier
from actorstream.dgs.dependence import Dependence
from actorstream.dgs.plan import PlanWorker, SynchronizationPlan, check_plan
from actorstream.dgs.program import Program, Tags
from actorstream.dgs.states import Fork, StateTypes
from actorstream.dgs.tagging import Every, tagging_of
from actorstream.dgs.tags import ImplementationTag, Tag
from actorstream.errors import ConfigurationError
from actorstream.topology.dependency import DependencyPlan, PlannedStream, PlannedTreeWorker
from actorstream.topology.graph import fingerprint

FEW = 4
"""Most names that a description of a program lists."""
TICKS = -1
"""The rank of what is on no stream: before all streams."""


class ProgramDeployment:
    """One actor's program, and where its events go.

    Args:
        program: an instance with the keys of the actor's table.
        planned: its plan.

    Attributes:
        tags: all implementation tags, in the order of `planned.tags`.
        ranks: implementation tag -> number of its stream. Events are ordered by (time, rank, position in the stream), so
            two tags of one stream have one rank and the position decides; ticks have rank -1.
        dependence: which of them depend on which.
        types: the program's state types.
        tree: the plan as a tree; workers are numbered as in `planned.workers`, from 1.

    Raises:
        ConfigurationError: `depends` is not symmetric, or the plan is not valid for the program (Definition 3.2).
    """

    def __init__(self, program: Program, planned: DependencyPlan) -> None:
        self.program, self.planned = program, planned
        self.streams: tuple[PlannedStream, ...] = tuple(planned.streams)
        self.tags: tuple[ImplementationTag, ...] = tuple(
            ImplementationTag(Tag(each.name, each.key), self._stream_name(each.stream))
            for each in planned.tags
        )
        self.ranks = {tag: each.stream for tag, each in zip(self.tags, planned.tags)}
        self.rates = {tag: each.rate for tag, each in zip(self.tags, planned.tags)}
        self.dependence = Dependence(self.tags, program.depends, planned.actor)
        self.types: StateTypes = program.state_types()
        self.tree = SynchronizationPlan(self._worker(planned.workers[0]))
        problems = check_plan(self.tree, self.dependence, self.types)
        if problems:
            raise ConfigurationError(problems)
        self.ticks: dict[ImplementationTag, Every] = {
            ImplementationTag(tag): how for tag, how in program.ticks().items()
        }

    # -- workers: all by number, the root is 1 ---------------------------------------------------------------------------

    def process(self, worker: int) -> int:
        """The process that a worker runs in."""
        return self.planned.workers[worker - 1].process

    @cached_property
    def responsible(self) -> dict[ImplementationTag, int]:
        """Implementation tag -> the worker that processes its events, and so gets them from the source."""
        return {tag: number for number, worker in enumerate(self.tree.workers, 1) for tag in worker.tags}

    def listeners(self, tag: ImplementationTag) -> tuple[int, ...]:
        """The workers that have to know how far a tag is: the responsible one, then those below it. All of them hear its
        heartbeats; the ones below see its events as join requests (section 3.4)."""
        first = self.responsible[tag]
        return (first, *(n for n in range(1, len(self.tree.workers) + 1) if first in self.tree.ancestors(n)))

    def seen(self, worker: int) -> tuple[ImplementationTag, ...]:
        """The implementation tags in a worker's mailbox, in the order of `tags`: its own and those of all above it."""
        numbers = {worker, *self.tree.ancestors(worker)}
        return tuple(tag for tag in self.tags if self.responsible[tag] in numbers)

    def dependents(self, worker: int) -> dict[ImplementationTag, tuple[ImplementationTag, ...]]:
        """For each tag in a worker's mailbox those in it that depend on it, itself included if it does."""
        seen = self.seen(worker)
        return {tag: tuple(other for other in seen if self.dependence.depends(tag, other)) for tag in seen}

    def fork(self, worker: int) -> Fork | None:
        """The fork of a worker with children; None: it has none."""
        node = self.tree.worker(worker)
        if not node.children:
            return None
        left, right = node.children
        return Fork(node.state, left.state, right.state)

    def adds(self, worker: int) -> bool:
        """Whether all below a worker only add to the state, so that they need not wait for it to come back: their tags
        are additive, and there are joins that add their states to the worker's."""
        return self._adds(self.tree.worker(worker))

    def _adds(self, node: PlanWorker) -> bool:
        return bool(node.children) and all(
            all(self.program.adds(each.tag) for each in child.handled)
            and self.types.adds(node.state, child.state) is not None
            and (not child.children or self._adds(child))
            for child in node.children
        )

    def functions(
        self, worker: int
    ) -> tuple[Callable[[Any, Tags, Tags], tuple[Any, Any]], Callable[[Any, Any], Any]] | None:
        """`fork(state, left, right)` and `join(left, right)` of a worker with children."""
        fork = self.fork(worker)
        return None if fork is None else self.program.functions(fork)

    def predicates(self, worker: int) -> tuple[Tags, Tags] | None:
        """The tags that a worker's left and right subtree handle: what its fork is given."""
        node = self.tree.worker(worker)
        if not node.children:
            return None
        left, right = (frozenset(each.tag for each in child.handled) for child in node.children)
        return left, right

    def state_class(self, worker: int) -> type:
        """By which states that come to a worker, or that its children send to it, are decoded."""
        return self.program.state_class(self.tree.worker(worker).state)

    # -- outputs ---------------------------------------------------------------------------------------------------------

    @cached_property
    def output_groups(self) -> tuple[frozenset[int], ...]:
        """The workers whose outputs have an order among each other, together: those that put something out for events
        that depend on each other, directly or through others. Only groups of several; the outputs of any other worker,
        and of different groups, come as they come. Additive events put nothing out; `end` comes behind all."""
        found = [
            {self.responsible[tag] for tag in tags if not self.program.adds(tag.tag)}
            for tags in self.dependence.components(self.tags)
        ]
        if hasattr(self.program, "end"):
            found.append({1}.union(*found))
        groups: list[set[int]] = []
        for each in found:
            for other in [other for other in groups if other & each]:
                groups.remove(other)
                each |= other
            groups.append(each)
        return tuple(frozenset(each) for each in groups if len(each) > 1)

    # -- checkpoints -----------------------------------------------------------------------------------------------------

    def says(self) -> dict[str, list[str]]:
        """What a program has to say again to go on from a checkpoint: whatever its plan is. Texts, by what they are."""
        tags = sorted({tag.tag for tag in self.tags}, key=str)
        return {
            "streams": [stream.name for stream in self.streams],
            "tags": sorted(map(str, self.tags)),
            "rows of tags": sorted(
                f"{name}: {tagging_of(how) if isinstance(how, str) else how}"
                for name, how in self.program.tags.items()
            ),
            "states": [
                f"{name}({', '.join(_fields(self.program.state_class(name)))})" for name in self.types.handles
            ],
            "forks": [f"{fork.whole} -> ({fork.left}, {fork.right})" for fork in self.types.forks],
            "dependence": [
                f"{tag} on {_listed([str(other) for other in tags if self.program.depends(tag, other)])}"
                for tag in tags
            ],
        }

    # -- inputs ----------------------------------------------------------------------------------------------------------

    def classifier(self, input: str) -> Classifier:
        """What divides batches of an input by implementation tag; answers numbers in `tags`."""
        numbers = {
            (self.planned.tags[number].stream, tag.tag): number for number, tag in enumerate(self.tags)
        }
        own = [(number, each) for number, each in enumerate(self.streams) if each.input == input]
        return Classifier(self.program.taggings()[input], own, numbers, f"{self.planned.actor}.{input}")

    # -- inside ----------------------------------------------------------------------------------------------------------

    def _stream_name(self, number: int) -> str:
        return "" if number == TICKS else self.streams[number].name

    def _worker(self, planned: PlannedTreeWorker) -> PlanWorker:
        below = [self._worker(self.planned.workers[number - 1]) for number in planned.children]
        return PlanWorker(
            tuple(self.tags[number] for number in planned.tags),
            planned.state,
            (below[0], below[1]) if below else (),
            str(planned.process),
        )


def _listed(texts: list[str]) -> str:
    """A few of them, and what tells the others from others."""
    few = ", ".join(texts[:FEW]) or "nothing"
    return f"{few} and {len(texts) - FEW} more ({fingerprint(texts):x})" if len(texts) > FEW else few


def _fields(cls: type) -> list[str]:
    """The fields of a state's class, with their types as they are written."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        for name, kind in vars(base).get("__annotations__", {}).items():
            found[name] = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    return [f"{name}: {kind}" for name, kind in found.items()]
