"""Receiver: the socket of a source actor that Spark's tasks push into. Its threads wait for sockets; what the rows mean is
`lanes.py`'s business."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
from actorstream.spark.task_listener import TaskListener, connected, listening, reachable

WINDOW = 4
"""Batches of a lane that a task may have sent and the actor not taken."""


class Receiver:
    """Takes the batches of the tasks of one range after the other. Its memory is bounded: a lane has at most `WINDOW`
    batches here and as many in the merged sequence.

    Args:
        lanes: numbers of the tasks that push here.
        times: the event times of a record batch, as int64.
        wake: called, from any thread, when there may be something to take.
        number: the range that comes first, `kept` how far its lanes were given before a restart.
        host: an address of this host, for tasks on other hosts, which send through a tunnel; "": all are on this one.
        tell_lack: called, from any thread, with whether a lane of the range lacks a task, when that changes.

    Attributes:
        address, token: what tasks need to push here.
        others_lack: whether a lane lacks a task that another receiver of the same rows waits for.
    """

    def __init__(
        self,
        lanes: Sequence[int],
        times: Callable[[Any], np.ndarray],
        wake: Callable[[], None],
        number: int = 0,
        kept: list[Mapping[str, Any]] | None = None,
        host: str = "",
        tell_lack: Callable[[bool], None] | None = None,
    ) -> None:
        self.lanes, self.number = tuple(lanes), number
        self.others_lack = False
        self.error: Exception | None = None
        self._times, self._wake = times, wake
        self._tell_lack = tell_lack
        self._begun, self._lacks = number, False
        self._lanes = Lanes(len(self.lanes), kept)
        self._pushing: dict[int, socket.socket] = {}
        """Place of a lane -> the connection of the task that pushes into it."""
        self._changed = threading.Condition()
        self._closed = False
        listener, name = listening()
        self._listener = TaskListener(listener, "spark-push", self._serve)
        self.token = self._listener.token
        self._tunnel = None
        if host:
            from actorstream.transports.zmq.tunnel import Tunnel

            self._tunnel = Tunnel(host, partial(connected, name))
        self.address = reachable(name, self._tunnel.address if self._tunnel is not None else "")

    # -- the actor's side -----------------------------------------------------------------------------------

    def take(self, most: int) -> tuple[Any, int] | None:
        """The next rows and the time of the last one; None: none yet, or the range has ended. Raises what a connection
        has failed with if that cannot be tried again."""
        with self._changed:
            if self.error is not None:
                raise self.error
            waiting = [self._lanes.waiting(lane) for lane in range(len(self.lanes))]
            found = self._lanes.take(most)
            for lane, before in enumerate(waiting):
                taken = before - self._lanes.waiting(lane)
                if taken and lane in self._pushing:
                    try:
                        self._pushing[lane].sendall(CREDIT * taken)
                    except OSError:
                        pass  # its thread sees the same
            if found is not None:
                self._note_lack()
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
            self._lanes = Lanes(len(self.lanes))
            self._changed.notify_all()
            self._note_lack()

    def begin_range(self, number: int) -> None:
        """The job of a range begins: from now on a lane without a task lacks one."""
        with self._changed:
            self._begun = number
            self._note_lack()

    def end_range(self, number: int) -> None:
        """The job of a range has ended: a lane that nobody pushed into has no rows."""
        with self._changed:
            if number == self.number:
                for lane in range(len(self.lanes)):
                    self._lanes.end(lane)
                self._note_lack()
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
        if self._tunnel is not None:
            self._tunnel.close()

    # -- threads --------------------------------------------------------------------------------------------

    def _serve(self, link: socket.socket, hello: Mapping[str, Any]) -> None:
        """Serves one connection. If it fails, Spark tries the task again; rows that are wrong end the run."""
        lane = self.lanes.index(int(hello["lane"]))
        try:
            if self._admit(link, lane, int(hello["range"])):
                self._take_frames(link, lane)
        except ActorstreamError as error:
            self.fail(error)
        finally:
            with self._changed:
                if self._pushing.get(lane) is link:
                    del self._pushing[lane]
                    self._note_lack()
                self._changed.notify_all()

    def _admit(self, link: socket.socket, lane: int, number: int) -> bool:
        """Waits until it is the range's turn and no other task pushes into the lane; tells the task where to begin. False:
        there is nothing left to push."""
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
                self._note_lack()
            return not done

    def _take_frames(self, link: socket.socket, lane: int) -> None:
        while True:
            header = _whole(link, HEADER.size)
            kind, number, digest, size = HEADER.unpack(header)
            if size > MOST_BYTES:
                raise ValueError(f"a frame of {size} bytes")
            if kind == DIFFERS:
                raise TableChangedError(
                    f"Spark gives other rows than before: lane {self.lanes[lane]} of range {self.number} differs before batch "
                    f"{number}. The table has changed since it was read, or the query is not deterministic: read a fixed "
                    "version of it (versionAsOf for Delta), or begin anew"
                )
            if kind == ASK:
                with self._changed:
                    leaves = self._lacks_task() or self.others_lack
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
                self._note_lack()
            self._wake()
            if rows is None:
                link.sendall(TAKEN)
                return

    def _lacks_task(self) -> bool:
        """Whether a lane that has not ended has no task, so that the rows of the others cannot be put in order."""
        return self._begun == self.number and any(
            not lane.ended and not lane.held and number not in self._pushing
            for number, lane in enumerate(self._lanes.lanes)
        )

    def _note_lack(self) -> None:
        """Tells whether a lane lacks a task if that has changed. Called under the lock."""
        if self._lacks != (lacks := self._lacks_task()):
            self._lacks = lacks
            if self._tell_lack is not None:
                self._tell_lack(lacks)


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
