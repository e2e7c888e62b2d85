"""Built-in operators as queries of Spark SQL. Names what cannot be translated; runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from actorstream.dataframes.spark_expressions import SparkExpression, UntranslatableError, quoted
from actorstream.events.fields import Kind
from actorstream.operators.joining.keys import key_pairs
from actorstream.windows.spec import SLIDING, TUMBLING, parse_window

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.topology.graph import Graph, GraphActor

Translated = Mapping[str, str]
"""Output -> query."""
_AGGREGATES = {
    **{"sum": "sum({})", "min": "min({})", "max": "max({})", "mean": "avg({})", "avg": "avg({})"},
    "count_distinct": "count(DISTINCT {})",
}


def view(actor: str, output: str = "default") -> str:
    """The name of the view that has the rows of an output."""
    return quoted(f"{actor}.{output}")


def table_view(actor: str) -> str:
    """The name of the view that has the table of a static-join."""
    return quoted(f"{actor}:table")


def translated(graph: Graph, actor: GraphActor, table: Schema | None) -> Translated:
    """The outputs of an operator as queries over the views of its inputs. `table`: the rows of a static-join's table.
    UntranslatableError names what has no counterpart."""
    found = _TRANSLATORS.get(actor.type_name)
    if found is None:
        raise UntranslatableError(f"the operator {actor.type_name!r}")
    flows = [edge for edge in actor.inputs if not edge.static]
    for edge in flows:
        if edge.output in ("late", "dead"):
            raise UntranslatableError(f"the output {edge.source!r}, which depends on the run")
    rows = " UNION ALL ".join(f"SELECT * FROM {view(edge.producer, edge.output)}" for edge in flows)
    return found(actor, f"({rows})", actor.input_schemas[0], table)


def _map(actor: GraphActor, rows: str, schema: Schema, table: Schema | None) -> Translated:
    _only(actor, "set", "select")
    given = actor.keys.get("set") or {}
    fields = [
        f"{SparkExpression(given[name], schema).sql()} AS {quoted(name)}" if name in given else quoted(name)
        for name in actor.outputs["default"].names()
    ]
    return {"default": f"SELECT {', '.join(fields)} FROM {rows}"}


def _filter(actor: GraphActor, rows: str, schema: Schema, table: Schema | None) -> Translated:
    _only(actor, "where")
    return {"default": f"SELECT * FROM {rows} WHERE {SparkExpression(actor.keys['where'], schema).sql()}"}


def _split(actor: GraphActor, rows: str, schema: Schema, table: Schema | None) -> Translated:
    found, before = {}, "TRUE"
    for name, text in actor.keys["cases"].items():
        condition = f"coalesce({SparkExpression(text, schema).sql()}, FALSE)"
        found[name] = f"SELECT * FROM {rows} WHERE {before} AND {condition}"
        before += f" AND NOT {condition}"
    return {**found, "default": f"SELECT * FROM {rows} WHERE {before}"}


def _union(actor: GraphActor, rows: str, schema: Schema, table: Schema | None) -> Translated:
    return {"default": f"SELECT * FROM {rows}"}


def _static_join(actor: GraphActor, rows: str, schema: Schema, table: Schema | None) -> Translated:
    assert table is not None
    pairs = key_pairs(actor.keys["on"])
    others = [name for name in table.names() if name not in {right for _, right in pairs}]
    names = actor.outputs["default"].names()[len(schema.names()) :]
    fields = [f"s.{quoted(name)}" for name in schema.names()]
    fields += [f"t.{quoted(other)} AS {quoted(name)}" for other, name in zip(others, names, strict=True)]
    how = "LEFT JOIN" if actor.keys.get("how") == "left" else "JOIN"
    on = " AND ".join(f"s.{quoted(left)} = t.{quoted(right)}" for left, right in pairs)
    return {"default": f"SELECT {', '.join(fields)} FROM {rows} s {how} {table_view(actor.name)} t ON {on}"}


def _aggregate(actor: GraphActor, rows: str, schema: Schema, table: Schema | None) -> Translated:
    _only(actor, "aggregates", "key", "window", "allowed_lateness", "emit")
    if actor.keys.get("emit", "final") != "final":
        raise UntranslatableError('emit = "updates"')
    key = actor.keys.get("key") or []
    groups = [key] if isinstance(key, str) else list(key)
    window = actor.keys.get("window")
    if window is not None:
        rows, bounds = _windows(actor, rows, schema, window)
        groups = [name for name in bounds if name not in groups] + groups
    values = []
    for name, text in actor.keys["aggregates"].items():
        if not isinstance(text, str):
            raise UntranslatableError(f"the function in C of {name!r}")
        call, arguments = SparkExpression(text, schema).call()
        if call == "count":
            values.append(f"count({arguments[0] if arguments else '*'}) AS {quoted(name)}")
        elif call in _AGGREGATES and len(arguments) == 1:
            values.append(f"{_AGGREGATES[call].format(arguments[0])} AS {quoted(name)}")
        else:
            raise UntranslatableError(f"{call!r} in {text!r}")
    named = [quoted(each) for each in groups]
    grouped = f" GROUP BY {', '.join(named)}" if named else " HAVING count(*) > 0"
    return {"default": f"SELECT {', '.join([*named, *values])} FROM {rows}{grouped}"}


def _windows(actor: GraphActor, rows: str, schema: Schema, table: Any) -> tuple[str, list[str]]:
    """The rows, each once for every window that it is in, with the window's bounds."""
    spec, _ = parse_window(table, schema.time_unit, actor.keys.get("allowed_lateness"))
    if spec is None or spec.type not in (TUMBLING, SLIDING) or schema.event_time is None:
        raise UntranslatableError(f"a window of the type {table.get('type')!r}")
    timed = schema.field(schema.event_time).kind is Kind.DATETIME
    name = quoted(schema.event_time)
    time = f"unix_micros({name})" if timed else f"CAST({name} AS BIGINT)"
    last = f"{time} - pmod({time} - {spec.offset}L, {spec.slide}L)"
    back = (-(-spec.size // spec.slide) - 1) * spec.slide
    starts = f"filter(sequence({last} - {back}L, {last}, {spec.slide}L), x -> x + {spec.size}L > {time})"
    start, end = "_start", f"_start + {spec.size}L"
    if timed:
        start, end = f"timestamp_micros({start})", f"timestamp_micros({end})"
    inner = f"SELECT *, explode({starts}) AS _start FROM {rows}"
    bounded = f"(SELECT *, {start} AS window_start, {end} AS window_end FROM ({inner}))"
    return bounded, ["window_start", "window_end"]


def _only(actor: GraphActor, *names: str) -> None:
    """UntranslatableError: a key is set that has no counterpart, such as a Python function."""
    for name, value in actor.keys.items():
        if name not in names and value is not None:
            raise UntranslatableError(f"the key {name!r}")


_TRANSLATORS: dict[str, Callable[[GraphActor, str, Schema, Schema | None], Translated]] = {
    **{"map": _map, "filter": _filter, "split": _split, "union": _union},
    **{"static-join": _static_join, "aggregate": _aggregate},
}
