"""Optimizer `communication` (dgs-flumina appendix B): most events at leaves, and leaves where their events arrive."""

from __future__ import annotations

from actorstream.dgs.optimizer.base import Question, Tags, halves, split, typed
from actorstream.dgs.plan import SynchronizationPlan


def communication(question: Question) -> SynchronizationPlan:
    """Splits the tags where the fewest events have to be processed above the split, and each half in the same way.

    Streams that arrive at one place stay together as long as others can be split, so that a split saves messages.
    """
    return typed(question, split(question, _apart, _share))


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


def _share(question: Question, left: Tags, right: Tags, leaves: int) -> int:
    """Leaves in proportion to the rates, one at least for each half, and none that has no tag for it."""
    for_left, for_right = question.rate(left), question.rate(right)
    wanted = round(leaves * for_left / (for_left + for_right)) if for_left + for_right else leaves // 2
    return min(len(left), max(1, leaves - len(right), min(leaves - 1, wanted)))
