from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.actors.supervision import Supervision, Supervisor, affected, as_supervision
from actorstream.errors import ConfigurationError

ERROR = ValueError("wrong")


def test_the_budget_is_restarts_within_a_period() -> None:
    supervisor = Supervisor(Supervision("restart", max_restarts=2, within=10))
    assert [supervisor.decide(ERROR, now).strategy for now in (0, 1, 2)] == ["restart", "restart", "escalate"]
    assert supervisor.decide(ERROR, 10.5).strategy == "restart"


def test_a_budget_of_none_escalates_at_once() -> None:
    assert Supervisor(Supervision("restart", max_restarts=0)).decide(ERROR, 0).strategy == "escalate"


def test_backoff_grows_up_to_its_limit_and_starts_anew_after_a_quiet_period() -> None:
    rules = Supervision("restart", max_restarts=9, within=100, backoff=1, factor=3, max_backoff=5)
    supervisor = Supervisor(rules)
    assert [supervisor.decide(ERROR, now).delay for now in (0, 1, 2, 3)] == [1, 3, 5, 5]
    assert supervisor.decide(ERROR, 500).delay == 1


@pytest.mark.parametrize(("backoff", "longest"), [(0, 0), (0.001, 0.01)])
def test_backoff_has_no_end_of_restarts(backoff: float, longest: float) -> None:
    rules = Supervision("restart", max_restarts=2000, backoff=backoff, max_backoff=0.01)
    supervisor = Supervisor(rules)
    decisions = [supervisor.decide(ERROR, 0) for _ in range(1100)]
    assert {each.strategy for each in decisions} == {"restart"}
    assert decisions[-1].delay == longest


def test_the_strategy_may_depend_on_the_error() -> None:
    rules = Supervision(lambda error: "resume" if isinstance(error, ValueError) else "stop")
    assert Supervisor(rules).decide(ERROR, 0).strategy == "resume"
    assert Supervisor(rules).decide(KeyError(), 0).strategy == "stop"


def test_a_strategy_function_that_fails_or_answers_nonsense_stops_the_actor() -> None:
    def broken(error: Exception) -> Any:
        raise RuntimeError("no idea")

    assert Supervisor(Supervision(broken)).decide(ERROR, 0).strategy == "stop"
    nonsense: Any = lambda error: "panic"  # noqa: E731
    assert Supervisor(Supervision(nonsense)).decide(ERROR, 0).strategy == "stop"


def test_who_restarts_with_whom() -> None:
    members = ["a", "b", "c"]
    assert affected("one_for_one", members, "b") == ["b"]
    assert affected("one_for_all", members, "b") == ["a", "b", "c"]
    assert affected("rest_for_one", members, "b") == ["b", "c"]


def test_all_that_is_wrong_with_rules_is_said_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Supervision("panic", max_restarts=-1, within=0)  # type: ignore[arg-type]
    assert [problem.where.split(".")[1] for problem in caught.value.problems] == [
        "strategy",
        "max_restarts",
        "within",
    ]


def test_a_strategy_alone_is_short_for_rules() -> None:
    assert as_supervision("resume") == Supervision("resume")
    assert as_supervision(None).strategy == "stop"


@given(st.lists(st.floats(0, 20), min_size=1, max_size=40), st.integers(0, 4), st.floats(0.5, 10))
def test_no_period_ever_sees_more_restarts_than_the_budget(
    gaps: list[float], most: int, within: float
) -> None:
    supervisor = Supervisor(Supervision("restart", max_restarts=most, within=within))
    now, restarts = 0.0, []
    for gap in gaps:
        now += gap
        if supervisor.decide(ERROR, now).strategy == "restart":
            restarts.append(now)
    for start in restarts:
        assert sum(start <= when < start + within for when in restarts) <= most
