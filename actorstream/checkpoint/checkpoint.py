"""Checkpoint: what a run keeps so that another can go on from it, and whether that one may. Data and pure decisions."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.dependency import DependencyPlan


class StateFile(msgspec.Struct, frozen=True):
    """A state that is too large for the checkpoint's own file, and lies beside it.

    Attributes:
        name, nbytes, digest: of the file. store: where it is; set when the checkpoint is read, for a folder may move.
    """

    name: str
    nbytes: int
    digest: bytes
    store: str = ""


class ReplicaState(msgspec.Struct, frozen=True):
    """What one replica keeps.

    Attributes:
        state: msgpack: `state` (the actor's snapshot), `positions` of a source, what its unit keeps beside.
        token: msgpack: what a sink has prepared; None: it is no sink.
        file: where the state is, if `state` is empty.
    """

    actor: str
    index: int
    state: bytes
    token: bytes | None = None
    file: StateFile | None = None


class KeptProgram(msgspec.Struct, frozen=True):
    """What of an actor with `order = "dependency"` its replicas' states do not say.

    Attributes:
        plan: by which its state is joined; the run that goes on may have another.
        says: what of the program must not have changed.
    """

    plan: DependencyPlan
    says: dict[str, list[str]]


class Checkpoint(msgspec.Struct, frozen=True):
    """One consistent cut through a run: the states of all replicas behind the same rows of every source.

    Attributes:
        topology: its name. program: fingerprint of what the topology is: actors, types, schemas, edges.
        number: of the barrier that made it; ascending over the runs that use one store.
        ended: all input has ended and every sink has prepared; what is left to do is to commit.
    """

    topology: str
    program: int
    number: int
    ended: bool
    replicas: tuple[ReplicaState, ...]
    programs: dict[str, KeptProgram] = {}
    """By actor. Their replicas are the workers of that plan."""

    def state(self, actor: str, index: int) -> ReplicaState:
        return next(each for each in self.replicas if (each.actor, each.index) == (actor, index))

    def counts(self) -> dict[str, int]:
        """Actor -> replicas."""
        found: dict[str, int] = {}
        for each in self.replicas:
            found[each.actor] = found.get(each.actor, 0) + 1
        return found


def check_fits(
    checkpoint: Checkpoint, topology: str, program: int, replicas: Mapping[str, int], where: str
) -> None:
    """Raises ConfigurationError, with every difference, if a run cannot go on from a checkpoint.

    Args:
        topology, program, replicas: name, fingerprint and replicas by actor of what is to run.
        where: the store, for the error.
    """
    planned = checkpoint.programs
    kept = {name: count for name, count in checkpoint.counts().items() if name not in planned}
    replicas = {name: count for name, count in replicas.items() if name not in planned}
    wrong = [
        Problem(
            where,
            f"the checkpoint has {kept.get(name, 0)} replicas of actor {name!r}, this run {replicas.get(name, 0)}",
            "the same number of each",
            "set `replicas` back",
        )
        for name in sorted(kept.keys() | replicas.keys())
        if kept.get(name, 0) != replicas.get(name, 0)
    ]
    if not wrong and (checkpoint.topology, checkpoint.program) != (topology, program):
        wrong.append(
            Problem(
                where,
                f"the checkpoint is of topology {checkpoint.topology!r} in another version than this "
                f"{topology!r}: types, schemas, routes or orders differ",
                "the topology that made it",
                "run that one, or start anew without --resume",
            )
        )
    if wrong:
        raise ConfigurationError(wrong)
