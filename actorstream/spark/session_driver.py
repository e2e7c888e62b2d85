"""SessionDriver: the driver of a source in a thread, within a Spark session that is there for others, too."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from actorstream.errors import ActorstreamError, ConfigurationError, Problem
from actorstream.spark.driver import push_rows
from actorstream.spark.driver_process import Hear
from actorstream.spark.failure import spark_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBERS = count()


class SessionDriver:
    """Pushes the rows of a source, with settings and views of its own.

    Args:
        spark: whose application runs the jobs.
        task, hear: as `DriverProcess` takes them."""

    def __init__(self, spark: SparkSession, task: Mapping[str, Any], hear: Hear) -> None:
        self._spark, self._task, self._hear = spark, dict(task), hear
        self._stopped = threading.Event()
        self._group = f"spark-source-{next(_NUMBERS)}"
        threading.Thread(target=self._run, name=self._group, daemon=True).start()

    def stop(self) -> None:
        """Ends the jobs that still run."""
        self._stopped.set()
        with suppress(Exception):  # Spark may have ended
            self._spark.sparkContext.cancelJobGroup(self._group)

    def _run(self) -> None:
        try:
            self._spark.sparkContext.setJobGroup(self._group, "rows for actors", interruptOnCancel=True)
            own = self._spark.newSession()
            for name, value in self._task["spark"].items():
                _set(own, name, value)
            push_rows(own, self._task, lambda **line: self._hear(line), self._stopped)
        except Exception as error:  # whatever it is, the source waits for rows until it hears of it
            if not self._stopped.is_set():
                ours = isinstance(error, ActorstreamError)
                self._hear({"error": error if ours else spark_error("starting to read", error)})


def _set(spark: SparkSession, name: str, value: str) -> None:
    """ConfigurationError: the setting is one of the whole application."""
    try:
        spark.conf.set(name, value)
    except Exception:
        what = f"sets {name!r}, which an application has from its start"
        hint = f"give it to the command: --spark {name}={value}"
        raise ConfigurationError(Problem("spark", what, "settings of a session", hint)) from None
