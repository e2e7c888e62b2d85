"""Opens the ends of channels that a worker's process has. Once, before the first event; who uses them is decided elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.transports.local import local_channel

if TYPE_CHECKING:
    from actorstream.runtime.ports import WorkerPort
    from actorstream.transports.base import ReceiveChannel, SendChannel


def open_channels(worker: WorkerPort) -> tuple[dict[int, SendChannel], dict[int, ReceiveChannel]]:
    """The sending and the receiving ends in this process, by number of the channel: between replicas, and between workers
    of synchronization plans."""
    transport, here = worker.transport, worker.process
    senders: dict[int, SendChannel] = {}
    receivers: dict[int, ReceiveChannel] = {}
    remote = [link.channel for link in worker.job.tree]
    for link in worker.job.channels:
        channel = link.channel
        if link.remote:
            remote.append(channel)
        elif channel.sender == here:
            senders[channel.id], receivers[channel.id] = local_channel(channel, worker, worker)
    for channel in remote if transport is not None else ():
        if channel.sender == here:
            senders[channel.id] = transport.sender(channel)  # type: ignore[union-attr]
        if channel.receiver == here:
            receivers[channel.id] = transport.receiver(channel)  # type: ignore[union-attr]
    return senders, receivers
