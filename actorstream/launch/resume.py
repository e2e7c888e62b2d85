"""Going on from a checkpoint: finds it, sees whether it fits, and commits what an ended run had not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.actors.operator_errors import operator_error
from actorstream.checkpoint.checkpoint import Checkpoint, check_fits
from actorstream.checkpoint.kept_topology import parts_of
from actorstream.checkpoint.store import CheckpointStore
from actorstream.control.interrupted import Interrupted, Suspended
from actorstream.errors import ActorstreamError, ConfigurationError, Problem, RunError
from actorstream.plan.gates import gates

if TYPE_CHECKING:
    from actorstream.plan.job import Job
    from actorstream.topology.deploy import CheckpointSpec


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
        by_key = any(
            edge.route == "key" and replicas[edge.consumer] > 1 and edge.consumer not in job.programs
            for edge in job.graph.edges
        )
        key_groups = job.deploy.key_groups if by_key else None
        check_fits(checkpoint, job.graph.name, parts_of(job.graph), replicas, spec.path, key_groups)
        if checkpoint.programs:
            from actorstream.dgs.checkpoint_state import changes

            changed = [
                problem
                for name, program in checkpoint.programs.items()
                for problem in changes(program.says, job.programs[name].says(), name, spec.path)
            ]
            if changed:
                raise ConfigurationError(changed)
    job.restored = checkpoint
    job.gates = gates(job)


def check_latest(job: Job) -> None:
    """Raises RunError if the checkpoint that `job` goes on from is the last one no more. To be called under the lock of the
    store."""
    spec = job.deploy.checkpoint
    if spec is None or job.restored is None:
        return
    last = CheckpointStore(spec.path).last()
    if last != job.restored.number:
        raise RunError(
            f"this run was to go on from checkpoint {job.restored.number} in {spec.path!r}, but another run has made "
            f"{last} since; launch again with --resume"
        )


def commit_ended(job: Job, checkpoint: Checkpoint, process: int | None = None) -> None:
    """Commits what the sinks of a run had prepared at the end of its input; again, where it was done already. `process`: only
    those that the plan places in it, whose files the others may not see. OperatorError: a sink cannot commit."""
    processes = {(each.actor, each.index): job.process_of(each) for each in job.plan.replicas}
    for each in checkpoint.replicas:
        if each.token is not None and process in (None, processes[each.actor, each.index]):
            sink: Any = job.graph.actors[each.actor].make()
            token = msgspec.msgpack.decode(each.token)
            if token is not None:
                try:
                    sink.commit(token)
                except Exception as error:
                    raise operator_error(each.actor, each.index, None, error) from error


def stopped_early(spec: CheckpointSpec | None, *, resumes: bool) -> Interrupted | Suspended:
    """How a run ends that was told to stop before it had workers.

    Args:
        spec: where its checkpoints are; None: it has none, or was not to be suspended.
        resumes: whether it went on from one. If not, and there are some of an earlier run, `--resume` would go on with that
            one: then this one is not suspended.
    """
    if spec is not None:
        try:
            if resumes or CheckpointStore(spec.path).last() is None:
                return Suspended(spec.path, None)
        except (ActorstreamError, OSError):
            """What is wrong with the store, the next run says."""
    return Interrupted(drained=False, began=False)
