"""Optimizer `balanced`: as many leaves as there are workers, of about the same rate each, wherever events arrive."""

from __future__ import annotations

from actorstream.dgs.optimizer.base import Question, Tags, TagTree, divide, halves, typed
from actorstream.dgs.plan import SynchronizationPlan


def balanced(question: Question) -> SynchronizationPlan:
    """Splits by rate alone; a half gets half of the workers, so that no path from root to leaf is long."""
    return typed(question, _tree(question, frozenset(question.dependence.tags), question.workers))


def _tree(question: Question, tags: Tags, leaves: int) -> TagTree:
    found = divide(question, tags) if leaves > 1 else None
    if found is None:
        return TagTree(tags)
    own, parts = found
    left, right = (frozenset().union(*half) for half in halves(question, parts))
    return TagTree(own, (_tree(question, left, leaves - leaves // 2), _tree(question, right, leaves // 2)))
