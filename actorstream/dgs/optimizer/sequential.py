"""Optimizer `sequential`: one worker does all, as the sequential program would; what others are measured against."""

from __future__ import annotations

from actorstream.dgs.optimizer.base import Question, TagTree, typed
from actorstream.dgs.plan import SynchronizationPlan


def sequential(question: Question) -> SynchronizationPlan:
    """A single worker that is responsible for every tag."""
    return typed(question, TagTree(frozenset(question.dependence.tags)))
