"""Signals: what Ctrl-C (SIGINT) and SIGTERM do before, during and after a run. Knows nothing of runs but whom to tell.

Python puts the default handlers back before the interpreter is gone: only what is ignored stays so to the end.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Terminated(BaseException):
    """SIGTERM has come before there was a run that could be told."""


class Signals:
    """The handlers of one process, in its main thread; elsewhere they do nothing.

    A signal goes to the listener if there is one, is kept until there is, or raises where `raising` says so. Once a run
    is over, `settled`, a signal changes nothing any more.
    """

    def __init__(self) -> None:
        self.is_installed = False
        self._before: dict[int, Any] = {}
        self._listener: Callable[[int], None] | None = None
        self._raises = self._is_settled = False
        self._kept: list[int] = []

    def install(self) -> None:
        """From now on signals come here. Handlers that Python did not install stay as they are."""
        if self.is_installed or threading.current_thread() is not threading.main_thread():
            return
        self.is_installed = True
        self._raises = self._is_settled = False
        self._kept.clear()
        for number in NUMBERS:
            self._before[number] = signal.signal(number, self._heard)

    def remove(self) -> None:
        """Puts back what was there before `install`."""
        before, self._before, self.is_installed = self._before, {}, False
        for number, handler in before.items():
            if handler is not None:  # None: installed by other than Python, and cannot be put back from here
                signal.signal(number, handler)

    def ignore(self) -> None:
        """The process is about to end, with the status that it has: no signal changes it."""
        if self.is_installed:
            for number in NUMBERS:
                signal.signal(number, signal.SIG_IGN)

    def tell(self, listener: Callable[[int], None]) -> None:
        """Signals go to `listener`, those first that were kept."""
        self._listener = listener
        while self._kept:
            listener(self._kept.pop(0))

    def settle(self) -> None:
        """The run is over."""
        self._is_settled = True
        self._listener = None

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Within, a signal ends what is done: KeyboardInterrupt, or Terminated."""
        self._raises = True
        try:
            if self._kept:
                raise early_error(self._kept)
            yield
        finally:
            self._raises = False

    def _heard(self, number: int, _: object) -> None:
        if self._is_settled:
            return
        if self._listener is not None:
            self._listener(number)
            return
        self._kept.append(
            number
        )  # also what raises: where nobody can catch it, in a __del__, Python drops it
        if self._raises:
            raise early_error(self._kept)


def early_error(numbers: list[int]) -> BaseException:
    """Makes the error that ends a command because signals came before its run. A Ctrl-C interrupts, and so does a second
    signal."""
    return Terminated() if numbers == [signal.SIGTERM] else KeyboardInterrupt()


def pass_on(loop: asyncio.AbstractEventLoop, heard: Callable[[int], None], number: int) -> None:
    """A listener, with its first two arguments given: `heard` is called in the loop, which a signal alone does not wake."""
    loop.call_soon_threadsafe(heard, number)


COMMAND = Signals()
"""Those of the command line; another use of this package in a process has its own."""
