"""Tunnel: carries stream connections between hosts over ZeroMQ, encrypted by CURVE. Knows nothing of what the bytes mean.

A message is two parts, its kind and bytes. A connection ends by a message of its kind, or with the TCP connection below it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

import zmq
from zmq.utils.monitor import recv_monitor_message

from actorstream.errors import ConfigurationError, Problem

SCHEME = "curve://"
"""Begins addresses of a tunnel: curve://HOST:PORT/KEY, the key being the public one, in hexadecimal."""
_DATA, _END, _LOOK = b"d", b"e", b"l"
PIECE = 256 << 10
"""Bytes that a message has at most."""
MARK = 16
"""Messages that wait in a socket at most."""
LOOK_MS = 1000
"""Between two looks whether the peers are still there."""
AGAIN_MS = 10
"""Between two attempts to send what a peer had no room for: a ROUTER does not tell which of its peers has room again."""
LINGER_MS = 2000
_LOST = zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED | zmq.EVENT_HANDSHAKE_FAILED_AUTH


class Tunnel:
    """The end that listens, until it is closed. Each connection of a peer becomes one that `connect` makes.

    Args:
        host: an address of this host that others reach.
        connect: makes a connection to where the bytes go, which reads at once whatever it is sent.

    Attributes:
        address: what `tunnelled` takes. Whoever knows it can connect, so what listens behind must ask for a token.

    Raises ConfigurationError if the address is not one of this host."""

    def __init__(self, host: str, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._context: zmq.Context[Any] = zmq.Context()
        self._router = _socket(self._context, zmq.ROUTER)
        self._router.router_mandatory = 1
        public, secret = zmq.curve_keypair()
        self._router.curve_server = True
        self._router.curve_publickey, self._router.curve_secretkey = public, secret
        shown = f"[{host}]" if ":" in host else host
        try:
            port = self._router.bind_to_random_port(f"tcp://{shown}")
        except zmq.ZMQError as error:
            self._context.destroy(0)
            what = f"is {host!r}, which cannot be listened at ({error.strerror})"
            raise ConfigurationError(Problem("host", what, "an address of this host")) from None
        self.address = f"{SCHEME}{shown}:{port}/{public.hex()}"
        self._links: dict[bytes, socket.socket] = {}
        """Peer -> its connection."""
        self._unsent: dict[bytes, tuple[bytes, bytes]] = {}
        """Peer -> the message that it had no room for. Until that is sent, the peer's connection is not read."""
        self._looked = monotonic()
        self._near, self._far = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="tunnel", daemon=True)
        self._thread.start()

    def statistics(self) -> dict[str, int]:
        """connections; unsent: messages that wait here because their peers have no room for them."""
        return {"connections": len(self._links), "unsent": len(self._unsent)}

    def close(self) -> None:
        """Ends all connections."""
        self._near.close()
        self._thread.join()

    def _serve(self) -> None:
        while self._turn():
            pass
        for peer in list(self._links):
            self._end(peer)
        self._context.destroy(LINGER_MS)
        self._far.close()

    def _turn(self) -> bool:
        """Passes on what has come. False: the tunnel is to end."""
        poller = zmq.Poller()
        poller.register(self._router, zmq.POLLIN)
        poller.register(self._far, zmq.POLLIN)
        peers = {link.fileno(): peer for peer, link in self._links.items() if peer not in self._unsent}
        for descriptor in peers:
            poller.register(descriptor, zmq.POLLIN)
        ready = dict(poller.poll(AGAIN_MS if self._unsent else LOOK_MS))
        if self._far.fileno() in ready:
            return False
        for peer in list(self._unsent):
            self._send(peer, *self._unsent.pop(peer))
        if monotonic() > self._looked + LOOK_MS / 1000:
            self._looked = monotonic()
            for peer in peers.values():
                self._send(peer, _LOOK)
        if self._router in ready:
            self._take()
        for descriptor, peer in peers.items():
            if descriptor in ready and peer in self._links:
                found = _received(self._links[peer])
                if found:
                    self._send(peer, _DATA, found)
                else:
                    self._end(peer)
        return True

    def _take(self) -> None:
        peer, kind, payload = self._router.recv_multipart(copy=False)
        name = peer.bytes
        if kind.bytes == _END:
            self._close(name)
            return
        if name not in self._links:
            if name in self._unsent:
                return  # its connection has ended, which it is to be told
            try:
                self._links[name] = self._connect()
            except OSError:
                self._end(name)
                return
        with suppress(OSError):  # the other side has closed it: it ends once all that came from there is sent
            self._links[name].sendall(payload.buffer)

    def _send(self, peer: bytes, kind: bytes, payload: bytes = b"") -> None:
        """Sends a message, now or once the peer has room for it; a look only now."""
        try:
            self._router.send_multipart([peer, kind, payload], zmq.DONTWAIT)
        except zmq.Again:
            if kind != _LOOK:
                self._unsent[peer] = kind, payload
        except zmq.ZMQError:
            self._close(peer)

    def _end(self, peer: bytes) -> None:
        self._close(peer)
        self._send(peer, _END)

    def _close(self, peer: bytes) -> None:
        """Forgets a peer's connection and what was to be sent to it."""
        self._unsent.pop(peer, None)
        link = self._links.pop(peer, None)
        if link is not None:
            link.close()


def tunnelled(address: str) -> socket.socket:
    """A connection through the tunnel that listens at `address`. It ends if nobody listens there."""
    near, far = socket.socketpair()
    threading.Thread(target=_carry, args=(address, far), name="tunnel", daemon=True).start()
    return near


def _carry(address: str, link: socket.socket) -> None:
    place, _, key = address.removeprefix(SCHEME).rpartition("/")
    with link, zmq.Context() as context:
        dealer = _socket(context, zmq.DEALER)
        dealer.linger, dealer.reconnect_ivl = LINGER_MS, -1
        dealer.curve_publickey, dealer.curve_secretkey = zmq.curve_keypair()
        dealer.curve_serverkey = bytes.fromhex(key)
        monitor = dealer.get_monitor_socket(_LOST)
        try:
            dealer.connect(f"tcp://{place}")
            while _carried(dealer, monitor, link):
                pass
        finally:
            dealer.disable_monitor()
            monitor.close()
            dealer.close()


def _carried(dealer: Any, monitor: Any, link: socket.socket) -> bool:
    """Passes on what has come. False: the connection has ended."""
    poller = zmq.Poller()
    for each in (dealer, monitor):
        poller.register(each, zmq.POLLIN)
    if dealer.events & zmq.POLLOUT:
        poller.register(link, zmq.POLLIN)
    else:
        poller.register(dealer, zmq.POLLIN | zmq.POLLOUT)
    ready = dict(poller.poll())
    if monitor in ready:
        recv_monitor_message(monitor)
        return False
    if ready.get(dealer, 0) & zmq.POLLIN:
        kind, payload = dealer.recv_multipart()
        if kind == _END:
            return False
        with suppress(OSError):  # the owner has closed it, which the next look finds
            link.sendall(payload)
    if link.fileno() in ready:
        found = _received(link)
        dealer.send_multipart([_DATA if found else _END, found])
        return bool(found)
    return True


def _received(link: socket.socket) -> bytes:
    try:
        return link.recv(PIECE)
    except OSError:
        return b""


def _socket(context: Any, kind: int) -> Any:
    made = context.socket(kind)
    made.linger = LINGER_MS
    made.ipv6 = True
    made.sndhwm = made.rcvhwm = MARK
    made.tcp_keepalive, made.tcp_keepalive_cnt = 1, 2
    made.tcp_keepalive_idle = made.tcp_keepalive_intvl = 5
    return made
