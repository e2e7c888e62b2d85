"""What finds a synchronization plan (dgs-flumina section 3.3). One file an optimizer, one row of `OPTIMIZERS`."""

from __future__ import annotations

OPTIMIZERS: dict[str, str] = {
    "communication": "actorstream.dgs.optimizer.communication:communication",
    "balanced": "actorstream.dgs.optimizer.balanced:balanced",
    "sequential": "actorstream.dgs.optimizer.sequential:sequential",
    "reference": "actorstream.dgs.optimizer.sequential:sequential",
}
"""`plan = "..."` of a program's actor -> function, an `Optimizer` of `optimizer/base.py`. No other list names them: the
checks of a topology and `actorstream verify` take what is here. `reference` plans as `sequential`, and is worked on by
`update` alone."""
