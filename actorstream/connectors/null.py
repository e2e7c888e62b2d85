"""null-sink: counts rows and forgets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from actorstream.actors.contract import Contract
from actorstream.connectors.sink import Sink

if TYPE_CHECKING:
    from actorstream.events.batch import Batch


class NullSink(Sink):
    """Takes rows and keeps nothing but their number; looks at no column, so nothing is converted for it."""

    contract: ClassVar[Contract] = Contract(one_stream=True, destination="nowhere", reads_rows=False)

    received: int = 0

    def __init__(self) -> None:
        self.received = 0

    def on_batch(self, batch: Batch) -> None:
        self.received += batch.rows
