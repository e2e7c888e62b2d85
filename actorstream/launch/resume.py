"""Going on from a checkpoint: finds it, sees whether it fits, and commits what an ended run had not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.checkpoint.checkpoint import Checkpoint, check_fits
from actorstream.checkpoint.store import CheckpointStore
from actorstream.dgs.kept import changes
from actorstream.errors import ConfigurationError, Problem
from actorstream.runtime.timestamp.gates import gates

if TYPE_CHECKING:
    from actorstream.runtime.compile import Job


def restore_job(job: Job) -> None:
    """Makes `job` go on from the last checkpoint of its deployment's store; from the beginning if there is none yet.

    Raises:
        ConfigurationError: the deployment has no store, or the checkpoint is of another topology.
        RunError: the checkpoint is damaged.
    """
    spec = job.deploy.checkpoint
    if spec is None:
        raise ConfigurationError(
            Problem(
                "--resume",
                "the deployment has no [checkpoint], so there is nothing to go on from",
                "a deployment with the table [checkpoint]",
            )
        )
    checkpoint = CheckpointStore(spec.path).latest()
    if checkpoint is not None:
        replicas = Counter(each.actor for each in job.plan.replicas)
        check_fits(checkpoint, job.graph.name, job.graph.fingerprint, replicas, spec.path)
        changed = [
            problem
            for name, program in checkpoint.programs.items()
            for problem in changes(program.says, job.programs[name].says(), name, spec.path)
        ]
        if changed:
            raise ConfigurationError(changed)
    job.restored = checkpoint
    job.gates = gates(job)


def commit_ended(job: Job, checkpoint: Checkpoint) -> None:
    """Commits what the sinks of a run had prepared at the end of its input; again, where it was done already."""
    for each in checkpoint.replicas:
        if each.token is not None:
            sink: Any = job.graph.actors[each.actor].make()
            token = msgspec.msgpack.decode(each.token)
            if token is not None:
                sink.commit(token)
