"""Where replicas run. One file a placement, one row of this table to register it."""

from __future__ import annotations

from actorstream.placement.base import Placement, place
from actorstream.placement.first_fit import first_fit
from actorstream.placement.round_robin import round_robin
from actorstream.placement.spread import spread

PLACEMENTS: dict[str, Placement] = {"spread": spread, "round-robin": round_robin, "first-fit": first_fit}

__all__ = ["PLACEMENTS", "place"]
