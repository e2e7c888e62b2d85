"""Trees as people write them (`plan = FILE`): workers with the texts of their tags. Reads values, not files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from actorstream.dgs.plan import PlanWorker, SynchronizationPlan
from actorstream.dgs.states import StateTypes
from actorstream.dgs.tags import ImplementationTag
from actorstream.errors import ConfigurationError, Problem


class TreeNode(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One worker, and those below it."""

    tags: list[str] = []
    """As `actorstream plan` shows them: "read(3)@events/1"; without a stream: that tag on all streams."""
    state: str = ""
    """Name of its state type; "": as the first fork of its parent's that has such children, or the initial one."""
    process: int | None = None
    """Where it is to run; None: decided."""
    children: list[TreeNode] = []
    """None, or two."""


def read_tree(value: Any, file: str) -> TreeNode:
    """A tree from the values of a file. ConfigurationError says where it is none."""
    try:
        return msgspec.convert(value, TreeNode)
    except msgspec.ValidationError as error:
        allowed = "tags, state, process, children"
        hint = "`actorstream plan --json` prints one for each program, at trees.ACTOR"
        raise ConfigurationError(Problem("plan", f"is no tree: {error}", allowed, hint, file)) from error


def tree_of(
    node: TreeNode, tags: Sequence[ImplementationTag], types: StateTypes, file: str
) -> tuple[SynchronizationPlan, dict[int, int]]:
    """The plan, not checked yet, and the processes that were given, by worker.

    Raises:
        ConfigurationError: a tag that there is not, or one or more than two children.
    """
    problems: list[Problem] = []
    by_text: dict[str, list[ImplementationTag]] = {}
    for tag in tags:
        by_text.setdefault(str(tag), []).append(tag)
        if tag.stream:
            by_text.setdefault(str(tag.tag), []).append(tag)
    processes: dict[int, int] = {}

    def worker(node: TreeNode, state: str, number: int) -> tuple[PlanWorker, int]:
        own: dict[ImplementationTag, None] = {}
        for text in node.tags:
            if text not in by_text:
                known = ", ".join(list(by_text)[:8]) + (", ..." if len(by_text) > 8 else "")
                problems.append(Problem(f"w{number}", f"there is no tag {text!r}", known, "", file))
            own.update(dict.fromkeys(by_text.get(text, [])))
        if node.process is not None:
            processes[number] = node.process
        if len(node.children) not in (0, 2):
            found = f"has {len(node.children)} children"
            problems.append(Problem(f"w{number}", found, "none, or two", "", file))
            return PlanWorker(tuple(own), state), number + 1
        if not node.children:
            return PlanWorker(tuple(own), state), number + 1
        forks = types.forks_of(state)
        first = next(
            (
                fork
                for fork in forks
                if all(
                    child.state in ("", kind) for child, kind in zip(node.children, (fork.left, fork.right))
                )
            ),
            None,
        )
        kinds = (first.left, first.right) if first else tuple(child.state or state for child in node.children)
        left, following = worker(node.children[0], kinds[0], number + 1)
        right, following = worker(node.children[1], kinds[1], following)
        return PlanWorker(tuple(own), state, (left, right)), following

    root, _ = worker(node, node.state or types.initial, 1)
    if problems:
        raise ConfigurationError(problems)
    return SynchronizationPlan(root), processes
