"""Presets of the generator-source: streams that are known by their name. A new one is its file and one row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.connectors import generator_ysb
from actorstream.errors import Problem
from actorstream.topology.suggestions import did_you_mean

if TYPE_CHECKING:
    from actorstream.connectors.generator import GeneratorSource
    from actorstream.connectors.generator_rows import RowMaker
    from actorstream.events.schema import Schema


class Preset(msgspec.Struct, frozen=True):
    """A stream that needs no schema: what its rows are, and who makes them, for each value of `ids`."""

    ids: tuple[str, ...]
    """Allowed; the first unless set."""
    schemas: Mapping[str, Any]
    make: Callable[[GeneratorSource, str], RowMaker]
    event_rate: float | None = None
    """Rows a second of event time, unless `event_rate` or `rate` is set."""
    start_ms: int = 0
    """Event time of the first row, unless set: ms since 1970."""

    def schema(self, ids: str | None) -> Schema:
        from actorstream.events.schema import Schema

        return Schema.of(self.schemas[ids or self.ids[0]])

    def rows(self, source: GeneratorSource, ids: str | None) -> RowMaker:
        return self.make(source, ids or self.ids[0])


PRESETS: dict[str, Preset] = {
    "ysb": Preset(
        ("int", "uuid", "bytes136"),
        generator_ysb.EVENTS,
        generator_ysb.event_rows,
        event_rate=10_000_000,
        start_ms=1_700_000_000_000,
    ),
    "ysb-ads": Preset(("int", "uuid"), generator_ysb.ADS_OF, generator_ysb.AdRows),
}


def preset_problems(keys: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with `preset`, `ids`, `schema` and `event` beside each other."""
    name, ids = keys.get("preset"), keys.get("ids")
    if name is None:
        if keys.get("schema") is None and keys.get("event") is None:
            allowed = f'{{ field = "type" }}, or `event`, or `preset`: {", ".join(PRESETS)}'
            return [Problem("schema", "is missing", allowed)]
        return [] if ids is None else [Problem("ids", "is given without `preset`", "together with `preset`")]
    if name not in PRESETS:
        return [Problem("preset", f"is {name!r}", ", ".join(PRESETS), did_you_mean(name, PRESETS))]
    problems = [
        Problem(key, "is given beside `preset`", "one of the two")
        for key in ("schema", "event")
        if keys.get(key) is not None
    ]
    allowed_ids = PRESETS[name].ids
    if ids is not None and ids not in allowed_ids:
        problems.append(Problem("ids", f"is {ids!r}", ", ".join(allowed_ids), did_you_mean(ids, allowed_ids)))
    return problems
