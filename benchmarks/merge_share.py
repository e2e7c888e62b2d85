"""How much of a run's processor time the calls of ScaleGates take: what threads that merge could take off the loop."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time_ns, thread_time_ns
from typing import Any

from actorstream.native.scalegate import ScaleGate
from benchmarks.linear_road import topology, traffic

CALLS = ("add", "promise", "join", "look", "give", "acknowledge", "acknowledged", "next_time")


def share(operator: str, injectors: int, instances: int, jumbo: int, seconds: float) -> float:
    """Percent of the processor time of one process that runs an operator of Linear Road in timestamp order: all that happens in
    a ScaleGate, with the call from Python and back."""
    traffic(operator != "pos_rep")
    spent = [0]
    for name in CALLS:
        setattr(ScaleGate, name, _timed(getattr(ScaleGate, name), spent))
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        made = topology(operator, "cl", injectors, instances, seconds, jumbo, Path(folder))
        begun = process_time_ns()
        made.run(transport="local", workers=1, batch_size=jumbo)
        return 100 * spent[0] / (process_time_ns() - begun)


def _timed(call: Callable[..., Any], spent: list[int]) -> Callable[..., Any]:
    def timed(*given: Any, **named: Any) -> Any:
        begun = thread_time_ns()
        found = call(*given, **named)
        spent[0] += thread_time_ns() - begun
        return found

    return timed
