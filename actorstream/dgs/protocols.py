"""The protocol of each worker of a planned tree: its tags, what depends on what there, and what it does with children."""

from __future__ import annotations

from collections.abc import Collection

from actorstream.dgs.adding import AddingChildren
from actorstream.dgs.deployment import ProgramDeployment
from actorstream.dgs.joining import JoinedChildren
from actorstream.dgs.worker import Calls, WorkerProtocol


def protocol_of(
    deployment: ProgramDeployment, number: int, calls: Calls, *, placed: Collection[str], adding: bool
) -> WorkerProtocol:
    """The protocol of worker `number`; tags are numbers of the plan.

    Args:
        placed: inputs whose rows carry their place in the stream. On others, tags of one stream are independent and go by
            their ranks.
        adding: whether workers whose children only add may work ahead of these (`dgs.adding`). Not with checkpoints: what
            children have made beyond events that their parent has not processed is no part of any one state of the
            sequential program.
    """
    tree, dependence = deployment.tree, deployment.dependence
    numbers = {tag: index for index, tag in enumerate(deployment.tags)}
    planned = tree.worker(number)
    joined = JoinedChildren() if planned.children else None
    return WorkerProtocol(
        [numbers[tag] for tag in planned.tags],
        [numbers[tag] for above in tree.ancestors(number) for tag in tree.worker(above).tags],
        ranks=range(len(deployment.tags)),
        depends={
            numbers[tag]: [
                numbers[other] for other in (*dependence.on(tag), tag) if dependence.depends(tag, other)
            ]
            for tag in deployment.tags
        },
        calls=calls,
        children=AddingChildren() if adding and deployment.adds(number) else joined,
        is_root=number == 1,
        streams={
            numbers[tag]: f"s{rank}"
            for tag, rank in deployment.ranks.items()
            if rank >= 0 and deployment.streams[rank].input in placed
        },
        names=dict(enumerate(deployment.tags)),
        adds=number != 1 and adding and deployment.adds(tree.parents[number]),
    )
