"""Rows that an expression has no value for, told one by one to the actor's `on_error`; the others go on. So an operator
needs no search for them, and one that keeps state is asked once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.representation import shown_rows

if TYPE_CHECKING:
    from actorstream.actors.actor import Actor
    from actorstream.events.batch import Batch
    from actorstream.operators.expressions import RowErrors


def without_failed(actor: Actor, batch: Batch, errors: RowErrors) -> Batch:
    """The rows of `batch` that have a value, once each of the others was skipped or made a dead letter.

    OperatorError for the first of them under `on_error = "fail"`."""
    for event, error in zip(shown_rows(batch.take(errors.rows)), errors.errors()):
        fail_event(actor, event, error)
    good = np.ones(batch.rows, np.bool_)
    good[errors.rows] = False
    return batch.take(good)


def fail_event(actor: Actor, event: Any, error: Exception) -> None:
    """Has `on_error` decide about one event; raises the error where nothing decides (an actor of a System)."""
    actor.context.failed(event, error)
