"""Transport `zmq`: workers on one or several hosts that talk over ZeroMQ, by tcp (encrypted) or by Unix sockets."""

from __future__ import annotations

from actorstream.transports.zmq.fabric import ZmqFabric
from actorstream.transports.zmq.transport import ZmqTransport

__all__ = ["ZmqFabric", "ZmqTransport"]
