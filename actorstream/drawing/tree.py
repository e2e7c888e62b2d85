"""Synchronization plans as text and pictures: the tree with tags, rates and places. Answers text; writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from actorstream.drawing.picture import Arrow, Box, Picture
from actorstream.topology.dependency import DependencyPlan

MOST_TAGS = 12
"""Tags of one worker that a drawing names; of more it says how many there are."""


def tree_text(plan: DependencyPlan) -> str:
    """The tree, a worker a line: its number and state type, its process, and its tags with their events/s."""
    leaves = sum(not worker.children for worker in plan.workers)
    head = f"synchronization plan of {plan.actor} ({Path(plan.optimizer).name}): {_count(len(plan.workers), 'worker')}"
    lines = [
        f"{head}, {leaves} of them leaves, {_count(len(plan.tags), 'tag')} on {_count(len(plan.streams), 'stream')}"
    ]
    return "\n".join([*lines, "", *_lines(plan, 1, "", "")]) + "\n"


def _lines(plan: DependencyPlan, number: int, first: str, rest: str) -> Iterator[str]:
    worker = plan.workers[number - 1]
    tags = ", ".join(tag_texts(plan, number)) or "joins and forks only"
    yield f"{first}w{number} {worker.state} in process {worker.process}: {tags}"
    for child in worker.children:
        last = child == worker.children[-1]
        yield from _lines(plan, child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


def tag_texts(plan: DependencyPlan, number: int) -> list[str]:
    """The tags that a worker is responsible for, with their rates: `read(3)@events/1 15/s`."""
    own = plan.workers[number - 1].tags
    found = [f"{tag_text(plan, each)} {plan.tags[each].rate:.4g}/s" for each in own[:MOST_TAGS]]
    if len(own) > MOST_TAGS:
        rate = sum(plan.tags[each].rate for each in own[MOST_TAGS:])
        found.append(f"{len(own) - MOST_TAGS} more {rate:.4g}/s")
    return found


def tag_text(plan: DependencyPlan, number: int) -> str:
    """An implementation tag: `read(3)@events/1`; a tick is on no stream."""
    tag = plan.tags[number]
    text = tag.name if tag.key is None else f"{tag.name}({tag.key})"
    return text if tag.stream < 0 else f"{text}@{plan.streams[tag.stream].name}"


def picture_of_tree(plan: DependencyPlan) -> Picture:
    """The tree as a drawing: a box a worker, an arrow from each to those below it."""
    picture = Picture(f"synchronization plan of {plan.actor}")
    for number, worker in enumerate(plan.workers, 1):
        lines = (f"process {worker.process}", *tag_texts(plan, number))
        role = "operator" if worker.children else "source"
        picture.boxes.append(Box(f"w{number}", f"w{number} {worker.state}", lines, role, f"w{number}"))
    picture.arrows = [
        Arrow(f"w{number}", f"w{child}", "join, fork")
        for number, worker in enumerate(plan.workers, 1)
        for child in worker.children
    ]
    return picture


def tree_json(plan: DependencyPlan, number: int = 1) -> dict[str, Any]:
    """The tree as plain values: what a file for `plan = FILE` holds."""
    worker = plan.workers[number - 1]
    found: dict[str, Any] = {"tags": [tag_text(plan, each) for each in worker.tags], "state": worker.state}
    found["process"] = worker.process
    if worker.children:
        found["children"] = [tree_json(plan, child) for child in worker.children]
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
