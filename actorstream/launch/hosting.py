"""Makes the host of a run's control: the coordinator, and where its checkpoints go. It starts nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from actorstream.checkpoint.store import CheckpointStore
from actorstream.control.coordinator import Coordinator
from actorstream.control.host import Host
from actorstream.launch.checkpoints import CheckpointRecord, checkpoints_of

if TYPE_CHECKING:
    from actorstream.control.messages import Message
    from actorstream.plan.job import Job


def make_host(job: Job, send: Callable[[int, Message], None], kill: Callable[[], None]) -> Host:
    """The host of one run of `job`; `send` and `kill` as of `Host`."""
    spec = job.deploy.checkpoint
    checkpoints = record = None
    if spec is not None:
        store = CheckpointStore(spec.path)
        if job.restored is None:
            store.begin()
        checkpoints = checkpoints_of(job, store, spec.every.total_seconds())
        record = CheckpointRecord(job, store)
    coordinator = Coordinator(job.processes, len(job.plan.replicas), checkpoints)
    return Host(coordinator, record, send, kill, job.counters.take)
