"""TaskListener: a socket that Spark's tasks connect to. Strangers are sent away; what a task says is its owner's business."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

LONGEST_LINE = 4096

Serve = Callable[[socket.socket, dict[str, Any]], None]


class TaskListener:
    """Accepts connections until it is closed. A task says hello in one line of JSON, with the token.

    Args:
        listener: a socket that is bound.
        name: of the threads.
        serve: called in a thread of its own with a connection and its hello. The connection is closed at its end; it may
            raise what a wrong or a lost peer leads to (OSError, ValueError, KeyError, TypeError).
    """

    def __init__(self, listener: socket.socket, name: str, serve: Serve) -> None:
        self.token = secrets.token_hex(16)
        self._listener, self._name, self._serve = listener, name, serve
        listener.listen(128)
        threading.Thread(target=self._accept, name=name, daemon=True).start()

    def close(self, links: Iterable[socket.socket] = ()) -> None:
        """Ends the socket and the connections that are given, so that the threads which wait for them go on."""
        for link in (self._listener, *links):
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(link,), name=self._name, daemon=True).start()

    def _greet(self, link: socket.socket) -> None:
        with link, suppress(OSError, ValueError, KeyError, TypeError):
            hello = json.loads(read_line(link))
            if hmac.compare_digest(str(hello["token"]).encode(), self.token.encode()):
                self._serve(link, hello)


def listening() -> tuple[socket.socket, str]:
    """A socket that is bound to a name without a file, in the abstract namespace of Unix domain sockets, so that nothing is
    left behind; and the name."""
    name = f"actorstream-{secrets.token_hex(16)}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"\0{name}")
    return listener, name


def reachable(name: str, tunnel: str) -> str:
    """The address for `connected`: a name for tasks of this host, and a tunnel's address, or "", for those of others."""
    return f"{name} {tunnel}".strip()


def connected(address: str) -> socket.socket:
    """A connection to where `listening` listens. A name is random, so on another host nobody listens there."""
    name, _, tunnel = address.partition(" ")
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.connect(f"\0{name}")
    except OSError:
        link.close()
        if not tunnel:
            raise
        from actorstream.transports.zmq.tunnel import tunnelled

        return tunnelled(tunnel)
    return link


def read_line(link: socket.socket) -> bytes:
    """The first line that comes; nothing behind it is taken from the socket. ValueError: it is too long, or cut off."""
    found = b""
    while not found.endswith(b"\n"):
        waiting = link.recv(LONGEST_LINE, socket.MSG_PEEK)
        found += link.recv(waiting.find(b"\n") + 1 or len(waiting))
        if not waiting or len(found) > LONGEST_LINE:
            raise ValueError(f"a line of {len(found)} bytes without an end; at most {LONGEST_LINE}")
    return found
