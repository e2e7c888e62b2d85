"""The example transport of docs/transports.md, installed as a plugin: it crosses processes, and has no arena, no way for
single rows, and no order between its channels."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actorstream.plan.compile import available

PLACES = {"local": 1, "shm": 2, "zmq": 2, "socket": 2, "late_socket": 3}
"""Transport -> workers."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "transports.md"
ENTRY_POINTS = """[actorstream.transports]
socket = socket_transport:SocketTransport
late_socket = late_socket_transport:LateSocketTransport
"""
LATE = """
from socket_transport import SocketReceiver, SocketTransport

class LateReceiver(SocketReceiver):
    def parse(self):
        if self.channel.id % 2:
            self.loop.call_later(0.002, self.parse_late)
        else:
            super().parse()

    def parse_late(self):
        if not (self.closed or self.gone):
            super().parse()

    def lose(self):
        super().parse()
        super().lose()

class LateSocketTransport(SocketTransport):
    name = "late_socket"

    def receiver(self, channel):
        self._lines.append(LateReceiver(channel, self._fabric.pairs[channel.id][1], self._bell))
        return self._lines[-1]
"""
"""The same, but every other channel delivers late: what was sent first on one channel is seen after what was sent because of
it on another."""


@contextmanager
def installed_socket_transports(folder: Path) -> Iterator[None]:
    """Deployments may say `transport = "socket"` or "late_socket" meanwhile. folder: where they are installed."""
    (source,) = re.findall(r"```python\n# socket_transport\.py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (folder / "socket_transport.py").write_text(source)
    (folder / "late_socket_transport.py").write_text(LATE)
    about = folder / "socket_transport-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: socket-transport\nVersion: 1\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for module in ("socket_transport", "late_socket_transport"):
            sys.modules.pop(module, None)
        _forget()


def _forget() -> None:
    importlib.invalidate_caches()
    available.cache_clear()
