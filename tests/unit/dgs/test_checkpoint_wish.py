"""CheckpointWish: a program is asked at each join of its root, and told what has passed since it last wanted one."""

from __future__ import annotations

from typing import Any

from actorstream.dgs.checkpoint_wish import CheckpointWish


class Wants:
    """Keeps what it was asked; wants one at so many joins, or after so much time."""

    def __init__(self, joins: int = 1 << 30, elapsed: int = 1 << 30) -> None:
        self.joins, self.elapsed = joins, elapsed
        self.asked: list[tuple[int, int]] = []

    def checkpoint(self, state: Any, joins: int, elapsed: int) -> bool:
        self.asked.append((joins, elapsed))
        return joins >= self.joins or elapsed >= self.elapsed


def made_at(program: Wants, times: list[int]) -> list[int]:
    """The times of the joins at which it gets one."""
    wish, found = CheckpointWish(program), []
    for time in times:
        wish.joined(None, time)
        if wish.now(granted=True):
            found.append(time)
    return found


def test_a_program_may_want_one_at_every_join_or_at_every_third() -> None:
    assert made_at(Wants(joins=1), [10, 20, 30]) == [10, 20, 30]
    every_third = Wants(joins=3)
    assert made_at(every_third, [10, 20, 30, 40, 50, 60, 70]) == [30, 60]
    assert every_third.asked == [(1, 0), (2, 10), (3, 20), (1, 10), (2, 20), (3, 30), (1, 10)]


def test_a_program_may_want_one_when_some_event_time_has_passed() -> None:
    assert made_at(Wants(elapsed=25), [10, 20, 30, 40, 50, 64, 65, 70]) == [40, 65]


def test_a_wish_that_could_not_be_granted_at_a_join_stays_and_is_granted_at_a_later_one() -> None:
    wish = CheckpointWish(Wants(joins=2))
    assert not wish.now(granted=True)
    wish.joined(None, 1)
    wish.joined(None, 2)
    assert not wish.now(granted=False)
    assert not wish.now(granted=True)  # no join since
    wish.joined(None, 3)
    assert wish.now(granted=True)
    wish.joined(None, 4)
    assert not wish.now(granted=True)
