"""Optimizer `balanced`: as many leaves as there are workers, of about the same rate each, wherever events arrive."""

from __future__ import annotations

from actorstream.dgs.optimizer.base import Question, halves, split, typed
from actorstream.dgs.plan import SynchronizationPlan


def balanced(question: Question) -> SynchronizationPlan:
    """Splits by rate alone; a half gets half of the workers, so that no path from root to leaf is long."""
    return typed(
        question, split(question, halves, lambda question, left, right, leaves: leaves - leaves // 2)
    )
