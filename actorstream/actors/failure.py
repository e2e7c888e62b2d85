"""An exception as it travels between systems: its class by name, its text, its traceback as text. Never pickle.

The receiving side makes an exception of the same class without calling its constructor, and only of classes that
modules it has loaded already contain.
"""

from __future__ import annotations

import traceback
from typing import Any

import msgspec

from actorstream.actors.typetable import loaded_class, qualified_name
from actorstream.errors import ActorError

TEXT_LIMIT = 64 << 10


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
    """What travels. Arguments and attributes that msgpack cannot carry are left out."""
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be made)"
    args = list(error.args)
    if isinstance(error, OSError) and len(args) == 2 and error.filename is not None:
        args.append(error.filename)  # OSError takes it from its arguments, then hides it
    if not all(_carried(value) for value in args):
        args = [text]
    attributes = {
        name: value for name, value in vars(error).items() if not name.startswith("_") and _carried(value)
    }
    trace = "".join(traceback.format_exception(error))
    return Failure(qualified_name(type(error)), text, args, attributes, trace[-TEXT_LIMIT:], where)


def rebuild(failure: Failure) -> Exception:
    """The exception to raise here; the remote traceback is a note on it."""
    cls = loaded_class(failure.type)
    error: Exception | None = None
    if isinstance(cls, type) and issubclass(cls, Exception) and not issubclass(cls, StopIteration):
        try:
            error = cls.__new__(cls, *failure.args)
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
