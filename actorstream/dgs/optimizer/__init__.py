"""What finds a synchronization plan (dgs-flumina section 3.3). One file an optimizer, one row of `OPTIMIZERS`."""

from __future__ import annotations

OPTIMIZERS: dict[str, str] = {
    "communication": "actorstream.dgs.optimizer.communication:communication",
    "balanced": "actorstream.dgs.optimizer.balanced:balanced",
    "sequential": "actorstream.dgs.optimizer.sequential:sequential",
    "reference": "actorstream.dgs.optimizer.sequential:sequential",
}
"""`plan = "..."` of a program's actor -> function."""
