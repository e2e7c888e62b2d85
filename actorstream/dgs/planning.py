"""Planning: from what is known of a program's streams to its synchronization plan, and a process for each worker of it.
Pure: the same question has the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from actorstream.dgs.dependence import Dependence
from actorstream.dgs.optimizer import OPTIMIZERS
from actorstream.dgs.optimizer.base import Optimizer, Question
from actorstream.dgs.plan import SynchronizationPlan, check_plan
from actorstream.dgs.program import Program
from actorstream.dgs.tags import ImplementationTag, Tag
from actorstream.dgs.tree import TreeNode, tree_of
from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.dependency import (
    DependencyPlan,
    PlannedStream,
    PlannedTag,
    PlannedTreeWorker,
    Planning,
)

MOST_TAGS = 2000
"""Implementation tags of one program; plans of more take minutes to find."""

Rates = Mapping[tuple[int, Tag], float]
"""(Number of a stream, tag) -> events/s. What is in it can come; nothing else will."""


def plan_program(
    actor: str,
    program: Program,
    streams: Sequence[PlannedStream],
    rates: Rates,
    planning: Planning,
    processes: int,
    tree: TreeNode | None = None,
) -> DependencyPlan:
    """The plan of one actor.

    Args:
        streams: by rank.
        rates: of the implementation tags that there are.
        processes: over how many the workers are spread.
        tree: what the file says, if `planning.plan` is one.

    Raises:
        ConfigurationError: too many tags, a dependence that is not symmetric, or a tree that is not valid (Definition
            3.2).
    """
    where = f"actors.{actor}"
    if len(rates) > MOST_TAGS:
        hint = "let keys share tags: `classes` in the program's by(...) or keyed(...)"
        message = f"its input has {len(rates)} implementation tags (tags on streams)"
        raise ConfigurationError(Problem(where, message, f"at most {MOST_TAGS}", hint))
    planned, tags = _tags(program, streams, rates)
    dependence = Dependence(tags, program.depends, type(program).__name__)
    question = Question(
        dependence,
        {tag: each.rate for tag, each in zip(tags, planned)},
        {tag: str(streams[each.stream].process) for tag, each in zip(tags, planned) if each.stream >= 0},
        program.state_types(),
        planning.workers or processes,
    )
    wanted: dict[int, int] = {}
    if tree is not None:
        found, wanted = tree_of(tree, tags, question.types, planning.plan)
        problems = check_plan(found, dependence, question.types)
        problems += [
            Problem(
                f"w{number}",
                f"process is {process}",
                f"0 to {processes - 1}, the processes of the deployment",
            )
            for number, process in wanted.items()
            if not 0 <= process < processes
        ]
        if problems:
            raise ConfigurationError([_in_file(problem, planning.plan) for problem in problems])
    else:
        found = optimizer(planning.plan)(question)
    places = _processes(found, question, processes) | wanted
    numbers = {tag: number for number, tag in enumerate(tags)}
    return DependencyPlan(
        actor=actor,
        optimizer=planning.plan,
        streams=list(streams),
        tags=planned,
        workers=[
            PlannedTreeWorker(
                tags=sorted(numbers[tag] for tag in worker.tags),
                state=worker.state,
                parent=found.parents.get(number, 0),
                children=found.children(number),
                process=places[number],
            )
            for number, worker in enumerate(found.workers, 1)
        ],
    )


def optimizer(name: str) -> Optimizer:
    """The optimizer of that name."""
    module, function = OPTIMIZERS[name].split(":")
    return getattr(import_module(module), function)  # type: ignore[no-any-return]


def _tags(
    program: Program, streams: Sequence[PlannedStream], rates: Rates
) -> tuple[list[PlannedTag], list[ImplementationTag]]:
    """All implementation tags in their order: ticks, then by stream, and in a stream as they were found."""
    planned = [
        PlannedTag(name=tag.name, stream=-1, rate=1 / every.period.total_seconds())
        for tag, every in program.ticks().items()
    ]
    by_stream: dict[int, list[PlannedTag]] = {}
    for (stream, tag), rate in rates.items():
        found = PlannedTag(name=tag.name, key=tag.key, stream=stream, rate=rate)
        by_stream.setdefault(stream, []).append(found)
    for number in range(len(streams)):
        planned += by_stream.get(number, [])
    tags = [
        ImplementationTag(Tag(each.name, each.key), streams[each.stream].name if each.stream >= 0 else "")
        for each in planned
    ]
    return planned, tags


def _processes(plan: SynchronizationPlan, question: Question, processes: int) -> dict[int, int]:
    """Worker -> process. A leaf is where most of its events arrive, as long as no process gets more than its share of the
    leaves; the busiest choose first. Others are where their own events arrive, else beside the busier child."""
    leaves = [number for number, worker in enumerate(plan.workers, 1) if not worker.children]
    share = -(-len(leaves) // processes)
    load = [0] * processes
    found: dict[int, int] = {}
    for number in sorted(leaves, key=lambda number: (-question.rate(plan.worker(number).tags), number)):
        wanted = plan.worker(number).place
        least = min(range(processes), key=lambda process: (load[process], process))
        at = int(wanted) if wanted and load[int(wanted)] < share else least
        load[at] += 1
        found[number] = at
    for number in range(len(plan.workers), 0, -1):
        worker: Any = plan.worker(number)
        if number in found:
            continue
        busier = max(plan.children(number), key=lambda child: question.rate(plan.worker(child).handled))
        arriving = any(tag in question.places for tag in worker.tags)
        found[number] = int(worker.place) if arriving and worker.place else found[busier]
    return found


def _in_file(problem: Problem, file: str) -> Problem:
    return Problem(problem.where, problem.message, problem.allowed, problem.hint, file)
