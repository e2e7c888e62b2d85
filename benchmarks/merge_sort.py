"""Merge-sort operators (operator-layer determinism, viper-scalegate section 2.3), to which the merge of channels is compared."""

from __future__ import annotations

from typing import Any, ClassVar

from actorstream import Actor, Batch, Topology
from actorstream.actors.contract import Contract


class MergeSort(Actor):
    """Hands on what it gets, in timestamp order: its input is merged before it sees it."""

    contract: ClassVar[Contract] = Contract(stateless=True, one_stream=True, fusible=False)

    def on_batch(self, batch: Batch) -> Batch:
        return batch


def merged_before(made: Topology, name: str, given: dict[str, Any], *, replicas: int) -> dict[str, Any]:
    """Puts a merge-sort operator before actor `name`, with as many replicas, and returns the actor's input behind it.

    given: the input without it. One replica hands all rows to all replicas of an actor to which they were broadcast."""
    made.actor(f"{name}_merge", MergeSort, inputs=[given], replicas=replicas)
    route = "broadcast" if given["route"] == "broadcast" else "forward"
    return {"from": f"{name}_merge", "order": "timestamp", "route": route}
