"""What messages call the two ends of a shared-memory channel."""

from __future__ import annotations

from actorstream.transports.base import Channel


def worker_name(worker: int) -> str:
    """What messages call an end's process."""
    return f"worker {worker}" if worker >= 0 else "the outside producer"


def described(channel: Channel) -> str:
    """What messages call a channel."""
    return f"channel {channel.id} from {worker_name(channel.sender)} to {worker_name(channel.receiver)}"
