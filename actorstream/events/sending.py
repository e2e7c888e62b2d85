"""How the rows of a batch are sent: by reference to a jumbo tuple in shared memory, or as pieces that native code gathers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.errors import SchemaError
from actorstream.native.address import address_of
from actorstream.native.arena import Block
from actorstream.native.pieces import ColumnTable

if TYPE_CHECKING:
    import numpy as np

    from actorstream.events.column import Descriptor
    from actorstream.events.jumbo import JumboTuple
    from actorstream.events.representation import Representation
    from actorstream.events.schema import Schema
    from actorstream.native.arena import Arena


def piece(batch: Representation, frame_schema: Schema) -> tuple[ColumnTable, int, int, int]:
    """The rows for native code: (descriptors of the columns of `frame_schema`, address of uint32 row numbers or 0, first
    row, rows). Good for as long as the batch lives. SchemaError: a system column is missing, another schema."""
    jumbo = batch._jumbo
    if jumbo is not None and batch._frame_schema is frame_schema and batch._parent is None:  # as most have
        batch.sealed()
        return jumbo.table(frame_schema), 0, batch._first, batch.rows
    source = batch._viewed()
    if source is batch:
        picked = _picked(batch, frame_schema)
        if picked is not None:
            return picked[0], address_of(picked[1]), 0, batch.rows
        table, first = _described(batch, frame_schema)
        return table, 0, first, batch.rows
    table, first = _described(source, frame_schema)
    if batch._index is not None:
        return table, address_of(batch._index), first, batch.rows
    return table, 0, first + batch._first, batch.rows


def own_table(batch: Representation, frame_schema: Schema) -> ColumnTable | None:
    """The descriptors of the columns of `frame_schema`. None: the rows are events, picked from others by number, or a later part
    of a jumbo tuple. SchemaError: as `piece`."""
    source: Representation | None = batch
    while source is not None:
        if source._events is not None or source._values is not None or source._index is not None:
            return None
        source = source._parent
    found, first = _described(batch, frame_schema)
    return found if not first else None


def _picked(batch: Representation, frame_schema: Schema) -> tuple[ColumnTable, np.ndarray] | None:
    """A filter often picks rows and then leaves columns out. Answers the columns of `frame_schema` in the batch that such rows
    were picked from, and their row numbers there. None: these are other rows, or that batch lacks a column."""
    selection = batch._parent
    if selection is None or batch._index is not None or batch.rows != selection.rows:
        return None
    source, index = selection._parent, selection._index
    if source is None or index is None or selection._events is not None:
        return None
    if any(each._lineage is not None or each._system is not None for each in (batch, selection)):
        return None
    if frame_schema.user is not batch.schema and frame_schema.user != batch.schema:
        return None
    found = []
    for field, column in zip(batch.schema.fields, batch._columns):
        place = selection.schema._index.get(field.name)
        if place is None or (column is not None and column is not selection._columns[place]):
            return None  # a column of its own
        found.append(_descriptor(source, field.name))
    for name in frame_schema.system:
        if name == "_time" or name not in source.system:
            return None
        found.append(source.system[name].descriptor)
    table = ColumnTable(len(found))
    table.fill(found)
    return table, index


def _described(batch: Representation, frame_schema: Schema) -> tuple[ColumnTable, int]:
    jumbo = batch.sealed(checked=False)._jumbo
    if jumbo is not None and (batch._frame_schema is frame_schema or batch._frame_schema == frame_schema):
        return jumbo.table(frame_schema), batch._first
    if batch._table is not None and batch._table[0] is frame_schema:
        return batch._table[1], 0
    if frame_schema.user is not batch.schema and frame_schema.user != batch.schema:
        raise SchemaError(
            f"rows of {batch.schema!r} for an edge of {frame_schema.user!r}; allowed: cast(...) them first"
        )
    system = _system_descriptors(batch, frame_schema)
    table = ColumnTable(len(frame_schema.fields))
    part = _part(batch)
    if part is None:
        table.fill([*(_descriptor(batch, field.name) for field in batch.schema.fields), *system])
    else:
        whole, first, own = part
        described, before = _described(whole, batch.schema)
        table.fill_from(described, before + first, [*own.items(), *enumerate(system, len(batch._columns))])
    batch._table = (frame_schema, table)
    return table, 0


def _part(batch: Representation) -> tuple[Representation, int, dict[int, Descriptor]] | None:
    """(the batch that the rows are a part of, the row there that they begin with, the columns that are not that batch's, by their
    places), if that batch has all of its columns: it is cut into several batches, and they share its description."""
    whole, first, levels = batch, 0, []
    while whole._index is None and (parent := whole._parent) is not None and parent.schema is batch.schema:
        levels.append((whole, first))
        first += whole._first
        whole = parent
    if whole.rows == batch.rows or None in whole._columns:
        return None
    own: dict[int, Descriptor] = {}
    for level, at in levels:
        if level._columns.count(None) < len(level._columns):
            for place, column in enumerate(level._columns):
                if column is not None and place not in own:
                    own[place] = _later(column.descriptor, at)
    return whole, first, own


def _system_descriptors(batch: Representation, frame_schema: Schema) -> list[Descriptor]:
    """Of the system columns that `frame_schema` names, in its order."""
    if not frame_schema.system:
        return []
    found, system = [], batch.system
    for name in frame_schema.system:
        column = system.get(name)
        if column is None:
            raise SchemaError(
                f"rows of {batch.schema.name} carry no {name}: an operator dropped their lineage, which an ordered "
                "edge downstream needs; use batch.take(...), batch.with_columns(...) or Batch.of(..., origin=rows)"
            )
        found.append(column.descriptor)
    return found


def _descriptor(batch: Representation, name: str) -> Descriptor:
    """Of the column of a field. A part of another batch's column is described as that, and not cut out of it."""
    first, place = 0, batch.schema._index[name]
    while batch._columns[place] is None and batch._index is None and (parent := batch._parent) is not None:
        above = parent.schema._index.get(name)
        if above is None:  # a column that was joined to the rows
            break
        first += batch._first
        batch, place = parent, above
    return _later(batch._column(place).descriptor, first)


def _later(column: Descriptor, first: int) -> Descriptor:
    """The same column from row `first` on."""
    if not first:
        return column
    width, wide, begins, validity, data, offsets = column
    return width, wide, begins + first, validity, data, offsets


def whole_jumbo(batch: Representation, schema: Schema) -> JumboTuple | None:
    """The jumbo tuple of `schema` in shared memory that the rows are all of: the common case of `shared_jumbo`."""
    jumbo = batch._jumbo
    if (
        jumbo is not None
        and batch._frame_schema is schema
        and batch.rows == jumbo._rows
        and type(jumbo.block) is Block
    ):
        return jumbo
    return None


def shared_jumbo(
    batch: Representation, arena: Arena | None, schema: Schema | None = None, *, borrowed: bool = True
) -> tuple[JumboTuple, int] | None:
    """(jumbo tuple, first row) if the rows can be sent by reference: they are a run of a jumbo tuple of `schema`
    (unless given, the batch's own without system columns) that lies in `arena`, or, with `borrowed`, is on loan
    from another process. A run of less than a quarter is not worth keeping the rest for: None."""
    jumbo, frame_schema = batch.sealed()._jumbo, batch._frame_schema
    if (
        jumbo is None
        or frame_schema is None
        or arena is None
        or frame_schema != (batch.schema if schema is None else schema)
    ):
        return None
    owner = getattr(jumbo.block, "arena_id", None)
    if owner is None or not (borrowed or owner == arena.id) or batch.rows * 4 < jumbo.rows:
        return None
    return jumbo, batch._first
