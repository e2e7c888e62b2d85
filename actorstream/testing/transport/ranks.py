"""Runs the checks on a transport whose ranks start on their own: each rank plays its role, nobody forks."""

from __future__ import annotations

import asyncio
from typing import Any

from actorstream.testing.transport.case import LoopFactory, play
from actorstream.testing.transport.check import Check
from actorstream.testing.transport.side import PLAN
from actorstream.transports.base import Transport


def play_ranks(
    checks: tuple[Check, ...],
    transport_class: type[Transport],
    rank: int,
    size: int,
    *,
    deadline: float = 20.0,
    loop_factory: LoopFactory | None = None,
    **options: Any,
) -> tuple[int, list[str]]:
    """Plays this rank's role in every check for which there are enough ranks and in which no rank is killed.

    Each of `size` ranks calls it with the same checks and the same `options` of `transport_class.fabric`. Returns how
    many checks this rank took part in, and what failed here; the first failure ends it, since the other ranks would wait."""
    played = 0
    for check in checks:
        if check.dies or check.workers > size or not check.applies(transport_class):
            continue
        fabric = transport_class.fabric(check.workers, list(check.channels), PLAN, **options)
        if rank >= check.workers:
            fabric.close()
            continue
        try:
            with asyncio.Runner(loop_factory=loop_factory) as runner:
                runner.run(play(check, transport_class, fabric, rank, deadline))
        except Exception as error:
            return played, [
                f"transport {transport_class.name!r}, check {check.name!r}, rank {rank}: {error!r}"
            ]
        finally:
            fabric.close()
        played += 1
    return played, []
