"""What the runtime itself puts into a mailbox, beside users' messages. Signals use no credit."""

from __future__ import annotations

from typing import Any

import msgspec


class Terminated(msgspec.Struct, frozen=True):
    """Told once to an actor that watches another, as an ordinary message, when that one has stopped or is lost.

    name: the watched actor as its ref names it (`"counter"`, `"othersystem/counter"`).
    reason: "stopped", or the text of the failure, or how its process was lost.
    """

    name: str
    reason: str


class Signal:
    """Stands in the reply place of an entry; told apart from asks by its class."""

    __slots__ = ()


class StopSignal(Signal):
    """The actor stops when it gets here: all messages before it are processed."""

    __slots__ = ()


class TickSignal(Signal):
    """A timer is due. Void if the timer was set again or cancelled meanwhile (`timer.alarm` is then None)."""

    __slots__ = ("timer",)

    def __init__(self, timer: Any) -> None:
        self.timer = timer


class ObituarySignal(Signal):
    """A watched actor has died; the entry's message is its `Terminated`. Void if it is no longer watched."""

    __slots__ = ("watch",)

    def __init__(self, watch: Any) -> None:
        self.watch = watch


STOP = StopSignal()
