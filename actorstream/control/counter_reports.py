"""Sends a worker's counters to the host of its run, where that cannot read them in shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.control.messages import Counted

if TYPE_CHECKING:
    import asyncio

    from actorstream.control.link import ControlLink
    from actorstream.metrics.counters import CounterTable

EVERY_S = 0.2
"""As often as the live table shows them."""


class CounterReports:
    """The counters of one worker.

    Args:
        process: which worker. replicas: those that run in it, whose rows of `table` it writes.
    """

    def __init__(self, process: int, control: ControlLink, table: CounterTable, replicas: list[int]) -> None:
        self.process, self.control, self.table, self.replicas = process, control, table, replicas
        self._timer: asyncio.TimerHandle | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Sends what has changed every now and then from now on."""
        self._timer = loop.call_later(EVERY_S, self._send_and_go_on, loop)

    def close(self) -> None:
        """Sends what has changed, for the last time."""
        if self._timer is not None:
            self._timer.cancel()
        self._send()

    def _send_and_go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        self._send()
        self.open(loop)

    def _send(self) -> None:
        changed = self.table.changed(self.replicas)
        if changed:
            self.control.send(Counted(self.process, changed))
