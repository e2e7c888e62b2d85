"""A network in a program: the hosts of a test are joined by it instead of a bridge, so frames of every protocol are delayed and
dropped, and all wires can be cut for a moment. `python -m tests.integration.wires DELAY LOSS MTU NAMESPACE...` runs in the
namespace of the switch: it makes a device `eth0` in each namespace and `br0` in its own, prints "ready", and answers each line
on stdin ("cut": for `CUT_S`) with "done"."""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
from itertools import count
from time import monotonic

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
CUT_S = 0.2
"""TCP sends again what was lost meanwhile."""
LONGEST = 1 << 16


def tap(name: str) -> int:
    """Makes a network device, whose frames are read and written by the descriptor."""
    made = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(made, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return made


def devices(namespaces: list[str], mtu: str) -> list[int]:
    """One in each namespace, and one here."""
    found = []
    for number, namespace in enumerate(namespaces):
        name = f"tap{number}"
        found.append(tap(name))
        subprocess.run(
            ["ip", "link", "set", name, "mtu", mtu, "name", "eth0", "netns", namespace], check=True
        )
    found.append(tap("br0"))
    subprocess.run(["ip", "link", "set", "br0", "mtu", mtu], check=True)
    return found


class Wires:
    """Between the devices: `delay` seconds, and a frame of `1 / loss` is dropped."""

    def __init__(self, taps: list[int], delay: float, loss: float) -> None:
        self.taps, self.delay, self.loss = taps, delay, loss
        self._ports: dict[bytes, int] = {}
        """Hardware address -> device."""
        self._under_way: list[tuple[float, int, int, bytes]] = []
        self._numbers = count()
        self._draw = random.Random(16)
        self._cut_until = 0.0

    def cut(self) -> None:
        self._cut_until = monotonic() + CUT_S

    def take(self, source: int, frame: bytes, now: float) -> None:
        to, self._ports[frame[6:12]] = self._ports.get(frame[:6]), source
        if now < self._cut_until or self._draw.random() < self.loss:
            return
        for each in [to] if to is not None else [each for each in self.taps if each != source]:
            heapq.heappush(self._under_way, (now + self.delay, next(self._numbers), each, frame))

    def deliver(self, now: float) -> None:
        while self._under_way and self._under_way[0][0] <= now:
            _, _, to, frame = heapq.heappop(self._under_way)
            try:
                os.write(to, frame)
            except OSError:
                continue  # the device is down, or its queue is full: the frame is lost

    def wait_s(self, now: float) -> float:
        return max(0.0, self._under_way[0][0] - now) if self._under_way else 1.0


def main() -> None:
    delay, loss, mtu, *namespaces = sys.argv[1:]
    wires = Wires(devices(namespaces, mtu), float(delay), float(loss))
    print("ready", flush=True)
    while True:
        for source in select.select([0, *wires.taps], [], [], wires.wait_s(monotonic()))[0]:
            if source == 0:
                if not sys.stdin.readline():
                    return
                wires.cut()
                print("done", flush=True)
                continue
            for _ in range(64):
                try:
                    wires.take(source, os.read(source, LONGEST), monotonic())
                except OSError:
                    break
        wires.deliver(monotonic())


if __name__ == "__main__":
    main()
