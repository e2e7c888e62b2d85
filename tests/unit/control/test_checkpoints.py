"""When a checkpoint is due, and under which number. Time is an argument."""

from __future__ import annotations

from actorstream.control.checkpoints import Checkpoints


def test_one_at_a_time_and_each_so_long_after_the_last() -> None:
    made = Checkpoints(10.0)
    assert [made.due(now) for now in (100.0, 109.9, 110.0, 111.0, 500.0)] == [None, None, 1, None, None]
    assert made.describe().startswith("the checkpoint that this run was resumed from, or from the beginning")
    made.complete(500.0)
    assert [made.due(now) for now in (509.0, 510.0, 530.0)] == [None, 2, None]
    assert made.made == 1
    assert "the last of 1 checkpoints" in made.describe()


def test_a_program_is_granted_the_next_barrier_while_none_is_under_way() -> None:
    made = Checkpoints(10.0, 41, wishes=True)
    assert made.grant() == 42
    assert not made.begun(43), "it was granted another one"
    assert made.begun(42)
    assert made.grant() is None
    assert made.start() is None
    made.complete(1.0)
    assert (made.grant(), made.end()) == (43, 43)


def test_where_no_program_wants_one_none_is_granted() -> None:
    assert Checkpoints(10.0).grant() is None


def test_a_barrier_behind_the_early_end_of_the_sources_is_void() -> None:
    made = Checkpoints(1.0, 5)
    assert not made.is_void(6)
    made.stop()
    assert (made.is_void(5), made.is_void(6)) == (False, True)
