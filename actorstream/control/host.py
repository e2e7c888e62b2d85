"""Hosts a coordinator in some process: hands it what the links bring, and carries out what it decides. Knows no processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from actorstream.control.actions import Action, Finish, Kill, Send, WriteCheckpoint, WriteEnd
from actorstream.control.messages import Bound, Collected, Counted, Message, Snapshot
from actorstream.errors import RunError

if TYPE_CHECKING:
    from actorstream.control.coordinator import Coordinator


class Record(Protocol):
    """Where checkpoints are written. Both raise RunError if that is not possible."""

    def write(self, number: int, taken: Mapping[int, Snapshot]) -> None: ...
    def write_end(self, number: int, tokens: Mapping[int, bytes]) -> None: ...


class Host:
    """Runs one coordinator.

    Args:
        coordinator: what decides. record: where checkpoints go; None: nobody makes any.
        send: hands a message to a worker that is not gone. kill: ends the workers that are not gone, as far as the host can.
        count: takes the counters of a worker that does not share them.
        clock: seconds.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        record: Record | None,
        send: Callable[[int, Message], None],
        kill: Callable[[], None],
        count: Callable[[Mapping[int, bytes]], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.coordinator, self.record = coordinator, record
        self.send, self.kill, self.count, self.clock = send, kill, count, clock
        self.collected: dict[str, list[bytes]] = {}
        """Actor -> the parts of what its in-memory sinks received."""
        self.bound: dict[int, Bound] = {}
        """Worker -> what it was bound to."""
        self.finished: Finish | None = None
        """How the run came to its end, once no worker is left."""

    def heard(self, worker: int, message: Message) -> None:
        """A message has come from a worker."""
        match message:
            case Collected(_, actor, data):
                self.collected.setdefault(actor, []).append(data)
            case Bound():
                self.bound[worker] = message
            case Counted(_, rows):
                self.count(rows)
            case _:
                self.do(self.coordinator.heard(worker, message, self.clock()))

    def lost(self, worker: int, how: str) -> None:
        """A worker is gone, and all that it sent has been heard."""
        self.do(self.coordinator.lost(worker, how, self.clock()))

    def tick(self) -> None:
        """To be called some 20 times a second."""
        self.do(self.coordinator.tick(self.clock()))

    def do(self, actions: list[Action]) -> None:
        """Carries out what the coordinator decided, and what follows from that."""
        for action in actions:
            match action:
                case Send(message, None):
                    for worker, member in enumerate(self.coordinator.members):
                        if not member.gone:
                            self.send(worker, message)
                case Send(message, worker) if worker is not None:
                    self.send(worker, message)
                case WriteCheckpoint() | WriteEnd():
                    self._write(action)
                case Kill():
                    self.kill()
                case Finish():
                    self.finished = action

    def _write(self, action: WriteCheckpoint | WriteEnd) -> None:
        assert self.record is not None
        failed = None
        try:
            if isinstance(action, WriteEnd):
                self.record.write_end(action.number, action.tokens)
            else:
                self.record.write(action.number, action.taken)
        except RunError as error:
            failed = error
        except Exception as error:  # a coordinator that never hears how it went would wait for ever
            failed = RunError(
                f"checkpoint {action.number} cannot be written: {type(error).__name__}: {error}"
            )
            failed.__cause__ = error
        self.do(self.coordinator.written(action.number, failed, self.clock()))
