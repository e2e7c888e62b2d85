"""The conformance suite of transports: the rules of `actorstream.transports.base`, run on anyone's transport.

A plugin's whole test of it::

    @pytest.mark.parametrize("case", transport_cases(MyTransport), ids=str)
    def test_my_transport_keeps_the_rules(case):
        case.run()
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from actorstream.testing.transport.case import LoopFactory, TransportCase, Way, play, ways_of
from actorstream.testing.transport.check import Check
from actorstream.testing.transport.credit import CREDIT
from actorstream.testing.transport.fast_batches import WHOLE_CHECKS
from actorstream.testing.transport.flow import FLOW
from actorstream.testing.transport.loss import LOSS
from actorstream.testing.transport.memory import MEMORY
from actorstream.testing.transport.outside import OUTSIDE
from actorstream.testing.transport.promises import PROMISES
from actorstream.testing.transport.rows import ROWS
from actorstream.testing.transport.runs import RUN_CHECKS
from actorstream.testing.transport.side import CheckFailed
from actorstream.transports.base import Transport

CHECKS: tuple[Check, ...] = (
    *FLOW,
    *ROWS,
    *RUN_CHECKS,
    *WHOLE_CHECKS,
    *CREDIT,
    *PROMISES,
    *MEMORY,
    *LOSS,
    *OUTSIDE,
)

__all__ = ["CHECKS", "CheckFailed", "TransportCase", "Way", "check_transport", "play", "transport_cases"]


def transport_cases(
    transport_class: type[Transport],
    *,
    ways: Iterable[Way] = tuple(Way),
    deadline: float = 20.0,
    loop_factory: LoopFactory | None = None,
    **options: Any,
) -> list[TransportCase]:
    """Every check that applies to the transport, once for each way in which it can run.

    `ways`: TOGETHER (all workers in this process), APART (a forked process each; only where the transport crosses
    processes), HANDED (the same, with the fabric as `take_over` gives it; only where the transport has that).
    `deadline`: seconds that a worker waits for a doorbell before the check fails.
    `loop_factory`: makes each worker's event loop; None: asyncio's. `options` go to `transport_class.fabric`.
    """
    wanted = set(ways)
    return [
        TransportCase(transport_class, check, way, deadline, loop_factory, options)
        for check in CHECKS
        for way in ways_of(check, transport_class)
        if way in wanted
    ]


def check_transport(
    transport_class: type[Transport],
    *,
    ways: Iterable[Way] = tuple(Way),
    deadline: float = 20.0,
    loop_factory: LoopFactory | None = None,
    **options: Any,
) -> int:
    """Runs the whole suite on a transport; answers how many cases ran.

    Raises CheckFailed with every case that failed. Call it outside an event loop and before starting threads: it
    forks. A transport whose ranks start on their own runs `play(check, ...)` in each rank instead.
    """
    failures = []
    cases = transport_cases(
        transport_class, ways=ways, deadline=deadline, loop_factory=loop_factory, **options
    )
    for case in cases:
        try:
            case.run()
        except CheckFailed as failure:
            failures.append(str(failure))
    if failures:
        raise CheckFailed(f"{len(failures)} of {len(cases)} cases failed\n" + "\n".join(failures))
    return len(cases)
