"""Session: starts Spark with a Java that was found, quiet, with this interpreter for its Python tasks, and ends it."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from actorstream.errors import NotInstalledError
from actorstream.spark.failure import SparkError, cause, shorten
from actorstream.spark.java import find_java, make_home
from actorstream.spark.snappy import snappy_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
CONNECT = "sc://"
"""Begins the masters that are servers of sessions: Spark Connect."""
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a Java that only hands out tasks of Python: half the time to start."""
CONNECT_PORT = "15002"
ANSWER_S = 5.0
"""Seconds for which a master may be silent."""
_QUIET_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j")
_STOPPED = "stopped SparkContext"
"""Spark writes this when it has given up reaching a master at its start."""
_SEEN = 40
"""Lines at the end of Java's log that may tell why Spark did not start."""


@contextmanager
def spark_session(
    master: str = LOCAL, options: Mapping[str, str] | None = None, *, logs: bool = False
) -> Iterator[SparkSession]:
    """A Spark session for the time of a `with` block.

    Args:
        master: as Spark takes it: `local[*]`, `spark://host:7077`, `local-cluster[2,1,1024]`, `yarn`, `k8s://…`; or the server
            of a session, `sc://host:15002`, which needs no Java here.
        options: Spark's settings; they win over ours.
        logs: whether Spark's logs go to stderr; otherwise they go nowhere, and a failed start shows their last lines.

    Raises NotInstalledError without pyspark, JavaError without a Java, SparkError if its master does not answer or Spark
    does not start."""
    if find_spec("pyspark") is None:
        raise NotInstalledError("Spark", "spark")
    check_master(master)
    if master.startswith(CONNECT):
        yield from _connected(master, options or {})
        return
    folder = Path(tempfile.mkdtemp(prefix="actorstream-spark-"))
    log = None if logs else folder / "java.log"
    root = logging.getLogger()
    if log is not None:
        root.addFilter(_is_not_of_py4j)
    try:
        spark = _start(master, options or {}, folder, log)
        try:
            yield spark
        finally:
            with suppress(Exception):  # the JVM may have gone before
                spark.stop()
            _end_java()
    finally:
        root.removeFilter(_is_not_of_py4j)
        shutil.rmtree(folder, ignore_errors=True)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """py4j logs the tracebacks of a Ctrl-C, with the root logger, before it raises the KeyboardInterrupt."""
    return "/py4j/" not in record.pathname


def _connected(master: str, options: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session of a server. Its settings are those of a session."""
    if find_spec("grpc") is None:
        raise SparkError(f"a master such as {master!r} needs a package: pip install 'pyspark[connect]'")
    from pyspark.sql import SparkSession

    for name in _QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    _check_server(master)
    try:
        spark = SparkSession.builder.remote(master).create()
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        for name, value in options.items():
            spark.conf.set(name, value)
    except Exception as error:
        raise SparkError(f"no session of Spark at {master!r}: {shorten(str(error))}") from None
    try:
        yield spark
    finally:
        with suppress(Exception):  # the server may have gone before
            spark.stop()


def check_master(master: str) -> None:
    """Raises SparkError if `master` is a standalone cluster, or a server of sessions, and does not answer. Spark would try for a
    minute, and then name a consequence."""
    scheme, _, addresses = master.partition("://")
    if scheme not in ("spark", "sc"):
        return
    addresses = addresses.partition("/")[0]
    failed = []
    for address in addresses.split(","):
        host, found, port = address.rpartition(":")
        if scheme == "sc" and not found:
            host, port = port, CONNECT_PORT
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_S).close()
        except (OSError, ValueError, OverflowError) as error:
            failed.append(f"{address}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise SparkError(
        f"no Spark master answers at {master!r} ({'; '.join(failed)}); start it, or check the host, the port (7077, or 15002 "
        "of sc://, unless set) and the firewall"
    )


def _check_server(master: str) -> None:
    """Raises SparkError if what listens there is no server of sessions. Without this, a query waits for it for ever."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    channel = None
    try:
        channel = DefaultChannelBuilder(master).toChannel()
        grpc.channel_ready_future(channel).result(timeout=ANSWER_S)
    except grpc.FutureTimeoutError:
        raise SparkError(
            f"what listens at {master!r} has not answered as a server of Spark Connect for {ANSWER_S:.0f} s; check the port, and "
            "whether the server wants TLS (…/;use_ssl=true)"
        ) from None
    except Exception as error:  # the address has parameters that are none
        raise SparkError(f"no session of Spark at {master!r}: {shorten(str(error))}") from None
    finally:
        if channel is not None:
            channel.close()


def _start(master: str, options: Mapping[str, str], folder: Path, log: Path | None) -> SparkSession:
    home = make_home(find_java(), folder, log)
    if log is not None:
        for name in _QUIET_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
    import pyspark
    from pyspark.sql import SparkSession

    environment = {
        "JAVA_HOME": str(home),
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(map(os.path.abspath, sys.path))),
    }
    if master.startswith("local"):
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    if master.startswith("local-cluster"):
        environment["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        builder = SparkSession.builder.master(master).appName("actorstream")
        for name, value in _settings(master, options, folder).items():
            builder = builder.config(name, value)
        with _own_interrupts():
            spark = builder.getOrCreate()
    except Exception as error:
        raise _not_started(master, error, log) from None
    finally:
        for name, former in before.items():
            if former is None:
                del os.environ[name]
            else:
                os.environ[name] = former
    if log is not None:
        spark.sparkContext.setLogLevel("OFF")
    return spark


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Ctrl-C does afterwards what it did before: pyspark has it cancel all jobs, and raise whatever the main thread does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _settings(master: str, options: Mapping[str, str], folder: Path) -> dict[str, str]:
    """All settings of a session: the user's `options` win over ours, and options of Java are joined."""
    found = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    if master.startswith("local"):
        found |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        if "cluster" not in master:
            found["spark.sql.shuffle.partitions"] = str(len(os.sched_getaffinity(0)))
    found |= options
    java = snappy_options(folder) if master.startswith("local") else ""
    for name in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions") if java else ():
        found[name] = f"{java} {found.get(name, '')}"
    return found


def _not_started(master: str, error: Exception, log: Path | None) -> SparkError:
    said = ""
    if log is not None and log.exists():
        last = log.read_text(errors="replace").splitlines()[-_SEEN:]
        said = "\n".join(line for line in last if "Exception" in line or "rror" in line)
    text = cause(error)
    if master.startswith("spark://") and _STOPPED in text:
        text = (
            "the master has accepted the connection and no application; check that a master of the same version of Spark as "
            "here listens at this port, and that executors reach this host"
        )
    text = shorten(f"{text}\n{said}")
    return SparkError("\n  ".join(f"Spark did not start with master {master!r}: {text}".splitlines()[:15]))


def _end_java() -> None:
    """Ends the JVM that pyspark would keep until this process ends, so that another session may have other settings."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    process = getattr(gateway, "proc", None)
    gateway.shutdown()
    if process is not None:
        process.stdin.close()  # the JVM ends when its input does
        process.wait()
    SparkContext._gateway = SparkContext._jvm = None
