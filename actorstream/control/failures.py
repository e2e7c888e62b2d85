"""Errors on their way from a worker to the coordinator: what is told of them, and what is made of that there."""

from __future__ import annotations

import traceback

from actorstream.control.messages import Failed
from actorstream.errors import ActorstreamError, OperatorError, RunError

CONSEQUENCES = frozenset({"BrokenError", "ClosedError"})
"""Kinds of errors that follow where another worker was lost first."""


class Aborted(RunError):
    """The coordinator said stop, or is gone."""


def failed_message(worker: int, error: BaseException) -> Failed:
    """What the coordinator is told of an error."""
    kind = type(error).__name__
    if isinstance(error, OperatorError):
        details = (error.actor, error.replica, error.error, error.event, error.traceback)
        return Failed(worker, kind, str(error), details)
    if isinstance(error, ActorstreamError):
        return Failed(worker, kind, str(error))
    lines = "".join(traceback.format_exception(error))
    return Failed(worker, kind, f"worker {worker} failed: {kind}: {error}\n{lines}")


def reported_error(message: Failed) -> RunError:
    """The error that a worker reported, as far as it can be made again here."""
    if message.operator is not None:
        return OperatorError(*message.operator)
    return RunError(message.text)
