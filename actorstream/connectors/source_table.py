"""SourceTable: a source that another source's table describes: its class and its keys, checked as those of an actor are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.connectors import BUILTIN
from actorstream.errors import Problem
from actorstream.topology.conversion import Base, MismatchError, allowed_by, convert_part
from actorstream.topology.keywords import UnresolvedError, constructor_keywords
from actorstream.topology.modules import NotFoundError
from actorstream.topology.registry import TypeRegistry
from actorstream.topology.suggestions import did_you_mean, listed

if TYPE_CHECKING:
    from actorstream.connectors.source import Source
    from actorstream.events.schema import Schema


SOURCES = {name: where for name, where in BUILTIN.items() if name.endswith("-source")}


class SourceTable(msgspec.Struct, frozen=True):
    """A source as a key's value: `{ type = "csv-source", path = "…" }`.

    Attributes:
        cls: the class of the source.
        keys: its keys, converted to what its constructor asks for.
    """

    cls: type[Source]
    keys: Mapping[str, Any]

    @classmethod
    def of_table(cls, value: Any, base: Base) -> SourceTable:
        """The source that a table describes; relative paths start at `base`. MismatchError says which key is wrong."""
        if isinstance(value, SourceTable):
            return value
        if not isinstance(value, Mapping):
            raise MismatchError(value, "a table with the key `type` and the keys of that source")
        if "type" not in value:
            raise _mismatch("is missing", ["the type of a source"], "type")
        found = _source_class(value["type"])
        try:
            keywords, others = constructor_keywords(found)
        except UnresolvedError as error:
            raise MismatchError(value["type"], str(error), path=("type",)) from None
        keys = {}
        for name, given in value.items():
            if name == "type":
                continue
            if name not in keywords and not others:
                raise _mismatch(
                    "is not a key here", ["type", *keywords], name, did_you_mean(name, list(keywords))
                )
            keys[name] = (
                convert_part(name, given, keywords[name].annotation, base) if name in keywords else given
            )
        for keyword in keywords.values():
            if keyword.required and keyword.name not in keys:
                raise _mismatch("is missing", [allowed_by(keyword.annotation)], keyword.name)
        return cls(found, keys)

    def with_defaults(self, keys: Mapping[str, Any]) -> SourceTable:
        """The same source with those of `keys` that it takes and its table does not give."""
        takes, others = constructor_keywords(self.cls)
        more = {
            name: value for name, value in keys.items() if value is not None and (others or name in takes)
        }
        if more.keys() & {"event", "schema"} and self.keys.keys() & {"event", "schema"}:
            more = {name: value for name, value in more.items() if name not in ("event", "schema")}
        return SourceTable(self.cls, {**more, **self.keys})

    def make(self) -> Source:
        """A new instance of the source."""
        return self.cls(**self.keys)

    def schema(self) -> Schema:
        """The schema of its rows. Raises what the class's `output_types` raises."""
        from actorstream.events.schema import Schema

        return Schema.of(self.cls.output_types(dict(self.keys), [])["default"])

    def problems(self, name: str, base: Path) -> Iterable[Problem]:
        """Asks the class to check the keys, and yields its problems as problems of the key `name`."""
        for each in self.cls.check(dict(self.keys), [], base):
            yield Problem(f"{name}.{each.where}", each.message, each.allowed, each.hint)

    def files_read(self) -> list[str]:
        """The files that it reads."""
        says: Any = getattr(self.cls, "files_read", None)
        return [] if says is None else says(dict(self.keys))


def _source_class(name: Any) -> type[Source]:
    try:
        found: Any = TypeRegistry(SOURCES).resolve(name)
    except NotFoundError as error:
        raise _mismatch(error.message, [error.allowed], "type", error.hint) from None
    if found.role != "source":
        raise MismatchError(name, f"{listed(SOURCES)}, or the class of a source", path=("type",))
    return found  # type: ignore[no-any-return]


def _mismatch(message: str, allowed: list[str], name: str, hint: str = "") -> MismatchError:
    mismatch = MismatchError(None, listed(allowed), path=(name,), hint=hint)
    mismatch.message = message
    return mismatch
