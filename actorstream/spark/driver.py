"""Driver: the process beside a source actor in which Spark's driver runs. No rows pass through it.

    python -m actorstream.spark.driver

reads one line of JSON, what to do, from stdin, and ends when stdin does. It writes lines of JSON: `say` (progress),
`table` (the snapshot), `ended` (the number of a range), `error` and its `kind`, `done`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from actorstream.errors import ActorstreamError, ConfigurationError, Problem
from actorstream.spark.failure import spark_error
from actorstream.spark.group_query import GroupQuery
from actorstream.spark.push import Target
from actorstream.spark.query import Query, TableSnapshot, read_table
from actorstream.spark.session import CONNECT, spark_session
from actorstream.spark.slots import NONE_HINT, SLOTS_S, slots_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GRACE_S = 10.0
"""So long Spark may take to end once nobody listens any more."""

Tell = Callable[..., None]
PACKAGE = "actorstream"
SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""DriverProcess has them blocked until this process ignores them."""


def run(task: dict[str, Any], tell: Tell, stopped: threading.Event) -> None:
    """Runs the jobs of one source in a session of their own, until the last one or until `stopped` is set."""
    known = TableSnapshot(**task["table"]) if task["table"] else None
    in_order = GroupQuery.of_keys(task) if known is None or known.by_group else None
    options = {**(in_order.options if in_order else {}), **task["spark"]}
    tell(say=f"starting Spark, master {task['master']}")
    with spark_session(task["master"], options, logs=task["logs"]) as spark:
        if not task["master"].startswith(CONNECT):  # a server says nothing of its slots
            check_slots(spark, task["master"], task["tasks"])
        push_rows(spark, task, tell, stopped)


def check_slots(spark: SparkSession, master: str, tasks: int) -> None:
    """Waits for the executors. ConfigurationError: they have fewer slots than tasks push."""
    slots = slots_for(spark, tasks, 0.0 if master.startswith("local[") or master == "local" else SLOTS_S)
    if slots < tasks:
        hint = "all of them push at the same time" if slots else NONE_HINT
        allowed = f"1 to {slots}" if slots else "executors that have slots"
        raise ConfigurationError(
            Problem("tasks", f"is {tasks}, and {master} has {slots} slots", allowed, hint)
        )


def push_rows(spark: SparkSession, task: dict[str, Any], tell: Tell, stopped: threading.Event) -> None:
    """Runs the jobs of one source in a session, until the last one or until `stopped` is set."""
    known = TableSnapshot(**task["table"]) if task["table"] else None
    targets = {int(lane): Target(*each) for lane, each in task["lanes"].items()}
    keys = {**task, "targets": targets}
    in_order = GroupQuery.of_keys(keys) if known is None or known.by_group else None
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(task["batch_rows"]))
    try:
        version = None
        if in_order is None:
            table, version = read_table(spark, task, None if known is None else known.version)
        query = in_order or Query(table, keys)
        found = query.snapshot(task["range_rows"])._replace(version=version)
    except ActorstreamError:
        raise
    except Exception as error:
        raise spark_error("reading the table", error) from None
    if known is not None and (known[:4], known.by_group) != (found[:4], found.by_group):
        raise changed(known, found)
    bounds = (known or found).bounds
    tell(table=(known or found)._asdict())
    order = "row groups by time: not sorted" if found.by_group else "sorted"
    ranges = "1 range" if not bounds else f"{len(bounds) + 1} ranges"
    tell(say=f"{found.rows:,} rows in {ranges}, {order}")
    has_left = False
    try:
        for number, job in enumerate(query.jobs(spark, bounds), task["range"]):
            lanes = sorted(targets)
            tell(begun=number)
            while lanes:  # tasks that have left their slots go on
                if stopped.is_set():
                    return
                lanes = [each.lane for each in job(lanes) if each.left]
                if lanes and not has_left:
                    has_left = True
                    what = "a task has left its slot to another one: fewer slots are free than"
                    tell(say=f"{what} {task['tasks']}, and reading is slow meanwhile")
            tell(ended=number)
    except Exception as error:
        raise spark_error("pushing rows", error, missing_package(error)) from None
    tell(done=True)


def missing_package(error: Exception) -> str:
    """A hint if the error is that an executor lacks this package."""
    if f"No module named '{PACKAGE}" not in str(error):
        return ""
    return (
        f"the executors' Python ({os.environ.get('PYSPARK_PYTHON', sys.executable)}) lacks this package: install "
        f"{PACKAGE} there, or name a Python that has it by PYSPARK_PYTHON; launch --on MASTER sends the package along"
    )


def changed(known: TableSnapshot, found: TableSnapshot) -> ConfigurationError:
    """The error where a run is resumed and its table is another."""
    what = (
        f"has changed since the checkpoint: then {known.rows:,} rows from {known.least} to {known.greatest}, now "
        f"{found.rows:,} rows from {found.least} to {found.greatest}"
    )
    if known[:1] + known[2:4] == found[:1] + found[2:4]:
        what = (
            f"has changed since the checkpoint: it has {found.rows:,} rows as then, but other values or files"
        )
    hint = "give back the rows that it had, or begin without --resume; Delta and Iceberg tables keep their versions"
    return ConfigurationError(Problem("table", what, "the same rows", hint))


def main() -> None:
    # what Java or a library prints on stdout must not be taken for one of our lines
    lines: IO[str] = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def tell(**line: Any) -> None:
        lines.write(json.dumps(line) + "\n")

    for name in SIGNALS:
        signal.signal(name, signal.SIG_IGN)  # a signal is the launcher's business; stdin ends with the actor
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    task = json.loads(sys.stdin.readline())
    stopped = threading.Event()
    threading.Thread(target=_stop_with_stdin, args=(stopped,), daemon=True).start()
    try:
        run(task, tell, stopped)
    except ActorstreamError as error:
        if not stopped.is_set():
            tell(error=str(error), kind=type(error).__name__)
    except BrokenPipeError:
        pass


def _stop_with_stdin(stopped: threading.Event) -> None:
    """Ends what runs once stdin has ended: the actor has, however it did."""
    sys.stdin.read()
    stopped.set()
    end = threading.Timer(GRACE_S, lambda: os._exit(1))
    end.daemon = True
    end.start()
    pyspark = sys.modules.get(
        "pyspark"
    )  # the main thread imports it; two at once would be in each other's way
    context = getattr(getattr(pyspark, "SparkContext", None), "_active_spark_context", None)
    if context is not None:
        with suppress(Exception):  # it may be ending, too
            context.cancelAllJobs()


if __name__ == "__main__":
    main()
