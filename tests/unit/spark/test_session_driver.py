"""The driver of a source within a session; Spark itself is not there."""

from __future__ import annotations

from queue import Queue
from typing import Any

from actorstream.spark.failure import SparkError
from actorstream.spark.session_driver import SessionDriver


class EndedSession:
    """A session whose application has ended: it refuses all, as py4j does."""

    @property
    def sparkContext(self) -> Any:
        raise ConnectionRefusedError("no Java at port 25333")


def test_a_source_hears_of_any_error_before_its_first_job_instead_of_waiting_for_rows() -> None:
    heard: Queue[dict[str, Any]] = Queue()
    SessionDriver(EndedSession(), {"spark": {}}, heard.put)  # type: ignore[arg-type]
    error = heard.get(timeout=60)["error"]
    assert isinstance(error, SparkError)
    assert str(error) == "Spark: starting to read: no Java at port 25333"
