"""Optimizer `communication` (dgs-flumina appendix B): most events at leaves, and leaves where their events arrive."""

from __future__ import annotations

from actorstream.dgs.optimizer.base import Question, Tags, TagTree, divide, halves, typed
from actorstream.dgs.plan import SynchronizationPlan


def communication(question: Question) -> SynchronizationPlan:
    """Splits the tags where the fewest events have to be processed above the split, and each half in the same way.

    Streams that arrive at one place stay together as long as others can be split, so that a split saves messages.
    """
    return typed(question, _tree(question, frozenset(question.dependence.tags), question.workers))


def _tree(question: Question, tags: Tags, leaves: int) -> TagTree:
    found = divide(question, tags) if leaves > 1 else None
    if found is None:
        return TagTree(tags)
    own, parts = found
    left, right = (frozenset().union(*half) for half in _apart(question, parts))
    for_left = min(len(left), _share(question.rate(left), question.rate(right), leaves))
    for_right = min(len(right), leaves - for_left)
    for_left = min(len(left), leaves - for_right)
    return TagTree(own, (_tree(question, left, for_left), _tree(question, right, for_right)))


def _apart(question: Question, parts: list[Tags]) -> tuple[list[Tags], list[Tags]]:
    """The parts in two groups: by the places where they arrive if there are several, else by rate."""
    by_place: dict[str, list[Tags]] = {}
    for part in parts:
        arriving: dict[str, float] = {}
        for tag in part:
            place = question.places.get(tag, "")
            arriving[place] = arriving.get(place, 0.0) + question.rate((tag,))
        busiest = max(sorted(arriving), key=lambda place: arriving[place])
        by_place.setdefault(busiest, []).append(part)
    if len(by_place) == 1:
        return halves(question, parts)
    left, _ = halves(question, [frozenset().union(*group) for group in by_place.values()])
    taken = frozenset().union(*left)
    return [part for part in parts if part <= taken], [part for part in parts if not part <= taken]


def _share(left: float, right: float, leaves: int) -> int:
    """How many of the leaves the left half should get: in proportion to its rate, and one at least for each."""
    wanted = round(leaves * left / (left + right)) if left + right else leaves // 2
    return max(1, min(leaves - 1, wanted))
