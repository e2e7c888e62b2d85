"""The channels of a job: the plan's, with the slots, doorbell bits and frontier words of each. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from actorstream.plan.job import JobChannel
from actorstream.plan.program_channels import frontier_words, tree_links
from actorstream.transports.base import Channel

if TYPE_CHECKING:
    from actorstream.plan.job import Job, TreeLink
    from actorstream.topology.graph import Edge
    from actorstream.topology.plan import PlannedReplica

SERIAL_WORD = 1
"""The frontier word of a channel that promises serial numbers."""
IDLE_WORD = 2
"""The frontier word of a channel that counts transitions between busy (even) and idle (odd)."""
SLOTS = 256
RUN_SLOTS = 1024
"""Of a channel whose jumbo tuples come in runs."""
MIN_SLOTS = 16
RING_ENTRIES = 1 << 16
"""Ring entries of one process's inputs in all; many channels get fewer slots each."""


def channels_of_job(job: Job) -> tuple[list[JobChannel], list[TreeLink]]:
    """The plan's channels between replicas, with the doorbell bits of their ends and whether they leave the process; and the
    channels between workers of synchronization plans, whose numbers and bits follow."""
    replicas = job.plan.replicas
    inputs: dict[int, int] = defaultdict(int)
    serial_inputs: dict[int, int] = defaultdict(int)
    for planned in job.plan.channels:
        inputs[job.process_of(replicas[planned.consumer])] += 1
        serial_inputs[planned.consumer] += planned.edge in job.serial.edges
    edges = {edge.index: edge for edge in job.graph.edges}
    bits: dict[int, int] = defaultdict(int)

    def next_bit(process: int) -> int:
        bits[process] += 1
        return bits[process] - 1

    made = []
    for planned in job.plan.channels:
        sender = job.process_of(replicas[planned.producer])
        receiver = job.process_of(replicas[planned.consumer])
        most = RUN_SLOTS if job.in_runs(planned.edge) else SLOTS
        slots = planned.slots or slots_for(inputs[receiver], most)
        serial = planned.edge in job.serial.edges
        if serial:
            window = max(1, job.deploy.reorder_window // serial_inputs[planned.consumer])
            slots = min(slots, 1 << (window.bit_length() - 1))
        channel = Channel(
            id=planned.id,
            sender=sender,
            receiver=receiver,
            send_bit=next_bit(sender),
            receive_bit=next_bit(receiver),
            slots=slots,
            budget=planned.budget,
            frontiers=_words(job, edges[planned.edge], serial, replicas[planned.producer]),
        )
        made.append(
            JobChannel(channel, edges[planned.edge], planned.producer, planned.consumer, sender != receiver)
        )
    return made, tree_links(job, next_bit)


def _words(job: Job, edge: Edge, serial: bool, producer: PlannedReplica) -> int:
    """Frontier words of a channel: event time, then what its consumer needs beside."""
    if serial:
        return SERIAL_WORD + 1
    if edge.consumer in job.programs:
        return frontier_words(job, edge, producer)
    if edge.consumer in job.listens and not edge.static and (job.idles or _outlasted(job, edge.consumer)):
        return IDLE_WORD + 1
    return 1


def _outlasted(job: Job, consumer: str) -> bool:
    """Whether an actor is to hear which of its producers are idle, for a program's sake; inboxes of other orders do not ask."""
    inputs = job.graph.actors[consumer].inputs
    return consumer in job.outlasted and all(each.order == "none" for each in inputs)


def slots_for(inputs: int, most: int = SLOTS) -> int:
    """Ring entries of a channel into a process that has so many of them, at most `most`."""
    slots = most
    while slots > MIN_SLOTS and slots * inputs > RING_ENTRIES:
        slots //= 2
    return slots
