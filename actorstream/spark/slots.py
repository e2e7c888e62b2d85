"""Slots: how many tasks the executors of a session can run at the same time."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOTS_S = 60.0
"""How long executors may take to register."""
AGAIN_S = 0.1
NONE_HINT = (
    "no executor has registered: the master's page says whether it has workers, and whether they have the memory that "
    "spark.executor.memory asks for"
)


def slots_for(spark: SparkSession, wanted: int, wait_s: float) -> int:
    """Waits until so many are there, for `wait_s` at the most. Returns how many there are; as many as wanted where Spark starts
    executors only when there are tasks for them."""
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return wanted
    end = monotonic() + wait_s
    while (found := _slots(spark)) < wanted and monotonic() < end:
        sleep(AGAIN_S)
    return found


def _slots(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc.sc()  # type: ignore[attr-defined]
    found = 0
    with suppress(Exception):
        found = int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))
    return found
