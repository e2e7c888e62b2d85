"""An exception as it travels between systems: its class by name, its text, its traceback as text. Never pickle.

The receiving side makes an exception of the same class without calling a constructor in Python, and only of classes that
modules it has loaded already contain.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import msgspec

from actorstream.actors.typetable import loaded_class, qualified_name
from actorstream.errors import ActorError

TEXT_LIMIT = 64 << 10
SHORT_TEXT = 1 << 10
"""Bytes of the text of an error that is too large for the peer."""


class RemoteError(ActorError):
    """An actor of another system raised an exception of a class that this process does not know.

    `type_name` is its `module:Class`, `remote_traceback` the traceback's text."""

    type_name: str = ""
    remote_traceback: str = ""


class Failure(msgspec.Struct, array_like=True):
    """An exception as it travels: its class by name, and what is needed to make it anew on the other side."""

    type: str
    text: str
    args: list[Any]
    attributes: dict[str, Any]
    traceback: str
    where: str
    """`system/actor` that raised it."""


def describe(error: BaseException, where: str) -> Failure:
    """Makes an exception ready to travel, without those arguments and attributes that msgpack cannot carry. Raises nothing,
    since the asker would wait for ever."""
    try:
        text = portable(str(error))
    except Exception:
        text = "(its text cannot be made)"
    kind = portable(qualified_name(type(error)))
    try:
        trace = portable("".join(traceback.format_exception(error)))
        return Failure(kind, text, _arguments(error, text), _attributes(error), trace[-TEXT_LIMIT:], where)
    except Exception:  # a class whose `args` are not those of an exception
        return Failure(kind, text, [text], {}, "", where)


def shortened(failure: Failure) -> Iterator[Failure]:
    """Shorter forms of a failure that is too large to travel, the longest first."""
    text = portable(failure.text[:SHORT_TEXT], SHORT_TEXT)
    yield Failure(failure.type, text, [text], {}, "", failure.where)
    yield Failure("", "", [], {}, "", "")


def portable(text: str, limit: int | None = None) -> str:
    """A text as UTF-8 can carry it, of at most so many bytes: half of a surrogate pair is written as its number."""
    data = text.encode(errors="backslashreplace")[:limit]
    return data.decode(errors="ignore")


def _arguments(error: BaseException, text: str) -> list[Any]:
    args = list(error.args)
    if isinstance(error, OSError) and len(args) == 2 and error.filename is not None:
        args.append(error.filename)  # OSError takes it from its arguments, then hides it
    return args if all(map(_carried, args)) else [text]


def _attributes(error: BaseException) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(error).items()
        if not name.startswith("_") and _carried(name) and _carried(value)
    }


def rebuild(failure: Failure) -> Exception:
    """The exception to raise here; the remote traceback is a note on it."""
    cls = loaded_class(failure.type)
    error: Exception | None = None
    if isinstance(cls, type) and issubclass(cls, Exception) and not issubclass(cls, StopIteration):
        try:
            error = cls.__new__(cls, *failure.args)
            # UnicodeDecodeError and a few others keep what their text is made of outside of `args`
            builtin = next(base for base in cls.__mro__ if base.__module__ == "builtins")
            builtin.__init__(error, *failure.args)  # type: ignore[misc]
            if not isinstance(error, OSError):
                error.args = tuple(failure.args)
            error.__dict__.update(failure.attributes)
            str(error)
        except Exception:
            error = None
    if error is None:
        error = RemoteError(f"{failure.where} raised {failure.type}: {failure.text}")
        error.type_name = failure.type
    error.__dict__["remote_traceback"] = failure.traceback
    error.add_note(f"raised by {failure.where}:\n{failure.traceback}")
    return error


_encoder = msgspec.msgpack.Encoder()


def _carried(value: Any) -> bool:
    if isinstance(value, msgspec.Struct):
        return False
    try:
        return len(_encoder.encode(value)) <= TEXT_LIMIT
    except Exception:
        return False
