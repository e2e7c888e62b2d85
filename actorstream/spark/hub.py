"""DriverHub: where the replicas of a source meet, so that one driver of Spark serves them all. Knows nothing of Spark itself.

A replica connects, says hello in one line of JSON and what it has to do in another. Once all replicas of the source are here,
the driver starts; each of them hears every line that it says. If one leaves before its rows have ended, the driver stops."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from actorstream.errors import ConfigurationError, Problem
from actorstream.spark.driver_process import DriverProcess, Hear, raised
from actorstream.spark.failure import SparkError
from actorstream.spark.task_listener import TaskListener, listening

HUB = "ACTORSTREAM_SPARK_HUB"
"""The variable that tells sources where a hub listens: a name, or HOST:PORT, then its token."""
OWN_HOST = "ACTORSTREAM_SPARK_HOST"
"""The variable that tells sources the address under which executors on other hosts reach this one."""
LONGEST_LINE = 64 << 20
HUB_GONE = (
    "the process that started the run has ended, and no rows come without it; launch again, with --resume if there are "
    "checkpoints"
)
FINISHED = {"finished": True}
"""What a replica says when all its rows have been given."""
LEFT = {"left": True}
"""What the hub says when it ends the links of a source because a replica has gone."""


class Driver(Protocol):
    """What runs the jobs of a source."""

    def stop(self) -> None: ...


class DriverHub:
    """Listens until it is closed.

    Args:
        start: starts a driver with what it has to do, and who hears what it says.
        host: an address of this host under which the sources reach it; "": they are on this one.

    Attributes:
        place: the value of `HUB`.
    """

    def __init__(self, start: Callable[[Mapping[str, Any], Hear], Driver], host: str = "") -> None:
        self._start = start
        self._groups: dict[str, _Group] = {}
        """Source -> its replicas."""
        self._changed = threading.Condition()
        self._closed = False
        if host:
            listener = socket.create_server((host, 0))
            name = f"{host}:{listener.getsockname()[1]}"
        else:
            listener, name = listening()
        self._listener = TaskListener(listener, "spark-hub", self._serve)
        self.place = f"{name} {self._listener.token}"

    def close(self) -> None:
        """Ends all drivers."""
        with self._changed:
            self._closed = True
            groups = list(self._groups.values())
        self._listener.close(link for group in groups for link in group.links.values())

    def _serve(self, link: socket.socket, hello: Mapping[str, Any]) -> None:
        source, replica = str(hello["source"]), int(hello["replica"])
        with link.makefile("rb") as file:
            task = json.loads(file.readline(LONGEST_LINE))
            with self._changed:  # those of the attempt before leave first
                self._changed.wait_for(
                    lambda: source not in self._groups or replica not in self._groups[source].links
                )
                group = self._groups.setdefault(source, _Group(int(hello["replicas"])))
                group.links[replica], group.tasks[replica] = link, task
                whole = group.whole_task() if len(group.links) == group.replicas else FINISHED
                if whole != FINISHED:
                    group.driver = self._start(whole, group.hear)
            finished = "finished" in task
            try:
                while line := file.readline(LONGEST_LINE):
                    said = json.loads(line)
                    finished = finished or "finished" in said
                    if "lacks" in said:
                        group.note_lack(replica, lacks=said["lacks"])
            finally:
                with self._changed:
                    ended = group.leaves(replica, finished=finished, is_told=not self._closed)
                    if ended and self._groups.get(source) is group:
                        del self._groups[source]
                    self._changed.notify_all()


class _Group:
    """The replicas of one source, and their driver."""

    def __init__(self, replicas: int) -> None:
        self.replicas = replicas
        self.links: dict[int, socket.socket] = {}
        self.tasks: dict[int, dict[str, Any]] = {}
        self.driver: Driver | None = None
        self._lacking: dict[int, bool] = {}
        self._gone: set[int] = set()
        self._lock = threading.Lock()

    def whole_task(self) -> dict[str, Any]:
        """What the driver has to do for all replicas."""
        asking = [task for task in self.tasks.values() if "finished" not in task]
        if not asking:
            return dict(FINISHED)
        whole = {**asking[0], "lanes": {}, "range": min(task["range"] for task in asking)}
        for task in asking:
            whole["lanes"] |= task["lanes"]
            whole["table"] = whole["table"] or task["table"]
        return whole

    def hear(self, line: dict[str, Any]) -> None:
        """Passes on a line of the driver."""
        if "error" in line:
            line = {"kind": type(line["error"]).__name__, "error": str(line["error"])}
        with self._lock:
            for number, link in list(self.links.items()):
                if "say" not in line or number == min(self.links):
                    self._send(link, line)

    def note_lack(self, replica: int, *, lacks: bool) -> None:
        """Tells each replica whether another one has a lane without a task."""
        with self._lock:
            self._lacking[replica] = lacks
            for number, link in list(self.links.items()):
                others = any(each for other, each in self._lacking.items() if other != number)
                self._send(link, {"others_lack": others})

    def leaves(self, replica: int, *, finished: bool, is_told: bool) -> bool:
        """A replica has gone, of which the others are told. Returns whether nobody else is left, or nobody else can go on."""
        self._gone.add(replica)
        ended = not finished or len(self._gone) == self.replicas
        if ended and self.driver is not None:
            self.driver.stop()
        if ended:
            with self._lock:
                links = list(self.links.values())
                for link in links if is_told else ():
                    self._send(link, LEFT)
            for link in links:
                with suppress(OSError):
                    link.shutdown(socket.SHUT_RDWR)
        return ended

    @staticmethod
    def _send(link: socket.socket, line: Mapping[str, Any]) -> None:
        with suppress(OSError):
            link.sendall(json.dumps(line).encode() + b"\n")


class HubDriver:
    """The driver behind a hub, as one replica of a source sees it; as `DriverProcess` otherwise.

    Args:
        source, replica, replicas: the name of the source, this one's number, and how many there are.
        task: what this replica needs; `FINISHED` if it has all its rows.

    Attributes:
        listener: the thread that calls `hear`; it ends with the link."""

    def __init__(
        self, source: str, replica: int, replicas: int, task: Mapping[str, Any], hear: Hear | None = None
    ) -> None:
        place, _, token = os.environ[HUB].rpartition(" ")
        self._link = _connected(place)
        self._hear, self._stopped = hear, False
        hello = {"token": token, "source": source, "replica": replica, "replicas": replicas}
        self._send(hello)
        self._send(task)
        self.listener = threading.Thread(target=self._listen, name="spark-hub", daemon=True)
        self.listener.start()

    def finish(self) -> None:
        """This replica has all its rows."""
        self._send(FINISHED)

    def tell_lack(self, lacks: bool) -> None:
        self._send({"lacks": lacks})

    def stop(self) -> None:
        self._stopped = True
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)

    def _listen(self) -> None:
        with self._link, self._link.makefile("rb") as lines, suppress(OSError):
            for text in lines:
                line = json.loads(text)
                if line == LEFT:  # the run ends, and says itself why
                    return
                if "error" in line:
                    line["error"] = raised(line["kind"], line["error"])
                self._pass_on(line)
        self._pass_on({"error": SparkError(HUB_GONE)})

    def _pass_on(self, line: dict[str, Any]) -> None:
        if self._hear is not None and not self._stopped:
            self._hear(line)

    def _send(self, line: Mapping[str, Any]) -> None:
        with suppress(OSError):
            self._link.sendall(json.dumps(line).encode() + b"\n")


def _connected(place: str) -> socket.socket:
    host, found, port = place.rpartition(":")
    if found:
        return socket.create_connection((host, int(port)))
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(f"\0{place}")
    return link


@contextmanager
def local_hub() -> Iterator[None]:
    """A hub of this process for the workers that it starts meanwhile, unless there is one already, as on a cluster."""
    if HUB in os.environ:
        yield
        return
    hub = DriverHub(DriverProcess)
    os.environ[HUB] = hub.place
    try:
        yield
    finally:
        del os.environ[HUB]
        hub.close()


def hub_missing() -> ConfigurationError:
    """The error of a source with several replicas whose workers were started one by one."""
    hint = "workers on several hosts meet if Spark starts them: launch --on MASTER"
    return ConfigurationError(
        Problem("replicas", "is more than 1, and nothing tells the replicas of each other", "1", hint)
    )
