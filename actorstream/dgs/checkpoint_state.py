"""What a checkpoint keeps of a program (dgs-flumina appendix D.2), and the one state that it comes to. Pure: it knows no
bytes and no channels.

The cut goes through the plan wherever each worker happened to be. Whatever an event depends on is before the cut if the
event is, so the states of all workers join into one that the sequential program could have had (Theorem 2.4): joined, it
is the root's, and any valid plan can go on from it with the events that were not processed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.errors import BrokenError, Problem

if TYPE_CHECKING:
    from actorstream.dgs.deployment import ProgramDeployment


class KeptRows(msgspec.Struct, frozen=True):
    """Events of one implementation tag, by its text, that were not processed.

    Attributes:
        rows: their jumbo tuple, with the places that they carry; b"" for ticks.
        times: of ticks.
    """

    tag: str
    rows: bytes = b""
    times: tuple[int, ...] = ()


class KeptWorker(msgspec.Struct, frozen=True):
    """What one worker of a plan keeps at a cut.

    Attributes:
        done: it has given its state up for the last time.
        states: number of a worker -> the state of all that one handles, which was here or on its way to here.
        rows: of its tags, in the order of each.
        ticks: tag of ticks, by its text -> which is next, and the bound.
    """

    done: bool = False
    states: dict[int, bytes] = {}
    rows: tuple[KeptRows, ...] = ()
    ticks: dict[str, tuple[int | None, int]] = {}


def joined_state(
    deployment: ProgramDeployment, states: dict[int, bytes], decode: Callable[[type, bytes], Any]
) -> Any:
    """The root's state: the states of a cut, joined as the plan that they are of would.

    Raises:
        BrokenError: the state of a worker is missing.
    """

    def of(worker: int) -> Any:
        data = states.get(worker)
        if data is not None:
            return decode(deployment.state_class(worker), data)
        functions = deployment.functions(worker)
        if functions is None:
            raise BrokenError(
                f"the checkpoint has no state of worker w{worker} of {deployment.planned.actor!r}"
            )
        left, right = deployment.tree.children(worker)
        return functions[1](of(left), of(right))

    return of(1)


def changes(kept: dict[str, list[str]], now: dict[str, list[str]], actor: str, where: str) -> list[Problem]:
    """What a program says of itself otherwise than when the checkpoint was made (`ProgramDeployment.says`)."""
    found = []
    for what in kept.keys() | now.keys():
        before, after = kept.get(what, []), now.get(what, [])
        if before != after:
            gone = [each for each in before if each not in after]
            new = [each for each in after if each not in before]
            parts = [f"{name} {_few(each)}" for name, each in (("without", gone), ("with new", new)) if each]
            found.append(
                Problem(
                    where,
                    f"the program {actor!r} has other {what} than when the checkpoint was made: "
                    + (", ".join(parts) or "in another order"),
                    "the program that made it, on any plan",
                    "run that one, or start anew without --resume",
                )
            )
    return sorted(found, key=lambda problem: problem.message)


def _few(texts: list[str]) -> str:
    return ", ".join(texts[:4]) + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")
