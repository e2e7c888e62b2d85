from __future__ import annotations

import re
import socket

import pytest

from actorstream.cli.main import exit_code
from actorstream.spark import session
from actorstream.spark.failure import MOST_LINES, SparkError, shorten, spark_error
from actorstream.spark.session import check_master, spark_session

PLAN = """[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `idx` cannot be resolved. SQLSTATE: 42703;
'Project ['idx]
+- Range (0, 3, step=1, splits=Some(2))
"""
JAVA = """java.io.FileNotFoundException: File /none does not exist
\tat org.apache.hadoop.fs.RawLocalFileSystem.deprecatedGetFileStatus(RawLocalFileSystem.java:980)
\tat java.base/java.lang.Thread.run(Thread.java:840)
\t... 12 more
"""
STACK = """Cannot call methods on a stopped SparkContext.
This stopped SparkContext was created at:
org.apache.spark.api.java.JavaSparkContext.<init>(JavaSparkContext.scala:59)
java.base/java.lang.reflect.Constructor.newInstanceWithCaller(Constructor.java:499)
The currently active SparkContext was created at:
"""
PYTHON = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/pyspark/worker.py", line 2044, in main
    process()
  File "job.py", line 12, in prices
    raise ValueError("no price")
ValueError: no price
"""
OWN = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/actorstream/spark/parts.py", line 110, in checked
    raise PartError(
actorstream.spark.parts.PartError: readings/part-00000.csv: 'ts' descends behind row 0
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (OWN, ["readings/part-00000.csv: 'ts' descends behind row 0"]),
        (
            PLAN,
            [
                "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `idx` cannot be resolved. SQLSTATE: 42703;"
            ],
        ),
        (
            STACK,
            [
                "Cannot call methods on a stopped SparkContext.",
                "This stopped SparkContext was created at:",
                "The currently active SparkContext was created at:",
            ],
        ),
        (JAVA, ["File /none does not exist"]),
        (
            PYTHON,
            [
                "An exception was thrown from the Python worker:",
                "Traceback (most recent call last):",
                '  File "job.py", line 12, in prices',
                '    raise ValueError("no price")',
                "ValueError: no price",
            ],
        ),
    ],
)
def test_of_an_error_the_cause_is_left(text: str, lines: list[str]) -> None:
    assert shorten(text).splitlines() == lines


def test_no_error_is_longer_than_15_lines_and_a_long_one_keeps_its_end() -> None:
    deep = "\n".join(f"line {number}" for number in range(100))
    error = spark_error("reading a table", ValueError(deep), "look at the table")
    lines = str(error).splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0] == "Spark: reading a table: line 0"
    assert lines[-1].strip() == "look at the table"
    assert "  line 99" in lines
    assert len(str(spark_error("x", ValueError("y" * 100_000)))) < 1000
    assert exit_code(error) == 1


def test_a_master_that_does_not_answer_is_named_before_spark_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen, so nobody answers at its port
        master = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SparkError, match=re.escape(f"no Spark master answers at {master!r}")) as caught:
            check_master(master)
    assert "Connection refused" in str(caught.value)


def test_a_server_that_accepts_a_connection_and_says_nothing_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        says = re.escape(f"what listens at {master!r} has not answered")
        with pytest.raises(SparkError, match=says), spark_session(master):
            pass


@pytest.mark.parametrize("master", ["spark://nowhere", "spark://127.0.0.1:x", "spark://127.0.0.1:99999"])
def test_an_address_that_is_none_is_a_master_that_does_not_answer(master: str) -> None:
    with pytest.raises(SparkError, match="no Spark master answers"):
        check_master(master)


def test_one_of_several_masters_that_answers_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as answering, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (silent, answering)]
        check_master(f"spark://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}")


@pytest.mark.parametrize("master", ["local[*]", "local-cluster[2,1,1024]", "yarn", "k8s://https://host:443"])
def test_only_a_standalone_cluster_is_asked_whether_it_answers(master: str) -> None:
    check_master(master)
