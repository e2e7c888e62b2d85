"""Schema: the ordered fields of one kind of event, with a fingerprint that every process computes alike.

Immutable. Knows how rows look, not where they lie.
"""

from __future__ import annotations

import hashlib
import json
import keyword
import typing
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.errors import SchemaError
from actorstream.events.annotation import field_of
from actorstream.events.event import Event, EventMeta
from actorstream.events.fields import INTEGERS, SYSTEM_NAMES, Field, Kind, nearest_text

if TYPE_CHECKING:
    import pyarrow as pa

TIME_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Time unit -> nanoseconds."""

_NAMED: dict[str, Kind] = {
    "int": Kind.INT64,
    "float": Kind.FLOAT64,
    "str": Kind.STRING,
    **{kind.value: kind for kind in Kind if kind not in (Kind.DICTIONARY, Kind.MSGPACK)},
}


class Schema:
    """The fields of an Event class, or of a file with a header.

    Attributes:
        name: the class's name; not part of the fingerprint.
        fields: user fields, then the system columns of an edge (`with_system`).
        event_time: the field that is the event time, or None (then rows may carry a `_time` system column).
        time_unit: unit of an integer event time, "s", "ms", "us" or "ns"; "us" for a datetime.
        fingerprint: 64 unsigned bits over names, kinds, nullability, categories, event time and unit.
        user: this schema without system columns (itself if it has none).
        system: names of the system columns.
        fixed: whether every column is fixed-width and without nulls.
        bounded: whether every column is fixed-width, so that all rows have about `row_bytes` bytes.
        widths: bytes a value of each column, 0: variable.
        restricted: the fields that an array of their type may hold wrong values for: times, codes, nulls.
    """

    __slots__ = (
        "__weakref__",
        "_arrow",
        "_class",
        "_index",
        "_layout",
        "_names",
        "_rows",
        "bounded",
        "event_time",
        "fields",
        "fingerprint",
        "fixed",
        "name",
        "restricted",
        "row_bytes",
        "system",
        "time_unit",
        "user",
        "widths",
    )

    def __init__(
        self,
        name: str,
        fields: tuple[Field, ...],
        event_time: str | None = None,
        time_unit: str = "ms",
        *,
        event_class: type[Event] | None = None,
        system: tuple[str, ...] = (),
        user: Schema | None = None,
    ) -> None:
        self.name = name
        self.fields = fields
        self._names = tuple(field.name for field in fields)
        self._index = {name: index for index, name in enumerate(self._names)}
        self.event_time = event_time
        self.time_unit = _checked_unit(name, time_unit)
        self.system = system
        self.user = self if user is None else user
        self._class = event_class
        self._arrow: Any = None
        self._rows: Any = None
        self._layout: Any = None
        self.widths: tuple[int, ...] = tuple(field.width for field in fields)
        self.row_bytes = sum(width or 4 for width in self.widths)
        """Bytes of the fixed-width part of a row (offsets of variable columns included)."""
        self.fixed: bool = all(field.plain for field in fields)
        self.bounded: bool = all(self.widths)
        self.restricted: tuple[Field, ...] = tuple(field for field in fields if not field.free)
        if user is None:
            self._check_names()
        if event_time is not None:
            kind = self._check_event_time(event_time)
            if kind is Kind.DATETIME:
                self.time_unit = "us"
        unit = self.time_unit if event_time is not None else ""
        described = [[field.describe() for field in fields], event_time, unit]
        canonical = json.dumps(described, separators=(",", ":"), ensure_ascii=True).encode()
        self.fingerprint = int.from_bytes(hashlib.blake2b(canonical, digest_size=8).digest(), "little")

    # -- where schemas come from ----

    @classmethod
    def of(cls, source: type[Event] | Schema) -> Schema:
        """The schema of an Event class; made once a class. A schema is answered as it is.

        Raises SchemaError if an annotation cannot be resolved or has no encoding, or the event time is not a field.
        """
        if isinstance(source, Schema):
            return source
        found = getattr(source, "__dict__", {}).get("__schema__")
        if found is not None:
            return found  # type: ignore[no-any-return]
        if not (isinstance(source, type) and issubclass(source, msgspec.Struct)):
            raise SchemaError(f"{source!r} is not an Event class; allowed: a subclass of actorstream.Event")
        where = source.__name__
        try:
            hints = typing.get_type_hints(source, include_extras=True)
        except Exception as error:
            raise SchemaError(
                f"the annotations of {source.__module__}.{source.__qualname__} cannot be resolved: {error}; "
                "import the types it names at module level, not only under TYPE_CHECKING"
            ) from error
        fields: list[Field] = []
        event_time: str | None = getattr(source, "__event_time__", None)
        for name in source.__struct_fields__:
            field, is_time = field_of(name, hints[name], where)
            fields.append(field)
            if is_time:
                if event_time not in (None, name):
                    raise SchemaError(
                        f"{where} has two event times, {event_time!r} and {name!r}; allowed: one"
                    )
                event_time = name
        unit = getattr(source, "__time_unit__", None) or "ms"
        event_class: Any = source
        schema = event_class.__schema__ = cls(where, tuple(fields), event_time, unit, event_class=event_class)
        return schema

    @classmethod
    def from_dict(
        cls,
        fields: Mapping[str, str],
        name: str = "Row",
        event_time: str | None = None,
        time_unit: str = "ms",
    ) -> Schema:
        """A schema from field name -> type name: "int", "int32", "float", "str", "bytes", "bool", "datetime", ...;
        a trailing "?" allows nulls."""
        made: list[Field] = []
        for field_name, text in fields.items():
            kind = _NAMED.get(text.removesuffix("?").strip()) if isinstance(text, str) else None
            if kind is None:
                raise SchemaError(
                    f"field {field_name!r} of {name}: {text!r} is not a type"
                    f"{nearest_text(str(text), sorted(_NAMED))} (a trailing '?' allows nulls)"
                )
            made.append(Field(field_name, kind, text.endswith("?")))
        return cls(name, tuple(made), event_time, time_unit)

    @classmethod
    def from_arrow(
        cls,
        schema: pa.Schema,
        name: str = "Row",
        event_time: str | None = None,
        time_unit: str = "ms",
        *,
        nullable: bool | None = None,
    ) -> Schema:
        """The schema of Arrow data. `nullable`: None takes each Arrow field's flag, True or False overrides all."""
        from actorstream.events.arrow import field_of_arrow

        fields = tuple(field_of_arrow(field, nullable, name) for field in schema)
        return cls(name, fields, event_time, time_unit)

    # -- what it answers ----

    def names(self) -> tuple[str, ...]:
        return self._names

    def index(self, name: str) -> int:
        """The position of a field; SchemaError with the nearest name if there is none of that name."""
        try:
            return self._index[name]
        except KeyError:
            known = nearest_text(str(name), list(self._names))
            raise SchemaError(f"{self.name} has no field {name!r}{known}") from None

    def field(self, name: str) -> Field:
        return self.fields[self.index(name)]

    def __contains__(self, name: object) -> bool:
        return name in self._index

    @property
    def time_unit_ns(self) -> int:
        """Nanoseconds in one unit of the event time."""
        return TIME_UNITS[self.time_unit]

    def time_units_in(self, duration: timedelta) -> int:
        """A duration in units of the event time, rounded up: rows that are late by as much as was said are not late."""
        nanoseconds = duration // timedelta(microseconds=1) * 1000
        return -(-nanoseconds // self.time_unit_ns)

    @property
    def names_attributes(self) -> bool:
        """Whether every field can be an attribute, so that rows can be events."""
        return all(map(is_attribute, self.user.names()))

    def event_class(self) -> type[Event]:
        """The class of this schema's events: the user's, or one that is made on first use."""
        if self.user is not self:
            return self.user.event_class()
        if self._class is None:
            self._class = made = self._make_class()
            made.__schema__ = self
        return self._class

    def arrow(self) -> pa.Schema:
        """The Arrow schema of all fields, system columns included; made once."""
        if self._arrow is None:
            import pyarrow as pa

            from actorstream.events.arrow import arrow_type

            fields = [pa.field(field.name, arrow_type(field), field.nullable) for field in self.fields]
            self._arrow = pa.schema(fields)
        return self._arrow

    # -- schemas made from this one ----

    def with_system(self, names: tuple[str, ...]) -> Schema:
        """This schema with int64 system columns (`_time`, `_origin`, `_position`, `_ordinal0`, ...) at the end."""
        names = tuple(names)
        if names == self.system:
            return self
        for name in names:
            if not is_system_name(name):
                raise SchemaError(
                    f"{name!r} is not a system column; allowed: _time, _origin, _position, _watermark, _ordinal0, _ordinal1, ..."
                )
        user = self.user
        fields = user.fields + tuple(Field(name, Kind.INT64) for name in names)
        return Schema(user.name, fields, user.event_time, user.time_unit, system=names, user=user)

    def with_event_time(self, event_time: str | None, time_unit: str | None = None) -> Schema:
        """This schema with another event time; keeps the event class."""
        if self.system:
            return self.user.with_event_time(event_time, time_unit).with_system(self.system)
        return Schema(
            self.name, self.fields, event_time, time_unit or self.time_unit, event_class=self._class
        )

    def select(self, names: tuple[str, ...] | list[str], name: str | None = None) -> Schema:
        """Only these user fields, in this order; the event time stays if it is among them."""
        fields = tuple(self.user.field(each) for each in names)
        event_time = self.event_time if self.event_time in names else None
        return Schema(name or self.name, fields, event_time, self.time_unit)

    # -- identity ----

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Schema) and self.fingerprint == other.fingerprint)

    def takes(self, other: Schema) -> bool:
        """Whether rows of `other` are rows of this schema as they stand: equal, and their events of the same class. A class
        that was made for a schema has nothing that another one lacks."""
        if self is other:
            return True
        if self != other:
            return False
        own = self._class
        if own is not None and own is not other._class and not is_made(own):
            return False
        return all(map(Field.holds, self.fields, other.fields))

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        time = f", event_time={self.event_time!r} ({self.time_unit})" if self.event_time else ""
        return f"Schema({self.name}: {', '.join(map(str, self.fields))}{time})"

    def __reduce__(self) -> Any:
        raise TypeError("a Schema is not pickled: no pickle on any transport; send its Event class by name")

    # -- inside ----

    def _check_names(self) -> None:
        if len(self._index) < len(self._names):
            doubled = next(name for name in self._names if self._names.count(name) > 1)
            raise SchemaError(f"{self.name} has two fields named {doubled!r}; allowed: distinct names")
        for name in self._names:
            if is_system_name(name):
                raise SchemaError(
                    f"field {name!r} of {self.name} has the name of a system column; choose another"
                )

    def _check_event_time(self, name: str) -> Kind:
        if name not in self._index:
            known = [field.name for field in self.fields if _can_be_time(field)]
            raise SchemaError(
                f"the event time of {self.name} is {name!r}, not a field{nearest_text(name, known)}"
            )
        field = self.fields[self._index[name]]
        if not _can_be_time(field):
            raise SchemaError(
                f"field {name!r} of {self.name} cannot be the event time: it is {field}; allowed: an integer up to "
                "64 bits signed, or a datetime, not nullable"
            )
        return field.kind

    def _make_class(self) -> type[Event]:
        for name in self._names:
            if not is_attribute(name):
                raise SchemaError(
                    f"field {name!r} of {self.name} cannot be an attribute of an event; allowed: a Python identifier, in "
                    "Unicode form NFKC (rename the column, or take batches: on_batch works with any name)"
                )
        name = self.name if self.name.isidentifier() else "Row"
        namespace = {
            "__annotations__": {field.name: _annotation(field) for field in self.fields},
            "__module__": __name__,
            "__event_time__": self.event_time,
            "__time_unit__": self.time_unit,
        }
        return EventMeta(name, (Event,), namespace)  # type: ignore[no-any-return]


def is_made(event_class: type[Event]) -> bool:
    """Whether a class was made for a schema that came without one."""
    return event_class.__module__ == __name__


def is_system_name(name: str) -> bool:
    """Whether a column is one of the engine's own."""
    return name in SYSTEM_NAMES[:4] or (name.startswith("_ordinal") and name[8:].isdigit())


def _can_be_time(field: Field) -> bool:
    is_integer = field.kind in INTEGERS and field.kind is not Kind.UINT64
    return not field.nullable and (is_integer or field.kind is Kind.DATETIME)


def _checked_unit(where: str, unit: str) -> str:
    if unit not in TIME_UNITS:
        raise SchemaError(f"the time unit of {where} is {unit!r}; allowed: s, ms, us, ns")
    return unit


def _annotation(field: Field) -> Any:
    """The Python type of a field that came without one."""
    if field.annotation is not None:
        base = field.annotation
    elif field.categories:
        base = typing.Literal[field.categories]
    elif field.kind in INTEGERS:
        base = typing.Annotated[int, field.kind]
    else:
        base = {
            Kind.BOOL: bool,
            Kind.DATETIME: datetime,
            Kind.STRING: str,
            Kind.BYTES: bytes,
            Kind.MSGPACK: bytes,
        }.get(field.kind) or typing.Annotated[float, field.kind]
    return base | None if field.nullable else base


def is_attribute(name: str) -> bool:
    """Whether a field of that name can be an attribute of an event, and `event.name` finds it."""
    if not name.isidentifier() or keyword.iskeyword(name):
        return False
    if name.isascii():
        return True
    import unicodedata

    return unicodedata.is_normalized("NFKC", name)  # Python reads names in this form
