"""One Spark session for all tests of a process: it takes 10 to 15 seconds to start."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from actorstream.spark import driver
from actorstream.spark.session import spark_session
from actorstream.spark.source import SparkSource

from .flights import FLIGHTS, KEYS, ThreadDriver

SHORT = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
}
"""Settings for jobs of a few rows: compiling costs more than it brings."""
NO_DERBY_LOG = "-Dderby.stream.error.field=java.lang.System.err"
"""Derby, a database that tests read, would write a file into the working directory."""
OF_SPARK = "import pyspark.daemon, pyspark.worker, pyspark.sql.streaming.python_streaming_source_runner"
"""The modules of its processes of Python. Each has 10 s to start, and the first one of all compiles what it imports."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    subprocess.run([sys.executable, "-c", OF_SPARK], check=True)
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = str(held.getsockname()[1])
    server = {
        "spark.driver.extraJavaOptions": f"{SHORT['spark.driver.extraJavaOptions']} {NO_DERBY_LOG}",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
    }
    with spark_session("local[2,2]", {**SHORT, **server}) as session:
        yield session


@pytest.fixture
def flights(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SparkSource]]:
    """Makes sources of the flights, which use the session of the tests."""
    made: list[SparkSource] = []
    monkeypatch.setattr(driver, "spark_session", lambda *_, **__: nullcontext(spark))
    monkeypatch.setattr(ThreadDriver, "session", spark)
    monkeypatch.setattr(SparkSource, "start_driver", ThreadDriver)

    def make(**changes: Any) -> SparkSource:
        keys = {**KEYS, "path": FLIGHTS.parent / KEYS["path"], **changes}
        made.append(SparkSource(**{name: value for name, value in keys.items() if name != "type"}))
        made[-1].open(made[-1].partitions())
        return made[-1]

    yield make
    for source in made:
        source.on_stop()
        if isinstance(source._driver, ThreadDriver):
            source._driver.thread.join()
