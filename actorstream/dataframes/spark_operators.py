"""Built-in operators as queries of Spark SQL. Names what cannot be translated; runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actorstream.dataframes.spark_expressions import SparkExpression, UntranslatableError, quoted
from actorstream.events.fields import Kind
from actorstream.operators.asof_join import asof_schema
from actorstream.operators.joining.fields import others
from actorstream.operators.joining.keys import key_pairs
from actorstream.operators.joining.windowed import END, START
from actorstream.operators.top import ordered
from actorstream.windows.spec import SESSION, SLIDING, TUMBLING, parse_window, units_of

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.topology.graph import Graph, GraphActor

BOUNDS = (START, END)
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
    if actor.type_name not in (*_TRANSLATORS, *_JOINS):
        raise UntranslatableError(f"the operator {actor.type_name!r}")
    flows = [edge for edge in actor.inputs if not edge.static]
    for edge in flows:
        if edge.output in ("late", "dead"):
            raise UntranslatableError(f"the output {edge.source!r}, which depends on the run")
    rows = [f"SELECT * FROM {view(edge.producer, edge.output)}" for edge in flows]
    if actor.type_name in _JOINS:
        return {"default": _JOINS[actor.type_name](actor, *(f"({each})" for each in rows))}
    return _TRANSLATORS[actor.type_name](
        actor, f"({' UNION ALL '.join(rows)})", actor.input_schemas[0], table
    )


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
        rows, bounds = _windows(actor, rows, schema, window, groups)
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


def _windows(
    actor: GraphActor, rows: str, schema: Schema, table: Any, key: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """The rows, each once for every window that it is in, with the window's bounds. `key`: of sessions."""
    spec, _ = parse_window(table, schema.time_unit, actor.keys.get("allowed_lateness"))
    if spec is None or spec.type not in (TUMBLING, SLIDING, SESSION) or schema.event_time is None:
        raise UntranslatableError(f"a window of the type {table.get('type')!r}")
    time = _time(schema)
    if spec.type == SESSION:
        inner, start, end = _sessions(rows, time, spec.gap, key)
    else:
        last = f"{time} - pmod({time} - {spec.offset}L, {spec.slide}L)"
        back = (-(-spec.size // spec.slide) - 1) * spec.slide
        starts = f"filter(sequence({last} - {back}L, {last}, {spec.slide}L), x -> x + {spec.size}L > {time})"
        inner = f"SELECT *, explode({starts}) AS _start FROM {rows}"
        start, end = "_start", f"_start + {spec.size}L"
    if schema.field(schema.event_time).kind is Kind.DATETIME:
        start, end = f"timestamp_micros({start})", f"timestamp_micros({end})"
    own = [name for name in BOUNDS if name in schema]
    fields = f"* EXCEPT ({', '.join(own)})" if own else "*"
    return f"(SELECT {fields}, {start} AS window_start, {end} AS window_end FROM ({inner}))", list(BOUNDS)


def _sessions(rows: str, time: str, gap: int, key: Sequence[str]) -> tuple[str, str, str]:
    """The rows with the number of their session, and the session's begin and end."""
    by = f"PARTITION BY {', '.join(map(quoted, key))}" if key else ""
    new = f"coalesce(_time - lag(_time) OVER ({by} ORDER BY _time) <= {gap}L, FALSE)"
    marked = f"SELECT *, {new} AS _goes_on FROM (SELECT *, {time} AS _time FROM {rows})"
    # rows of one time are counted together, so their order makes no difference
    numbered = f"SELECT *, sum(if(_goes_on, 0, 1)) OVER ({by} ORDER BY _time) AS _session FROM ({marked})"
    session = f"PARTITION BY {', '.join([*map(quoted, key), '_session'])}"
    return numbered, f"min(_time) OVER ({session})", f"max(_time) OVER ({session}) + {gap}L"


def _time(schema: Schema, of: str = "") -> str:
    """The event time as a number. `of`: the name of the rows, with a point."""
    if schema.event_time is None:
        raise UntranslatableError("an event time that is no field")
    name = of + quoted(schema.event_time)
    if schema.field(schema.event_time).kind is Kind.DATETIME:
        return f"unix_micros({name})"
    return f"CAST({name} AS BIGINT)"


def _top(actor: GraphActor, rows: str, schema: Schema, table: Schema | None) -> Translated:
    key = actor.keys.get("key") or []
    groups = [key] if isinstance(key, str) else list(key)
    by = actor.keys["by"]
    orders, named = [], {*groups}
    for text in [by] if isinstance(by, str) else by:
        order = ordered(text, schema)
        if order.expression.is_field:
            named.add(order.expression.fields[0])
        orders.append(_order(SparkExpression(order.expression.text, schema), greatest=order.greatest))
    ties = [f"{quoted(name)} ASC NULLS LAST" for name in schema.names() if name not in named]
    if actor.keys.get("window") is not None:
        rows, bounds = _windows(actor, rows, schema, actor.keys["window"])
        groups = [*bounds, *groups]
    within = f"PARTITION BY {', '.join(map(quoted, groups))} " if groups else ""
    rank = f"row_number() OVER ({within}ORDER BY {', '.join([*orders, *ties])})"
    names = ", ".join(map(quoted, actor.outputs["default"].names()))
    return {
        "default": f"SELECT {names} FROM (SELECT *, {rank} AS _rank FROM {rows}) WHERE _rank <= {actor.keys['n']}"
    }


def _order(expression: SparkExpression, *, greatest: bool) -> str:
    value = expression.sql()
    if expression.is_float():
        value = f"nanvl({value}, NULL)"  # nan comes last, as null does
    return f"{value} {'DESC' if greatest else 'ASC'} NULLS LAST"


def _join(actor: GraphActor, left: str, right: str) -> str:
    schemas, pairs = actor.input_schemas, key_pairs(actor.keys["on"])
    how = actor.keys.get("how", "inner")
    window = actor.keys["window"]
    (left, _), (right, _) = (
        _windows(actor, rows, schema, window) for rows, schema in zip((left, right), schemas, strict=True)
    )
    keys = [f"coalesce(l.{quoted(one)}, r.{quoted(other)}) AS {quoted(one)}" for one, other in pairs]
    names = [one for one, _ in pairs]
    bounds = [name for name in BOUNDS if name not in names]
    if len(bounds) < len(BOUNDS):
        raise UntranslatableError("a window's bound as the key")
    own = [name for name in schemas[0].names() if name not in (*names, *bounds)]
    without = {other for _, other in pairs} | set(bounds)
    added = others(schemas[1], without, [*names, *own, *bounds], nullable=True)
    fields = [*keys, *(f"l.{quoted(name)}" for name in own)]
    fields += [f"r.{quoted(name)} AS {quoted(field.name)}" for name, field in added]
    fields += [f"coalesce(l.{name}, r.{name}) AS {name}" for name in bounds]
    on = [f"l.{quoted(one)} = r.{quoted(other)}" for one, other in pairs]
    on += [f"l.{name} = r.{name}" for name in bounds]
    kind = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "outer": "FULL JOIN"}[how]
    return f"SELECT {', '.join(fields)} FROM {left} l {kind} {right} r ON {' AND '.join(on)}"


def _asof_join(actor: GraphActor, left: str, right: str) -> str:
    """Both sides in one sequence by time, in which each left row looks back, or ahead, for the nearest right one."""
    schemas, pairs = actor.input_schemas, key_pairs(actor.keys.get("by") or [])
    names, added = asof_schema(schemas[0], schemas[1], pairs)
    direction, tolerance = actor.keys.get("direction", "backward"), actor.keys.get("tolerance")
    keys = [f"_key{number}" for number in range(len(pairs))]
    of_left = [f"{quoted(one)} AS {key}" for (one, _), key in zip(pairs, keys)]
    of_right = [f"{quoted(other)} AS {key}" for (_, other), key in zip(pairs, keys)]
    there = (
        " AND ".join(f"{quoted(other)} IS NOT NULL" for _, other in pairs) or "TRUE"
    )  # null has no partner
    time, other_time = (_time(schema) for schema in schemas)
    match = f"struct(struct(*) AS row, {other_time} AS time)"
    lefts = ", ".join([*of_left, f"{time} AS _time", "struct(*) AS _left", "NULL AS _right"])
    rights = ", ".join([*of_right, other_time, "NULL", match])
    both = f"SELECT {lefts} FROM {left} UNION ALL SELECT {rights} FROM {right} WHERE {there}"
    by = f"PARTITION BY {', '.join(keys)} " if keys else ""
    # a right row of the same time counts, so it comes before the left one
    frame = "_left IS NOT NULL ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    before, after = (
        f"last(_right, TRUE) OVER ({by}ORDER BY _time {way}, {frame})" for way in ("ASC", "DESC")
    )
    looked = f"SELECT *, {before} AS _before, {after} AS _after FROM ({both})"
    nearer = "_after.time - _time < _time - _before.time OR _before IS NULL"
    found = {"backward": "_before", "forward": "_after", "nearest": f"if({nearer}, _after, _before)"}[
        direction
    ]
    if tolerance is not None:
        units = units_of(tolerance, schemas[0].time_unit)
        found = f"if(abs(_time - ({found}).time) <= {units}L, {found}, NULL)"
    fields = [f"_left.{quoted(name)} AS {quoted(name)}" for name in schemas[0].names()]
    new = names.names()[len(schemas[0].names()) :]
    fields += [f"_match.row.{quoted(name)} AS {quoted(to)}" for name, to in zip(added, new, strict=True)]
    return f"SELECT {', '.join(fields)} FROM (SELECT *, {found} AS _match FROM ({looked})) WHERE _left IS NOT NULL"


def _only(actor: GraphActor, *names: str) -> None:
    """UntranslatableError: a key is set that has no counterpart, such as a Python function."""
    for name, value in actor.keys.items():
        if name not in names and value is not None:
            raise UntranslatableError(f"the key {name!r}")


_TRANSLATORS: dict[str, Callable[[GraphActor, str, Schema, Schema | None], Translated]] = {
    **{"map": _map, "filter": _filter, "split": _split, "union": _union},
    **{"static-join": _static_join, "aggregate": _aggregate, "top": _top},
}
_JOINS: dict[str, Callable[[GraphActor, str, str], str]] = {"join": _join, "asof-join": _asof_join}
"""The operators of two inputs."""
