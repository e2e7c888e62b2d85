"""Values of a topology (TOML, or Python objects from the builder) to what an annotation asks for. Pure.

Beyond what msgspec converts: Path (relative to the file it was written in), durations, classes and functions
by name, and int where a float is asked for.
"""

from __future__ import annotations

import collections.abc as abc
import datetime
import enum
import inspect
import types
import typing
from pathlib import Path, PurePath
from typing import Any

import msgspec

from actorstream.topology.modules import NotFoundError, load_object
from actorstream.topology.quantities import DURATION_ALLOWED, parse_duration
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.topology.written import PartBase

Base = Path | PartBase
"""The folder from which relative paths start, or the folders of the parts of a value."""
LONGEST_PATH, LONGEST_NAME = 4095, 255
"""Bytes that Linux allows."""
_PLAIN = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
_DATES = {datetime.datetime: "a date and time", datetime.date: "a date", datetime.time: "a time"}
_LISTS = (list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection)
_SETS = (set, frozenset, abc.Set)
_TABLES = (dict, abc.Mapping, abc.MutableMapping)
_ANYTHING = (Any, inspect.Parameter.empty, object)


class MismatchError(Exception):
    """A value is not what its annotation asks for. `path` leads from the value to the wrong part."""

    def __init__(self, value: Any, allowed: str, *, path: tuple[str | int, ...] = (), hint: str = "") -> None:
        super().__init__(f"is {shown(value)}")
        self.value, self.allowed, self.path, self.hint = value, allowed, path, hint
        self.message = f"is {shown(value)}"


def shown(value: Any) -> str:
    """A value as a message shows it: short, and booleans as TOML writes them."""
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except Exception:  # an integer of too many digits, an object whose class cannot show it
        text = f"a value of the type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def convert(value: Any, annotation: Any, base: Base) -> Any:
    """`value` as `annotation` asks for it; relative paths start at `base`. MismatchError if it cannot be."""
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if annotation in _ANYTHING or isinstance(annotation, typing.TypeVar):
        return value
    if annotation is None or annotation is type(None):
        return _check(value is None, value, value, "nothing")
    if origin is typing.Annotated:
        return _annotated(value, annotation, base)
    if origin in (typing.Union, types.UnionType):
        return _union(value, arguments, base)
    if origin is typing.Literal:
        return _literal(value, arguments)
    if isinstance(annotation, typing.NewType):
        return convert(value, annotation.__supertype__, base)
    if origin is type or annotation is type:
        return _class(value, arguments)
    if (origin or annotation) is abc.Callable:
        return _function(value)
    bare = origin or annotation
    if bare in _LISTS or bare in _SETS or bare is tuple:
        return _array(value, bare, arguments, base)
    if bare in _TABLES:
        return _table(value, arguments, base)
    if hasattr(annotation, "of_table"):  # a class that checks its table itself, and raises MismatchError
        return annotation.of_table(value, base)
    if inspect.isclass(annotation) and not typing.is_typeddict(annotation):
        return _instance(value, annotation, base)
    return _by_msgspec(value, annotation)


def allowed_by(annotation: Any) -> str:
    """What an annotation allows, in words."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _ANYTHING:
        return "any value"
    if origin is typing.Annotated:
        described = [
            each.description for each in annotation.__metadata__ if getattr(each, "description", None)
        ]
        return str(described[0]) if described else allowed_by(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(allowed_by(each) for each in arguments if each is not type(None))
    if origin is typing.Literal:
        return listed(shown(each) for each in arguments)
    if inspect.isclass(annotation) and origin is None:
        if annotation is datetime.timedelta:
            return DURATION_ALLOWED
        if issubclass(annotation, PurePath):
            return "a path as text"
        if issubclass(annotation, enum.Enum):
            return listed(shown(member.value) for member in annotation)
        if annotation in _TABLES or hasattr(annotation, "of_table"):
            return "a table"
        if annotation in _LISTS or annotation is tuple or annotation in _SETS:
            return "an array"
        return _PLAIN.get(annotation) or _DATES.get(annotation) or annotation.__name__
    if origin in _TABLES:
        return f"a table of {allowed_by(arguments[-1])}"
    if origin in _LISTS or origin is tuple or origin in _SETS:
        return f"an array of {allowed_by(arguments[0])}"
    if origin is type or annotation is type:
        return 'a class as "package.module:Name"'
    if (origin or annotation) is abc.Callable:
        return 'a function as "package.module:name"'
    return str(annotation)


def expanded(path: str | PurePath) -> Path:
    """The path with the home directory in place of `~`; as it is where no user is called so, as in a shell."""
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError):
        return Path(path)


def _check(right: bool, value: Any, converted: Any, allowed: str) -> Any:
    if not right:
        raise MismatchError(value, allowed)
    return converted


def _annotated(value: Any, annotation: Any, base: Base) -> Any:
    inner = typing.get_args(annotation)[0]
    try:
        converted = convert(value, inner, base)
        if any(isinstance(each, msgspec.Meta) for each in annotation.__metadata__):
            _by_msgspec(converted, annotation)
    except MismatchError as mismatch:
        allowed = mismatch.allowed if mismatch.path else allowed_by(annotation)
        raise MismatchError(mismatch.value, allowed, path=mismatch.path, hint=mismatch.hint) from None
    return converted


def _union(value: Any, members: tuple[Any, ...], base: Base) -> Any:
    for member in members:  # an object of exactly one of the types is not converted to another
        if member is type(value) and not isinstance(value, str):
            return convert(value, member, base)
    mismatches = []
    for member in sorted(members, key=_union_rank):
        try:
            return convert(value, member, base)
        except MismatchError as mismatch:
            mismatches.append(mismatch)
    allowed = " or ".join(dict.fromkeys(allowed_by(each) for each in members if each is not type(None)))
    deepest = max(mismatches, key=lambda mismatch: len(mismatch.path))
    if deepest.path:
        raise deepest
    hints = [mismatch.hint for mismatch in mismatches if mismatch.hint]
    raise MismatchError(value, allowed, hint=hints[0] if hints else "")


def _union_rank(member: Any) -> int:
    """Text is taken as what it can mean before it is taken as mere text."""
    return 1 if member is str else 0


def _literal(value: Any, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if choice == value and type(choice) is type(value):
            return value
    hint = (
        did_you_mean(value, [each for each in choices if isinstance(each, str)])
        if isinstance(value, str)
        else ""
    )
    raise MismatchError(value, listed(shown(each) for each in choices), hint=hint)


def _class(value: Any, arguments: tuple[Any, ...]) -> Any:
    wanted = arguments[0] if arguments and inspect.isclass(arguments[0]) else object
    allowed = 'a class as "package.module:Name"' + (f", a {wanted.__name__}" if wanted is not object else "")
    found = _loaded(value, allowed)
    return _check(inspect.isclass(found) and issubclass(found, wanted), value, found, allowed)


def _function(value: Any) -> Any:
    allowed = 'a function as "package.module:name"'
    found = _loaded(value, allowed)
    return _check(callable(found), value, found, allowed)


def _loaded(value: Any, allowed: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return load_object(value)
    except NotFoundError as error:
        hint = f"{error.message}{'; ' + error.hint if error.hint else ''}"
        raise MismatchError(value, allowed, hint=hint) from None


def _array(value: Any, kind: Any, arguments: tuple[Any, ...], base: Base) -> Any:
    if not isinstance(value, (list, tuple, set, frozenset)):
        if kind in (abc.Iterable, abc.Collection) and not isinstance(value, (str, bytes, int, float)):
            return value
        raise MismatchError(value, "an array" + (f" of {allowed_by(arguments[0])}" if arguments else ""))
    items = list(value)
    if kind in _LISTS and (not arguments or arguments[0] in _ANYTHING):
        return items  # may be millions of events, given in Python
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(items) != len(arguments):
            raise MismatchError(value, f"an array of {len(arguments)} values")
        kinds = list(arguments)
    else:
        kinds = [arguments[0] if arguments else Any] * len(items)
    converted = [
        convert_part(number, item, each, base) for number, (item, each) in enumerate(zip(items, kinds))
    ]
    if kind is tuple:
        return tuple(converted)
    if kind in _SETS:
        return frozenset(converted) if kind is frozenset else set(converted)
    return converted


def _table(value: Any, arguments: tuple[Any, ...], base: Base) -> Any:
    if not isinstance(value, abc.Mapping):
        raise MismatchError(value, "a table")
    kind = arguments[1] if len(arguments) == 2 else Any
    return {key: convert_part(key, item, kind, base) for key, item in value.items()}


def convert_part(step: str | int, value: Any, annotation: Any, base: Base) -> Any:
    """As `convert`, of the part of a value to which `step` leads; a MismatchError has the way to it."""
    if isinstance(base, PartBase):
        base = base.inside(step)
    try:
        return convert(value, annotation, base)
    except MismatchError as mismatch:
        path = (step, *mismatch.path)
        raise MismatchError(mismatch.value, mismatch.allowed, path=path, hint=mismatch.hint) from None


def _instance(value: Any, kind: type, base: Base) -> Any:
    if kind is float:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise MismatchError(value, _PLAIN[float])
        try:
            return value if isinstance(value, float) else float(value)
        except OverflowError:
            raise MismatchError(value, "a number up to 1.7e308") from None
    if kind is int:
        return _check(isinstance(value, int) and not isinstance(value, bool), value, value, _PLAIN[int])
    if kind is datetime.date and isinstance(value, datetime.datetime):
        raise MismatchError(value, _DATES[datetime.date])
    if isinstance(value, kind) and not (isinstance(value, PurePath) and not value.is_absolute()):
        return value
    if issubclass(kind, PurePath):
        _check(isinstance(value, (str, PurePath)) and value != "", value, value, "a path as text")
        path = kind(base / expanded(value))
        text = str(path).encode("utf-8", "surrogatepass")
        if b"\0" in text:
            raise MismatchError(value, "a path without the character NUL")
        if len(text) > LONGEST_PATH or any(len(each) > LONGEST_NAME for each in text.split(b"/")):
            raise MismatchError(
                value, f"a path of at most {LONGEST_PATH} bytes, {LONGEST_NAME} each name in it"
            )
        return path
    if kind is datetime.timedelta and isinstance(value, str):
        try:
            return parse_duration(value)
        except ValueError:
            raise MismatchError(value, DURATION_ALLOWED) from None
    if kind is bytes and isinstance(value, str):
        return value.encode()
    if issubclass(kind, enum.Enum):
        return _enum(value, kind)
    if kind is datetime.timedelta or kind in _PLAIN or kind in _DATES:
        raise MismatchError(value, allowed_by(kind))
    if not _made_of_plain_values(kind):
        raise MismatchError(value, f"an object of {kind.__name__}, given in Python")
    return _by_msgspec(value, kind)


def _made_of_plain_values(kind: type) -> bool:
    """Whether msgspec makes objects of a class from tables, arrays or text: Structs, dataclasses, UUID, Decimal."""
    marks = ("__struct_fields__", "__dataclass_fields__", "__attrs_attrs__", "_fields")
    return kind.__module__ in ("uuid", "decimal") or any(hasattr(kind, mark) for mark in marks)


def _enum(value: Any, kind: type[enum.Enum]) -> Any:
    try:
        return kind(value)
    except ValueError:
        if isinstance(value, str) and value in kind.__members__:
            return kind[value]
    choices = [str(member.value) for member in kind]
    raise MismatchError(
        value, listed(shown(member.value) for member in kind), hint=did_you_mean(str(value), choices)
    )


def _by_msgspec(value: Any, annotation: Any) -> Any:
    try:
        return msgspec.convert(value, annotation)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        allowed = what.replace("Expected ", "").replace("`", "") + (
            f" at {where.strip('.`')}" if where else ""
        )
        raise MismatchError(value, allowed) from None
    except UnicodeError:
        raise MismatchError(value, allowed_by(annotation)) from None
    except TypeError:  # an annotation that msgspec does not know
        raise MismatchError(value, f"an object of {allowed_by(annotation)}, given in Python") from None
