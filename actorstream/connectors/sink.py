"""Sink: the base class of what takes rows out of a dataflow, in two phases. Knows nothing of files or the
runtime."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

END = 2**63 - 1
"""The barrier number at the end of input: what is prepared under it becomes visible when it is committed."""


class Sink(Actor):
    """Base class of sinks. The least that one needs is a hook that takes rows::

        class Alarm(Sink):
            def on_event(self, event: Alert) -> None:       # or on_batch(self, batch): many rows, as columns
                send(event.text)

    Such a sink shows its effects at once. One whose effects become visible all together or not at all also
    overrides the three methods of a two-phase commit:

    * `prepare(barrier)` makes everything received so far safe, but not visible, and answers a token of
      plain values that msgpack can carry. All workers have prepared before anyone commits.
    * `commit(token)` makes what was prepared visible; `abort(token)` undoes it, and with None drops
      whatever was received and not prepared. Both may be called again, and in another process that only
      has the token.

    Barriers are positive numbers that ascend; `END` is the last. What is prepared under an earlier barrier
    only has to be safe, so that `restore` of a later run can go on from it.
    """

    role: ClassVar[str] = "sink"
    contract: ClassVar[Contract] = Contract(one_stream=True)

    _prepared: Any = None

    def prepare(self, barrier: int) -> Any:
        """Makes what was received safe; the token for `commit` or `abort`, or None if there is nothing to
        do."""
        return None

    def commit(self, token: Any) -> None:
        """Makes visible what `token` stands for. Idempotent."""

    def abort(self, token: Any) -> None:
        """Undoes what `token` stands for, unless it was committed; None: drops what is not prepared.
        Idempotent."""

    def collected(self) -> list[bytes]:
        """What an in-memory sink received, as Arrow IPC streams, for the launcher to hand to its caller."""
        return []

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return cls.outputs

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Any]:
        """A sink has no outputs unless it declares them."""
        return dict(cls.outputs)
