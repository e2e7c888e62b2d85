"""The sender's side of an order. A stamp gives the rows and promises of a replica their place in the order before they go
along its edges. A replica has no stamp if none of its consumers asks for an order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.replica import Replica

REPLICA_SHIFT = 40
"""Where the replica's number stands in a count of rows of several replicas, above the rows of each."""


class Stamp(ABC):
    """The sender's side of an order, for one replica. It sends with `Replica.send` and `Promises.send`.

    Attributes:
        in_band: whether event time travels among the rows, so that it must rise at the same rows in every run.
        by_time: whether rows leave the replica in the order of their time.
        places_rows: whether it gives rows a place of their own, or checks them. If not, rows that descend from rows of the input
            one by one go on with the places that they have, so that a chain may pass the stamp by.
        settles: whether a hook must emit all outputs of a batch before it returns, so that they get their place.
    """

    in_band: ClassVar[bool] = False
    by_time: ClassVar[bool] = False
    settles: bool = False
    places_rows: bool = True

    def __init__(self, replica: Replica) -> None:
        self.replica = replica

    @abstractmethod
    def forward(self, batch: Batch, output: str) -> None:
        """Sends rows that were emitted to an output, in their place in the order; some may wait here."""

    def begins(self, hook: str) -> None:
        """A hook begins that gets no rows of the input (a timer, say): rows emitted from now on are its rows."""

    def ends(self, hook: str) -> None:
        """All rows that such a hook has emitted were forwarded."""

    def rises(self) -> None:
        """The actor is about to hear of a higher promise, which is sent after that."""

    def promise(self, frontier: int) -> None:
        """Sends the promise that the actor makes now that its input has reached `frontier`."""
        self.replica.promises.send(self.replica.promises.of(frontier))

    def end(self) -> None:
        """The input has ended: rows emitted from now on are the actor's last."""

    def snapshot(self) -> Any:
        """What a checkpoint keeps of the stamp, as plain values; None: nothing."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Restores what `snapshot` returned when the checkpoint was made."""
