"""Transport `shm`: workers of one host that hand jumbo tuples over by reference through shared memory."""

from __future__ import annotations

from actorstream.transports.shm.transport import ShmTransport

__all__ = ["ShmTransport"]
