"""Replicas take back what a checkpoint kept of them, before on_start. Finds nothing out: the checkpoint fits already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.actors.operator_errors import operator_error
from actorstream.checkpoint.store import values_of

if TYPE_CHECKING:
    from actorstream.checkpoint.checkpoint import Checkpoint
    from actorstream.runtime.replica import Replica


def restore_replicas(checkpoint: Checkpoint, replicas: Iterable[Replica]) -> None:
    """Gives each replica, and the unit whose head it is, what was kept. Sources, which are open, go to where they were.

    A sink commits what it had prepared, which it may have done already.

    Raises:
        OperatorError: a hook raised; it names the actor.
    """
    by_replica = {(each.actor, each.index): each for each in checkpoint.replicas}
    for replica in replicas:
        if replica.name in checkpoint.programs:
            continue  # as a whole: runtime/dependency/restored.py
        mine = by_replica[replica.name, replica.replica]
        values = values_of(mine)
        try:
            _restore(replica, values)
            if mine.token is not None and (token := msgspec.msgpack.decode(mine.token)) is not None:
                replica.actor.commit(token)  # type: ignore[attr-defined]
        except Exception as error:
            raise operator_error(replica.name, replica.replica, None, error) from error


def _restore(replica: Replica, state: dict[str, Any]) -> None:
    replica.ended = state["ended"]
    if "positions" in state:
        replica.actor.take_back(state)  # type: ignore[attr-defined]
    if state["state"] is not None:
        replica.actor.restore(state["state"])
    if replica.stamp is not None and "sent" in state:
        replica.stamp.restore(state["sent"])
    unit: Any = replica.unit
    if unit is not None and unit.head is replica and state.get("unit") is not None:
        unit.restore(state["unit"])
