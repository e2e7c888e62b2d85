"""What `verify --against spark` translates, and what it names instead. No Spark runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorstream.cli.main import main
from actorstream.dataframes.spark_expressions import SparkExpression, UntranslatableError
from actorstream.events.schema import Schema

SCHEMA = Schema.from_dict({"n": "int", "x": "float", "word": "str?", "at": "datetime"})


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("1 < n <= 5", "(1L < CAST(`n` AS BIGINT) AND CAST(`n` AS BIGINT) <= 5L)"),
        ("word + 'it\\'s'", "concat(`word`, 'it\\'s')"),
        ("n in (1, 2) or word is null", "((CAST(`n` AS BIGINT) IN (1L, 2L)) OR (`word` IS NULL))"),
        ("'a' not in word", "(NOT contains(`word`, 'a'))"),
        (
            "if(x == 1.5, year(at), null)",
            "if((`x` = CAST('1.5' AS DOUBLE)), CAST(year(`at`) AS BIGINT), NULL)",
        ),
    ],
)
def test_an_expression_becomes_sql(text: str, sql: str) -> None:
    assert SparkExpression(text, SCHEMA).sql() == sql


@pytest.mark.parametrize("text", ["round(x, 2) > 1", "x % 2.0 > 1", "str(x) == '1'", "x // 2 > 1"])
def test_a_part_without_a_counterpart_is_named(text: str) -> None:
    with pytest.raises(UntranslatableError, match="in "):
        SparkExpression(text, SCHEMA).sql()


TOPOLOGY = """
name = "odd"
[actors.rows]
type = "csv-source"
path = "rows.csv"
schema = { ts = "int", n = "int" }
event_time = "ts"
[actors.rounded]
type = "filter"
inputs = ["rows"]
where = "round(n / 3, 2) > 1"
[actors.sessions]
type = "aggregate"
inputs = ["rows"]
window = { type = "count", size = 5 }
aggregates = { rows = "count()" }
[actors.first]
type = "aggregate"
inputs = ["rows"]
aggregates = { n = "first(n)" }
[actors.asked]
type = "map-async"
inputs = ["rows"]
function = "asyncio:sleep"
[actors.out]
type = "null-sink"
inputs = ["rounded"]
[actors.late]
type = "null-sink"
inputs = ["sessions.late"]
"""


def test_every_actor_that_cannot_be_translated_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("ts,n\n1,1\n")
    (tmp_path / "odd.toml").write_text(TOPOLOGY)
    assert main(["verify", str(tmp_path / "odd.toml"), "--against", "spark"]) == 2
    said = capsys.readouterr().err
    for line in (
        "actors.rounded: cannot be translated to Spark SQL: 'round(n / 3, 2)' in 'round(n / 3, 2) > 1'; allowed: map, ",
        "actors.sessions: cannot be translated to Spark SQL: a window of the type 'count'",
        "actors.first: cannot be translated to Spark SQL: 'first' in 'first(n)'",
        "actors.asked: cannot be translated to Spark SQL: the operator 'map-async'",
        "actors.late: has the input 'sessions.late', which depends on the run",
    ):
        assert line in said
