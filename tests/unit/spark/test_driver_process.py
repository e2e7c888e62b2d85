"""The process of Spark's driver, without Spark: signals that come while it starts."""

from __future__ import annotations

import os
import signal
from queue import SimpleQueue
from typing import Any

from actorstream.spark.driver_process import DriverProcess
from tests.stacks import children_of


def test_a_signal_does_not_end_the_driver_before_it_has_read_what_to_do() -> None:
    heard: SimpleQueue[dict[str, Any]] = SimpleQueue()
    before = set(children_of(os.getpid()))
    DriverProcess({}, heard.put)
    (pid,) = set(children_of(os.getpid())) - before
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(pid, number)
    assert "(exit code 1)" in str(heard.get()["error"]), "it ends because its task is empty"
