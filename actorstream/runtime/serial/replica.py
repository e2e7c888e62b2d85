"""A replica whose rows get their place in a serial sequence. One whose rows need none knows nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.errors import SchemaError
from actorstream.runtime.replica import Replica

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.serial.numbering import Stamp

ASIDE = ("on_start", "on_timer")
"""Hooks whose rows belong to no serial number of the input."""


class NumberedReplica(Replica):
    """Stamps what it emits before it is pushed, and what it promises. `stamp` is set before the first hook runs."""

    stamp: Stamp

    def forward(self, batch: Batch, output: str = "default") -> None:
        batch = batch.sealed()  # type: ignore[assignment]
        parts = self.stamp.parts(batch)
        while True:
            try:
                part = next(parts, None)
            except SchemaError as error:
                raise self.unfit(error) from error
            if part is None:
                return
            super().forward(part, output)

    def dispatch(self) -> None:
        super().dispatch()
        self.stamp.aside = False

    def advance(self, frontier: int) -> None:
        if frontier > self.frontier:
            self.stamp.fire()
            super().advance(frontier)

    def _promise(self, frontier: int) -> None:
        self.stamp.pass_on()
        super()._promise(frontier)
        self.stamp.passed()

    def call(self, hook: str, *arguments: Any) -> Any:
        self.stamp.aside = hook in ASIDE
        return super().call(hook, *arguments)
