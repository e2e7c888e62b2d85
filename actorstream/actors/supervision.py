"""What happens when a control actor fails: strategy, siblings, restart budget, backoff. Pure: time is an argument.

The terms are Erlang/OTP's: a parent supervises its children, and a failure it cannot heal is its own failure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import msgspec

from actorstream.errors import ConfigurationError, Problem

Strategy = Literal["restart", "resume", "stop", "escalate"]
Grouping = Literal["one_for_one", "one_for_all", "rest_for_one"]

STRATEGIES: tuple[str, ...] = get_args(Strategy)
GROUPINGS: tuple[str, ...] = get_args(Grouping)


class Supervision(msgspec.Struct, frozen=True):
    """What the parent does when this actor raises and the error has no asker to go to.

    strategy: "restart" (a new instance; state, timers, watches and children are dropped, the mailbox is kept),
        "resume" (the same instance goes on with the next message), "stop", or "escalate" (the parent has failed);
        or a function of the exception that returns one of these.
    max_restarts: restarts allowed within any `within` seconds; one more escalates.
    backoff: seconds before a restart; each further restart within the period waits `factor` times longer, up to
        `max_backoff`. No jitter, so a run can be repeated.
    """

    strategy: Strategy | Callable[[Exception], Strategy] = "stop"
    max_restarts: int = 3
    within: float = 60.0
    backoff: float = 0.0
    factor: float = 2.0
    max_backoff: float = 30.0

    def __post_init__(self) -> None:
        problems = []
        if not callable(self.strategy) and self.strategy not in STRATEGIES:
            problems.append(
                Problem(
                    "supervision.strategy", f"is {self.strategy!r}", f"{', '.join(STRATEGIES)}, or a function"
                )
            )
        least: dict[str, float] = {"max_restarts": 0, "backoff": 0, "factor": 1, "max_backoff": 0}
        for name, bound in least.items():
            if not getattr(self, name) >= bound:
                problems.append(
                    Problem(f"supervision.{name}", f"is {getattr(self, name)}", f"at least {bound}")
                )
        if not self.within > 0:
            problems.append(Problem("supervision.within", f"is {self.within}", "more than 0 seconds"))
        if problems:
            raise ConfigurationError(problems)


class Decision(msgspec.Struct, frozen=True):
    """What to do about one failure. `delay`: seconds before a restart. `why`: for the log."""

    strategy: Strategy
    delay: float = 0.0
    why: str = ""


class Supervisor:
    """Decides about the failures of one actor and keeps its restart budget."""

    __slots__ = ("_restarts", "rules")

    def __init__(self, rules: Supervision) -> None:
        self.rules = rules
        self._restarts: deque[float] = deque()

    def decide(self, error: Exception, now: float) -> Decision:
        """`now`: seconds of any monotone clock. A restart is counted when it is decided."""
        rules = self.rules
        strategy: Any = rules.strategy
        if callable(strategy):
            try:
                strategy = strategy(error)
            except Exception as broken:
                return Decision("stop", why=f"its supervision function raised {broken!r}")
            if strategy not in STRATEGIES:
                return Decision("stop", why=f"its supervision function returned {strategy!r}")
        if strategy != "restart":
            return Decision(strategy)
        restarts = self._restarts
        while restarts and restarts[0] <= now - rules.within:
            restarts.popleft()
        if len(restarts) >= rules.max_restarts:
            return Decision(
                "escalate", why=f"more than {rules.max_restarts} restarts within {rules.within:g} s"
            )
        try:
            delay = min(rules.max_backoff, rules.backoff and rules.backoff * rules.factor ** len(restarts))
        except OverflowError:
            delay = rules.max_backoff
        restarts.append(now)
        return Decision("restart", delay)

    @property
    def restarts(self) -> int:
        """Restarts that still count."""
        return len(self._restarts)


def affected(grouping: Grouping, members: Sequence[str], failed: str) -> list[str]:
    """The members of a group, given in start order, that restart when `failed` does; in start order."""
    if grouping == "one_for_all":
        return list(members)
    if grouping == "rest_for_one":
        return list(members[members.index(failed) :])
    return [failed]


def as_supervision(value: Supervision | str | None) -> Supervision:
    """What a class or a `spawn` says, as `Supervision`: the default, or a strategy by name."""
    if value is None:
        return Supervision()
    if isinstance(value, Supervision):
        return value
    return Supervision(strategy=value)  # type: ignore[arg-type]
