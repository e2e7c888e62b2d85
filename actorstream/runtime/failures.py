"""Failures: what `on_error` says about events that made a hook raise, and the errors and dead letters of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actorstream.actors.operator_errors import described, operator_error, preview
from actorstream.errors import OperatorError, SchemaError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.representation import shown_rows

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.runtime.hooks import Outbox


class Failures:
    """`on_error` of one actor: raise, count and skip, or make dead letters."""

    __slots__ = ("actor", "dead", "given", "mode", "outbox", "replica")

    def __init__(self, actor: str, replica: int, mode: str, outbox: Outbox) -> None:
        self.actor, self.replica, self.mode, self.outbox = actor, replica, mode, outbox
        self.dead = 0
        self.given: tuple[Schema, Callable[[Exception], Exception] | None] | None = None
        """What the hook works on: the schema it should be of, and how to blame who made it."""

    def failed(self, what: Any, error: Exception) -> None:
        """Decides about one event (or batch) that made a hook raise; OperatorError under `on_error = "fail"`, and always
        one of the actor upstream if `what` is not what it says to emit."""
        if isinstance(error, OperatorError):
            raise error
        if isinstance(what, Batch) and what.rows == 1:
            what = shown_rows(what)[0]
        self._blame_maker(what, error)
        if self.mode == "fail":
            raise operator_error(self.actor, self.replica, what, error) from error
        self.dead += what.rows if isinstance(what, Batch) else 1
        if self.mode == "dead-letter":
            text = described(error)
            for event in shown_rows(what) if isinstance(what, Batch) else [what]:
                self.outbox.emit(DeadLetter(preview(event), text, self.actor), "dead")

    def _blame_maker(self, what: Any, error: Exception) -> None:
        schema, unfit = self.given or (None, None)
        if schema is None or unfit is None or isinstance(what, Batch) or not schema.names_attributes:
            return  # a batch finds out itself, and rows of names that are no attributes are never made as events
        try:
            Batch.of_events(schema, [what]).columns()
        except SchemaError as wrong:
            raise unfit(wrong) from error


class DeadLetter(Event):
    """A row of every actor's `.dead` output: the event as text, the error, the operator that raised."""

    event: str
    error: str
    operator: str
