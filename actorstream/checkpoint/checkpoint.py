"""Checkpoint: what a run keeps so that another can go on from it, and whether that one may. Data and pure decisions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from actorstream.checkpoint.kept_topology import Parts, differences
from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.dependency import DependencyPlan
from actorstream.topology.graph import FIRST_STEP


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
        topology: its name.
        actors: what of each must be the same in a run that goes on (`kept_topology.py`).
        number: of the barrier that made it; ascending over the runs that use one store.
        ended: all input has ended and every sink has prepared; what is left to do is to commit.
    """

    topology: str
    actors: dict[str, Parts]
    number: int
    ended: bool
    replicas: tuple[ReplicaState, ...]
    programs: dict[str, KeptProgram] = {}
    """By actor. Their replicas are the workers of that plan."""
    key_groups: int | None = None
    """Of the deployment: a key's group says which replica has its state. None: the checkpoint is older than this field."""

    def state(self, actor: str, index: int) -> ReplicaState:
        return next(each for each in self.replicas if (each.actor, each.index) == (actor, index))

    def counts(self) -> dict[str, int]:
        """Actor -> replicas."""
        found: dict[str, int] = {}
        for each in self.replicas:
            found[each.actor] = found.get(each.actor, 0) + 1
        return found


def check_fits(
    checkpoint: Checkpoint,
    topology: str,
    actors: Mapping[str, Parts],
    replicas: Mapping[str, int],
    where: str,
    key_groups: int | None = None,
) -> None:
    """Raises ConfigurationError, with every difference, if a run cannot go on from a checkpoint.

    Args:
        topology, actors, replicas: name, actors as `parts_of` has them, and replicas by actor of what is to run.
        where: the store, for the error.
        key_groups: of what is to run, if they decide which replica of an actor gets a row; None: they do not.
    """
    if checkpoint.topology != topology:
        raise ConfigurationError(
            Problem(
                where,
                f"the checkpoint is of topology {checkpoint.topology!r}, and this one is {topology!r}",
                "the topology that made it",
                "run that one, or start anew without --resume",
            )
        )
    planned = checkpoint.programs
    kept = {name: count for name, count in checkpoint.counts().items() if name not in planned}
    replicas = {name: count for name, count in replicas.items() if name not in planned}
    wrong = [
        Problem(
            where,
            f"the checkpoint has {kept.get(name, 0)} replicas of actor {name!r}, this run {replicas.get(name, 0)}",
            "the same number of each",
            _hint(name, kept.keys() | replicas.keys()),
        )
        for name in sorted(kept.keys() | replicas.keys())
        if kept.get(name, 0) != replicas.get(name, 0)
    ]
    if not any(each.hint == PRE_AGGREGATION for each in wrong):  # else inputs differ for that reason alone
        wrong += differences(checkpoint.actors, actors, where)
    if key_groups is not None and checkpoint.key_groups not in (None, key_groups):
        what = (
            f"the checkpoint was made with {checkpoint.key_groups} key groups, and this run has {key_groups}"
        )
        wrong.append(Problem(where, what, "the same number", "set deploy.key_groups back"))
    if wrong:
        raise ConfigurationError(wrong)


def check_share(kept: Sequence[str], now: Sequence[str], *, ended: bool) -> None:
    """Raises ConfigurationError if a source cannot go on with the partitions that it has now. The only change that it takes is
    further ones behind those that it had, which it has not `ended` to read.

    Args:
        kept, now: the partitions of one replica when the checkpoint was made, and in the run that goes on.
    """
    gone = [name for name in kept if name not in now]
    if list(now[: len(kept)]) == list(kept) and not (ended and len(now) > len(kept)):
        return
    further = [name for name in now if name not in kept]
    if gone:
        what = f"{gone[0]!r}, of which the checkpoint says how far it was read, is not there, or another replica would read it"
    elif ended:
        what = (
            f"{further[0]!r} is new, and this replica had read all of its input when the checkpoint was made"
        )
    else:
        what = (
            f"{further[0]!r} is new, and stands before what was read"
            if further
            else "partitions come in another order"
        )
    allowed = "those of the checkpoint in the same order, and new ones only behind them"
    raise ConfigurationError(
        Problem("its partitions", what, allowed, "put them back, or start anew without --resume")
    )


PRE_AGGREGATION = "set deploy.pre_aggregation back"


def _hint(name: str, actors: Collection[str]) -> str:
    """The next step where the replicas of an actor differ: the first step of an `aggregate` is no actor of the user's."""
    first_step = name.endswith(FIRST_STEP) and name.removesuffix(FIRST_STEP) in actors
    return PRE_AGGREGATION if first_step else "set `replicas` back"
