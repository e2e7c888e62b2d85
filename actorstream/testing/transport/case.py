"""A case runs a check on a transport: with all workers in one process, or each in a process of its own that inherits the
fabric or is handed it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from actorstream.testing.transport.check import Check
from actorstream.testing.transport.side import PLAN, CheckFailed, Side
from actorstream.transports.base import Fabric, HandedOver, Transport

Result = TypeVar("Result")
LoopFactory = Callable[[], asyncio.AbstractEventLoop]


class Way(Enum):
    """Where the workers of a check run."""

    TOGETHER = "together"
    """All in this process and loop."""
    APART = "apart"
    """Each in a forked process."""
    HANDED = "handed over"
    """Each in a process that uses the fabric as it was handed over, not as it was inherited."""


def ways_of(check: Check, transport_class: type[Transport]) -> list[Way]:
    """The ways in which `check` can run on `transport_class`; empty if the rule does not apply to it."""
    if not check.applies(transport_class):
        return []
    together = [] if check.dies else [Way.TOGETHER]
    if not transport_class.crosses_processes:
        return together
    hands_over = getattr(transport_class.take_over, "__func__", None) is not Transport.take_over.__func__  # type: ignore[attr-defined]
    return [*together, Way.APART, *([Way.HANDED] if hands_over else [])]


class TransportCase(msgspec.Struct, frozen=True):
    """One check in one way on one transport.

    Attributes:
        deadline: seconds that a worker waits for a doorbell before the check fails.
        loop_factory: makes each worker's event loop; None: asyncio's.
        options: of `transport.fabric`.
    """

    transport: type[Transport]
    check: Check
    way: Way
    deadline: float = 20.0
    loop_factory: LoopFactory | None = None
    options: dict[str, Any] = {}

    def run(self) -> None:
        """CheckFailed names the transport, the check, the way, and what each failing worker saw."""
        self.run_async(asyncio.sleep(0))  # what a loop library opens once and for all is none of ours
        with self._nothing_left():
            failures = self._failures()
        if failures:
            raise CheckFailed(self.title + "".join(f"\n{failure}" for failure in failures))

    def run_async(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Runs a coroutine in a new loop of this case's kind."""
        with asyncio.Runner(loop_factory=self.loop_factory) as runner:
            return runner.run(work)

    def _failures(self) -> list[str]:
        fabric = self.transport.fabric(self.check.workers, list(self.check.channels), PLAN, **self.options)
        try:
            if self.way is Way.TOGETHER:
                return self.run_async(_together(self, fabric))
            return _apart(self, fabric)
        finally:
            fabric.close()

    @contextlib.contextmanager
    def _nothing_left(self) -> Iterator[None]:
        """No file descriptor and no shared mapping of this process outlives a check."""
        gc.collect()
        before = _open_things()
        yield
        gc.collect()
        left = _open_things() - before
        if left:
            raise CheckFailed(f"{self.title}\nleft behind: {', '.join(sorted(left))}")

    @property
    def title(self) -> str:
        """What failures begin with."""
        return f"transport {self.transport.name!r}, check {self.check.name!r}, workers {self.way.value}:"

    def __str__(self) -> str:
        return f"{self.check.name}, {self.way.value}"


async def play(
    check: Check, transport_class: type[Transport], fabric: Fabric, worker: int, deadline: float
) -> None:
    """Plays the role of one worker, start to close; for runners whose ranks start on their own."""
    side = Side(transport_class, fabric, worker, list(check.channels), deadline=deadline)
    try:
        await side.transport.start()
        await check.roles[worker](side)
    finally:
        await side.transport.close()


async def _together(case: TransportCase, fabric: Fabric) -> list[str]:
    check = case.check
    sides = [
        Side(case.transport, fabric, worker, list(check.channels), deadline=case.deadline)
        for worker in range(check.workers)
    ]
    try:
        await asyncio.gather(*(side.transport.start() for side in sides))
        # a role that fails leaves the others waiting: they are cancelled, their own story would only distract
        tasks = [asyncio.ensure_future(role(side)) for role, side in zip(check.roles, sides)]
        done, running = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        failed = [(worker, task.exception()) for worker, task in enumerate(tasks) if task in done]
    finally:
        for side in sides:
            await side.transport.close()
    return [_story(worker, error) for worker, error in failed if error is not None]


def _apart(case: TransportCase, fabric: Fabric) -> list[str]:
    sys.stdout.flush()
    sys.stderr.flush()
    children: dict[int, tuple[int, int]] = {}
    for worker in range(case.check.workers):
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            _child(case, fabric, worker, theirs)
        os.close(theirs)
        children[worker] = (child, ours)
    fabric.close()  # the parent holds nothing on to, as a launcher would
    limit = time.monotonic() + 2 * case.deadline
    outcomes = {worker: _outcome(child, pipe, limit) for worker, (child, pipe) in children.items()}
    failures = []
    for worker, (code, story) in outcomes.items():
        if worker in case.check.dies:
            if code != -signal.SIGKILL:
                failures.append(story or f"worker {worker}: was to die by SIGKILL, ended with {code}")
        elif code != 0 or story:
            failures.append(story or f"worker {worker}: its process ended with {code}")
    return failures


def _child(case: TransportCase, fabric: Fabric, worker: int, pipe: int) -> None:
    code = 1
    try:
        if case.way is Way.HANDED:
            fabric = _taken_over(case, fabric)
        case.run_async(play(case.check, case.transport, fabric, worker, case.deadline))
        fabric.close()
        code = 0
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(pipe, _story(worker, error).encode()[:60_000])
    finally:
        os._exit(code)


def _taken_over(case: TransportCase, fabric: Fabric) -> Fabric:
    """The fabric as a process has it that did not inherit it; what was inherited is closed."""
    handed = fabric.hand_over()
    own = HandedOver(handed.description, [os.dup(each) for each in handed.descriptors])
    fabric.close()
    return case.transport.take_over(case.check.workers, list(case.check.channels), PLAN, own)


def _outcome(child: int, pipe: int, limit: float) -> tuple[int, str]:
    chunks = []
    try:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0.0, limit - time.monotonic()))
            if not ready:
                os.kill(child, signal.SIGKILL)
                chunks.append(b"did not end in time and was killed")
                break
            if not (chunk := os.read(pipe, 65_536)):
                break
            chunks.append(chunk)
    finally:
        os.close(pipe)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), b"".join(chunks).decode(errors="replace")


def _story(worker: int, error: BaseException) -> str:
    if isinstance(error, CheckFailed):
        return f"worker {worker}: {error}"
    return f"worker {worker}: " + "".join(traceback.format_exception(error))


def _open_things() -> set[str]:
    things = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the listing's own descriptor is closed by now
            things.add(f"descriptor {descriptor.name} -> {descriptor.readlink()}")
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "/memfd:" in line or "/dev/shm/" in line:
            things.add("mapping " + line.split(maxsplit=5)[-1])
    return things
