"""Built-in operators, one file each. A new one is its file and one row of `BUILTIN`."""

from __future__ import annotations

BUILTIN: dict[str, str] = {
    "map": "actorstream.operators.map:Map",
    "map-async": "actorstream.operators.map_async:MapAsync",
    "filter": "actorstream.operators.filter:Filter",
    "aggregate": "actorstream.operators.aggregate:Aggregate",
    "split": "actorstream.operators.split:Split",
    "union": "actorstream.operators.union:Union",
    "reduce": "actorstream.operators.reduce:Reduce",
    "asof-join": "actorstream.operators.asof_join:AsofJoin",
    "join": "actorstream.operators.join:Join",
    "static-join": "actorstream.operators.static_join:StaticJoin",
    "top": "actorstream.operators.top:Top",
}
"""Name in a topology -> "module:Class"; nothing is imported before it is used."""
