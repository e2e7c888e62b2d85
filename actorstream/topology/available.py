"""What this installation can run, of what a topology or deployment may name. Passed in: checks stay pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from importlib.metadata import entry_points

import msgspec

from actorstream.errors import Problem
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.hosts import check_hosts
from actorstream.topology.spec import ORDERS
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.topology.written import Written

TRANSPORTS = ("local", "shm", "mpi", "zmq")
SCHEDULES = ("none", "ct", "lp", "et", "qst")
PLACEMENTS = ("spread", "round-robin", "first-fit", "rlas")


class Available(msgspec.Struct, frozen=True):
    """Names that can be used now; others that are promised are "not available in this version"."""

    orders: tuple[str, ...] = ("none",)
    transports: tuple[str, ...] = ("local", "shm")
    schedules: tuple[str, ...] = ("none",)
    placements: tuple[str, ...] = ("spread", "round-robin", "first-fit")

    @classmethod
    def installed(
        cls,
        *,
        orders: Iterable[str] = ("none",),
        placements: Iterable[str] = ("spread", "round-robin", "first-fit"),
        schedules: Iterable[str] = ("none",),
    ) -> Available:
        """The transports that installed packages register, and what the tables of orders, schedules and placements
        have."""
        transports = sorted({point.name for point in entry_points(group="actorstream.transports")})
        return cls(
            orders=tuple(orders),
            transports=tuple(transports),
            schedules=tuple(schedules),
            placements=tuple(placements),
        )


def choice_problem(
    value: str, known: Iterable[str], available: Iterable[str], path: tuple[str | int, ...], written: Written
) -> Problem | None:
    """Why a named choice cannot be used, or None: unknown, or known and not available in this version."""
    offered = list(available)
    if value in offered:
        return None
    if value in known:
        return written.problem(path, f"{value!r} is not available in this version", listed(offered))
    return written.problem(path, f"is {value!r}", listed(offered), did_you_mean(value, [*offered, *known]))


def order_problem(
    value: str, available: Available, path: tuple[str | int, ...], written: Written
) -> Problem | None:
    """As `choice_problem`, of the `order` of an input."""
    return choice_problem(value, ORDERS, available.orders, path, written)


def check_deploy(deploy: DeploySpec, available: Available, written: Written, problems: list[Problem]) -> None:
    """Adds a problem for each choice of a deployment that this installation does not have."""
    for key, known, offered in (
        ("transport", TRANSPORTS, available.transports),
        ("schedule", SCHEDULES, available.schedules),
        ("placement", PLACEMENTS, available.placements),
    ):
        problem = choice_problem(getattr(deploy, key), known, offered, (key,), written)
        if problem is not None:
            problems.append(problem)
    if deploy.placement == "rlas" and deploy.rlas is None and "rlas" in available.placements:
        allowed = "[rlas] with profile = FILE beside it"
        hint = "measure with actorstream profile TOPOLOGY --out FILE"
        problems.append(
            written.problem(("placement",), "is 'rlas' without a profile to plan from", allowed, hint)
        )
    problems += [
        written.problem(path, f"is {duration.total_seconds():g} s", "a duration longer than 0")
        for path, duration in _durations(deploy)
        if duration <= timedelta(0)
    ]
    problems += check_hosts(deploy.hosts, deploy.network, deploy.transport, deploy.workers, written)
    if deploy.same_host not in ("shm", deploy.transport):
        allowed = listed(dict.fromkeys(("shm", deploy.transport)))
        problems.append(written.problem(("same_host",), f"is {deploy.same_host!r}", allowed))
    if deploy.threads and deploy.schedule == "none":
        hint = "set schedule to say which operator they run next, or threads = 0"
        problems.append(written.problem(("threads",), f"is {deploy.threads} without a schedule", "0", hint))


def _durations(deploy: DeploySpec) -> list[tuple[tuple[str, ...], timedelta]]:
    """The durations that must be longer than 0."""
    found: list[tuple[tuple[str, ...], timedelta]] = [
        ((key,), getattr(deploy, key)) for key in ("heartbeat_every", "slice", "ct_window")
    ]
    if deploy.checkpoint is not None:
        found.append((("checkpoint", "every"), deploy.checkpoint.every))
    return found
