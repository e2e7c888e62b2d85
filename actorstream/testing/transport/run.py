"""Runs a check on a transport: with all workers in one process, or each in a forked process of its own."""

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
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from actorstream.testing.transport.check import Check
from actorstream.testing.transport.side import PLAN, CheckFailed, Side
from actorstream.transports.base import Fabric, Transport


class Way(Enum):
    """Where the workers of a check run."""

    TOGETHER = "together"
    """All in this process and loop."""
    APART = "apart"
    """Each in a forked process."""


def ways_of(check: Check, transport_class: type[Transport]) -> list[Way]:
    """The ways in which `check` can run on `transport_class`; empty if the rule does not apply to it."""
    if not check.applies(transport_class):
        return []
    together = [] if check.dies else [Way.TOGETHER]
    return together + ([Way.APART] if transport_class.crosses_processes else [])


def run_check(
    check: Check, transport_class: type[Transport], way: Way, *, deadline: float, options: dict[str, Any]
) -> None:
    """Runs one check; CheckFailed names the transport, the check, the way, and what each failing worker saw."""
    with _nothing_left(check, transport_class, way):
        failures = _failures(check, transport_class, way, deadline, options)
    if failures:
        raise CheckFailed(
            _title(check, transport_class, way) + "".join(f"\n{failure}" for failure in failures)
        )


def _failures(
    check: Check, transport_class: type[Transport], way: Way, deadline: float, options: dict[str, Any]
) -> list[str]:
    fabric = transport_class.fabric(check.workers, list(check.channels), PLAN, **options)
    try:
        if way is Way.TOGETHER:
            return asyncio.run(_together(check, transport_class, fabric, deadline))
        return _apart(check, transport_class, fabric, deadline)
    finally:
        fabric.close()


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


async def _together(
    check: Check, transport_class: type[Transport], fabric: Fabric, deadline: float
) -> list[str]:
    sides = [
        Side(transport_class, fabric, worker, list(check.channels), deadline=deadline)
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


def _apart(check: Check, transport_class: type[Transport], fabric: Fabric, deadline: float) -> list[str]:
    sys.stdout.flush()
    sys.stderr.flush()
    children: dict[int, tuple[int, int]] = {}
    for worker in range(check.workers):
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            _child(check, transport_class, fabric, worker, deadline, theirs)
        os.close(theirs)
        children[worker] = (child, ours)
    fabric.close()  # the parent holds nothing on to, as a launcher would
    limit = time.monotonic() + 2 * deadline
    outcomes = {}
    for worker, (child, pipe) in children.items():
        outcomes[worker] = _outcome(child, pipe, limit)
    failures = []
    for worker, (code, story) in outcomes.items():
        if worker in check.dies:
            if code != -signal.SIGKILL:
                failures.append(story or f"worker {worker}: was to die by SIGKILL, ended with {code}")
        elif code != 0 or story:
            failures.append(story or f"worker {worker}: its process ended with {code}")
    return failures


def _child(
    check: Check,
    transport_class: type[Transport],
    fabric: Fabric,
    worker: int,
    deadline: float,
    pipe: int,
) -> None:
    code = 1
    try:
        asyncio.run(play(check, transport_class, fabric, worker, deadline))
        fabric.close()
        code = 0
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(pipe, _story(worker, error).encode()[:60_000])
    finally:
        os._exit(code)


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


@contextlib.contextmanager
def _nothing_left(check: Check, transport_class: type[Transport], way: Way) -> Iterator[None]:
    """No file descriptor and no shared mapping of this process outlives a check."""
    gc.collect()
    before = _open_things()
    yield
    gc.collect()
    left = _open_things() - before
    if left:
        raise CheckFailed(f"{_title(check, transport_class, way)}\nleft behind: {', '.join(sorted(left))}")


def _open_things() -> set[str]:
    things = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the listing's own descriptor is closed by now
            things.add(f"descriptor {descriptor.name} -> {descriptor.readlink()}")
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "/memfd:" in line or "/dev/shm/" in line:
            things.add("mapping " + line.split(maxsplit=5)[-1])
    return things


def _title(check: Check, transport_class: type[Transport], way: Way) -> str:
    return f"transport {transport_class.name!r}, check {check.name!r}, workers {way.value}:"
