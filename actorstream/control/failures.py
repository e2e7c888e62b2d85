"""Errors on their way from a worker to the coordinator: what is told of them, and what is made of that there."""

from __future__ import annotations

import traceback

from actorstream.actors.operator_errors import PACKAGE
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
    if isinstance(error, SystemExit):
        return Failed(worker, kind, _exit_text(worker, error))
    lines = "".join(traceback.format_exception(error))
    return Failed(worker, kind, f"worker {worker} failed: {kind}: {error}\n{lines}")


def _exit_text(worker: int, error: SystemExit) -> str:
    """Describes a hook that called sys.exit, with the lines of its traceback that are the user's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [number for number, frame in enumerate(frames) if frame.filename.startswith(PACKAGE)]
    lines = traceback.format_list(frames[own[-1] + 1 if own else 0 :])
    text = f"worker {worker} failed: a hook called sys.exit({error.code!r}); raise an error in it instead"
    return "\n".join([text, *("".join(lines).rstrip().splitlines())])


def reported_error(message: Failed) -> RunError:
    """The error that a worker reported, as far as it can be made again here."""
    if message.operator is not None:
        return OperatorError(*message.operator)
    return RunError(message.text)
