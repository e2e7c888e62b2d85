"""Receiver: the socket of a source actor that Spark's tasks push into. Its threads wait for sockets; what the rows mean is
`lanes.py`'s business."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actorstream.errors import ActorstreamError
from actorstream.spark.frames import (
    ASK,
    BATCH,
    CREDIT,
    DIFFERS,
    DONE,
    GO,
    HEADER,
    LEAVE,
    MOST_BYTES,
    STAY,
    TAKEN,
    decode_batch,
)
from actorstream.spark.lanes import Lanes
from actorstream.spark.task_listener import TaskListener, listening

WINDOW = 4
"""Batches of a lane that a task may have sent and the actor not taken."""


class Receiver:
    """Takes the batches of the tasks of one range after the other. Its memory is bounded: a lane has at most `WINDOW`
    batches here and as many in the merged sequence.

    Args:
        count: lanes, one a task.
        times: the event times of a record batch, as int64.
        wake: called, from any thread, when there may be something to take.
        number: the range that comes first, `kept` how far its lanes were given before a restart.
        host: an address of this host, for tasks on other hosts; "": they are on this one.
    """

    def __init__(
        self,
        count: int,
        times: Callable[[Any], np.ndarray],
        wake: Callable[[], None],
        number: int = 0,
        kept: list[Mapping[str, Any]] | None = None,
        host: str = "",
    ) -> None:
        self.count, self.number = count, number
        self.error: Exception | None = None
        self._times, self._wake = times, wake
        self._lanes = Lanes(count, kept)
        self._pushing: dict[int, socket.socket] = {}
        """Lane -> the connection of the task that pushes into it."""
        self._changed = threading.Condition()
        self._closed = False
        listener, self.address = listening(host)
        self._listener = TaskListener(listener, "spark-push", self._serve)
        self.token = self._listener.token

    # -- the actor's side -----------------------------------------------------------------------------------

    def take(self, most: int) -> tuple[Any, int] | None:
        """The next rows and the time of the last one; None: none yet, or the range has ended. Raises what a connection
        has failed with if that cannot be tried again."""
        with self._changed:
            if self.error is not None:
                raise self.error
            waiting = [self._lanes.waiting(lane) for lane in range(self.count)]
            found = self._lanes.take(most)
            for lane, before in enumerate(waiting):
                taken = before - self._lanes.waiting(lane)
                if taken and lane in self._pushing:
                    try:
                        self._pushing[lane].sendall(CREDIT * taken)
                    except OSError:
                        pass  # its thread sees the same
            return found

    @property
    def ended(self) -> bool:
        """Whether everything of the range was given."""
        with self._changed:
            return self._lanes.ended

    def kept(self) -> list[dict[str, Any]]:
        with self._changed:
            return self._lanes.kept()

    def next_range(self) -> None:
        """Tasks of the next range may push."""
        with self._changed:
            self.number += 1
            self._lanes = Lanes(self.count)
            self._changed.notify_all()

    def end_range(self, number: int) -> None:
        """The job of a range has ended: a lane that nobody pushed into has no rows."""
        with self._changed:
            if number == self.number:
                for lane in range(self.count):
                    self._lanes.end(lane)
        self._wake()

    def fail(self, error: Exception) -> None:
        with self._changed:
            self.error = self.error or error
        self._wake()

    def close(self) -> None:
        with self._changed:
            if self._closed:
                return
            self._closed = True
            links = list(self._pushing.values())
            self._changed.notify_all()
        self._listener.close(links)

    # -- threads --------------------------------------------------------------------------------------------

    def _serve(self, link: socket.socket, hello: Mapping[str, Any]) -> None:
        """Serves one connection. If it fails, Spark tries the task again; rows that are wrong end the run."""
        lane = int(hello["lane"])
        try:
            if self._admit(link, hello):
                self._take_frames(link, lane)
        except ActorstreamError as error:
            self.fail(error)
        finally:
            with self._changed:
                if self._pushing.get(lane) is link:
                    del self._pushing[lane]
                self._changed.notify_all()

    def _admit(self, link: socket.socket, hello: Mapping[str, Any]) -> bool:
        """Waits until it is the range's turn and no other task pushes into the lane; tells the task where to begin. False:
        there is nothing left to push."""
        lane, number = int(hello["lane"]), int(hello["range"])
        if not 0 <= lane < self.count:
            return False
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._closed
                    or number < self.number
                    or (
                        number == self.number and (self._lanes.lanes[lane].ended or lane not in self._pushing)
                    )
                )
            )
            if self._closed:
                return False
            state = self._lanes.lanes[lane]
            done = number < self.number or state.ended
            window = max(0, WINDOW - len(state.held))
            told = {
                "state": DONE if done else GO,
                "batch": state.batch,
                "digest": state.digest.hex(),
                "window": window,
            }
            link.sendall(json.dumps(told).encode() + b"\n")
            if not done:
                self._pushing[lane] = link
            return not done

    def _take_frames(self, link: socket.socket, lane: int) -> None:
        while True:
            header = _whole(link, HEADER.size)
            kind, number, digest, size = HEADER.unpack(header)
            if size > MOST_BYTES:
                raise ValueError(f"a frame of {size} bytes")
            if kind == DIFFERS:
                raise TableChangedError(
                    f"Spark gives other rows than before: lane {lane} of range {self.number} differs before batch "
                    f"{number}. The table has changed since it was read, or the query is not deterministic: read a fixed "
                    "version of it (versionAsOf for Delta), or begin anew"
                )
            if kind == ASK:
                with self._changed:
                    leaves = self._lacks_task()
                    link.sendall(LEAVE if leaves else STAY)
                if leaves:
                    return
                continue
            rows = decode_batch(_whole(link, size)) if kind == BATCH else None
            times = self._times(rows) if rows is not None else None
            with self._changed:
                if number != self._lanes.lanes[lane].batch:
                    raise ValueError(f"batch {number} in place of {self._lanes.lanes[lane].batch}")
                if rows is None:
                    self._lanes.end(lane)
                else:
                    assert times is not None
                    self._lanes.put(lane, rows, times, digest)
            self._wake()
            if rows is None:
                link.sendall(TAKEN)
                return

    def _lacks_task(self) -> bool:
        """Whether a lane that has not ended has no task, so that the rows of the others cannot be put in order."""
        return any(
            not lane.ended and not lane.held and number not in self._pushing
            for number, lane in enumerate(self._lanes.lanes)
        )


class TableChangedError(ActorstreamError):
    """A source gave other rows the second time."""


def _whole(link: socket.socket, size: int) -> memoryview:
    found = np.empty(size, np.uint8).data
    at = 0
    while at < size:
        step = link.recv_into(found[at:], 0, socket.MSG_WAITALL)
        if not step:
            raise ConnectionError("the task has gone")
        at += step
    return found
