"""Errors of an actor's hooks as typed errors: who raised, on what, and the traceback of the user's code."""

from __future__ import annotations

import os
import traceback
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.errors import ActorstreamError, OperatorError, SchemaError
from actorstream.events.batch import Batch
from actorstream.events.representation import shown_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

EVENT_PREVIEW = 2000
"""Characters of a value that an error shows."""
ENGINE = ("/actorstream/runtime/", "/actorstream/plan/", "/actorstream/actors/awaited.py")
"""Rooms whose lines a traceback leaves out."""
PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def preview(item: Any) -> str:
    """An event or batch as text of bounded length."""
    if item is None:
        return ""
    try:
        if isinstance(item, Batch) and item.rows:
            text = repr(shown_rows(item.slice(0, 1))[0])
            if item.rows > 1:
                text = f"a batch of {item.rows} rows, the first {text}"
        else:
            text = repr(item)
    except Exception as error:
        text = f"a {type(item).__name__} that cannot be shown: {error}"
    return text if len(text) <= EVENT_PREVIEW else f"{text[:EVENT_PREVIEW]}... ({len(text)} characters)"


def described(error: BaseException) -> str:
    """An error as one text, whatever its own methods do."""
    name = type(error).__name__
    try:
        return f"{name}: {text}" if (text := str(error)) else name
    except Exception as wrong:
        return f"{name} (its text cannot be shown: {type(wrong).__name__})"


def operator_error(actor: str, replica: int, what: Any, error: BaseException) -> OperatorError:
    """The typed error of a hook that raised, with the traceback from the user's code on; without one for an error that says all
    itself: one of this package's own, raised with no line of the user's in between."""
    if isinstance(error, OperatorError):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not any(room in frame.filename for room in ENGINE)]
    lines = traceback.format_list(own or frames) + traceback.format_exception_only(error)
    if isinstance(error, ActorstreamError) and all(frame.filename.startswith(PACKAGE) for frame in frames):
        lines = []
    title = str(error) if isinstance(error, ActorstreamError) else described(error)
    return OperatorError(actor, replica, title, preview(what), "".join(lines))


class HookOf:
    """`with HookOf(replica):` OperatorError in place of an exception that a hook of the replica raises within."""

    __slots__ = ("_replica",)

    def __init__(self, replica: Any) -> None:
        self._replica = replica

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            raise operator_error(self._replica.name, self._replica.replica, None, error) from error


def stopped() -> RuntimeError:
    """The error in place of a StopIteration of a hook, which `map` takes for the end of the events."""
    return RuntimeError(
        "the hook raised StopIteration, as next() does where nothing is left; give next() a default"
    )


def promised(actor: str, replica: int, hook: Callable[[int], Any], at: int, *, nothing: bool = False) -> Any:
    """The event time that a hook (`promise`, `lower_bound`) gives at `at`: an int, whatever kind of integer the hook
    returned. `nothing`: it may return None. Raises OperatorError if the hook raises or returns anything else."""
    try:
        bound = hook(at)
    except Exception as error:
        raise operator_error(actor, replica, None, error) from error
    if bound is None and nothing:
        return None
    try:
        return index(bound)
    except TypeError:
        said = f"{hook.__name__} returned {preview(bound) or None}, where an event time is wanted: an int"
        raise OperatorError(actor, replica, said) from None


def unfit(actor: str, replica: int, error: Exception) -> OperatorError:
    """The error for emitted rows that do not fit their output, or that the route cannot take. `on_error` has no part in it: they
    are converted together, when the hook has long returned."""
    if isinstance(error, SchemaError):
        title = f"what it made cannot be sent on: {error}; `on_error` decides only about what a hook raises"
        return OperatorError(actor, replica, title)
    return operator_error(actor, replica, None, error)
