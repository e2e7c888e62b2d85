"""What an order does to the rows that a replica emits, and to its promises, before they go along its edges. A replica none
of whose consumers asks for an order has no stamp."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.replica import Replica


class Stamp(ABC):
    """The sender's side of an order, for one replica. It sends by `Replica.send` and `Replica.send_promise`.

    Attributes:
        in_band: whether event time travels among the rows, so that it must rise at the same rows in every run.
        settles: whether all that comes of a batch must be emitted before its hook returns, to have its place.
    """

    in_band: ClassVar[bool] = False
    settles: bool = False

    def __init__(self, replica: Replica) -> None:
        self.replica = replica

    @abstractmethod
    def forward(self, batch: Batch, output: str) -> None:
        """Sends the rows that were emitted to an output, as they go in this order; some may wait here."""

    def begins(self, hook: str) -> None:
        """What is emitted from now on is that of a hook that gets no rows of the input."""

    def ends(self, hook: str) -> None:
        """All that such a hook has emitted was forwarded."""

    def rises(self) -> None:
        """A higher promise is about to be given to the actor, and then sent."""

    def promise(self, frontier: int) -> None:
        """Sends the promise that no row below `frontier` will be emitted."""
        self.replica.send_promise(frontier)

    def end(self) -> None:
        """The input has ended: what the actor emits now is its last."""

    def kept(self) -> Any:
        """What a checkpoint keeps of it: plain values; None: nothing."""
        return None

    def take_back(self, kept: Any) -> None:
        """Goes on behind a checkpoint, with what `kept` has returned."""
