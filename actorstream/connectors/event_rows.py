"""The rows of a source that defines `events`: reads them as batches, and knows how far they were read."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from actorstream.connectors.event_reader import EventReader
from actorstream.connectors.position import Places, says_position
from actorstream.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from actorstream.connectors.live import Pump
    from actorstream.connectors.source import Source
    from actorstream.events.batch import Batch
    from actorstream.events.event import Event

ONLY = "0"
"""The name of the one partition of a source that has no others."""


class EventRows:
    """Those of one source.

    Attributes:
        rows: how many `events` has given and `read` has returned, in all runs.
        held: the position before a `read` that is awaited; None: none is.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.rows = 0
        self._to_skip = 0
        self._reader: EventReader | Pump | None = None
        self._places: Places | None = None
        self._kept: Mapping[str, Any] | None = None
        """The position of the checkpoint that the run goes on from."""
        self.held: Mapping[str, Any] | None = None

    # -- reading

    def read(self, max_rows: int) -> Batch | None:
        """`read` of a source that defines a plain `events`."""
        if self._reader is None:
            self._reader = EventReader(self._passes(), self._source.row_schema(), *self._begin())
        return self._batch(typing.cast("EventReader", self._reader).take(self._wanted(max_rows)))

    async def read_live(self, max_rows: int) -> Batch | None:
        """`read` of a source whose `events` is async."""
        from actorstream.connectors.live import Pump

        if self._reader is None:
            events = typing.cast("AsyncIterator[Event]", self._source.events())
            self._reader = Pump(events, *self._begin())
        made = await typing.cast("Pump", self._reader).take(self._wanted(max_rows))
        if not made:
            self.close()
        return self._batch(made)

    @property
    def waits_since(self) -> int | None:
        """When the oldest row of a live source came that was not read, by the wall clock in ns; None: there is none."""
        from actorstream.connectors.live import Pump

        return self._reader.waits_since if isinstance(self._reader, Pump) else None

    def close(self) -> None:
        """Stops what reads a live source."""
        from actorstream.connectors.live import Pump

        if isinstance(self._reader, Pump):
            self._reader.close()

    def _batch(self, made: list[Event]) -> Batch | None:
        from actorstream.events.batch import Batch

        if not made:
            return None
        self._source.row = self.rows
        self.rows += len(made)
        if self._places is not None:
            self._places.before(self.rows)  # forgets those that lie further back
        return Batch.of_events(self._source.row_schema(), made)

    def _begin(self) -> tuple[int, Places | None, str]:
        """Rows to drop first, the object that is told of places, and the name of the only partition. ConfigurationError:
        nobody knows how many rows of this replica are among the first `count` of all."""
        source = self._source
        if source._most_rows is not None and 0 < len(source.share) < len(source.partitions()):
            what = f"is {source._most_rows}, and several replicas share the partitions"
            hint = "or let `events` end each partition by itself"
            raise ConfigurationError(Problem("count", what, "with one replica", hint))
        asks = _is_own(source, "position")
        if self._seeks() and (asks or self._names_places()):
            kept = self._kept or {}
            self._places = Places(
                self.rows - self._to_skip,
                kept.get("positions", None if asks else {}),
                source.position if asks else None,
                kept.get("counts"),
            )
        return self._to_skip, self._places, next(iter(source._opened or ()), ONLY)

    def _passes(self) -> Iterator[Event]:
        source, done = self._source, 0
        while source._opened != [] and (source._most_passes == 0 or done < source._most_passes):
            some = False
            for event in typing.cast("Iterator[Event]", source.events()):
                some = True
                yield event
            if not some:
                return
            done += 1

    def _wanted(self, max_rows: int) -> int:
        source = self._source
        if source._opened == []:
            return 0
        return max_rows if source._most_rows is None else min(max_rows, source._most_rows - self.rows)

    # -- positions

    def position(self) -> dict[str, int]:
        """See `Source.position`."""
        if self._names_places() and self._places is not None:
            return self._places.before(self.rows)[0]
        return dict.fromkeys(self._source._opened or [], self.rows)

    def seek(self, positions: dict[str, int]) -> None:
        """See `Source.seek`."""
        if self._rereads(positions):
            name = type(self._source).__name__
            what = (
                f"{name} has its own `read` and no `seek`, so it cannot go on behind the rows that were read"
            )
            allowed = "a source that overrides `position` and `seek`, too"
            hint = "`seek` may do nothing if rows never come again; or start anew without --resume"
            raise ConfigurationError(Problem("its position", what, allowed, hint))
        self._to_skip = max((positions.get(name, 0) for name in self._source._opened or []), default=0)
        self._reader, self._places, self.rows = None, None, self._to_skip

    def kept_position(self) -> Mapping[str, Any]:
        """See `Source.kept_position`."""
        if self.held is not None:
            return self.held
        if self._places is None and self._kept is not None:
            return self._kept
        kept: dict[str, Any] = {"rows": self.rows, "between": 0, "counts": None}
        if self._places is None:
            return {**kept, "positions": self._source.position()}
        kept["positions"], kept["between"] = self._places.before(self.rows)
        return {**kept, "counts": self._places.counts}

    def take_back(self, kept: Mapping[str, Any]) -> None:
        """See `Source.take_back`."""
        self._source.seek(dict(kept["positions"]))
        if self._seeks():
            self._kept = {name: kept[name] for name in ("positions", "rows", "between", "counts")}
            self.rows, self._to_skip = kept["rows"], kept["between"]

    def hold(self, *, held: bool) -> None:
        """See `Source.hold_position`."""
        self.held = None
        if held and self._reader is None:
            self.held = self._source.kept_position()

    def _rereads(self, positions: Mapping[str, int]) -> bool:
        """Whether a source without `events`, the only rows that can be passed over, has read some or does not say how many."""
        source = self._source
        if _is_own(source, "events"):
            return False
        if _is_own(source, "position"):
            return any(positions.values())
        return bool(source.share if source._opened is None else source._opened)

    def _seeks(self) -> bool:
        """Whether the source goes back by itself, though its rows come from `events`."""
        from actorstream.connectors.source import read_events, read_live

        return type(self._source).read in (read_events, read_live) and _is_own(self._source, "seek")

    def _names_places(self) -> bool:
        """Whether `events` yields a `Position`, as its annotation says."""
        try:
            return says_position(typing.get_type_hints(type(self._source).events).get("return"))
        except (NameError, TypeError):
            return False


def _is_own(source: Source, method: str) -> bool:
    """Whether the class of a source has its own version of a method."""
    from actorstream.connectors.source import Source

    return getattr(type(source), method) is not getattr(Source, method)
