"""What this installation offers to topologies and deployments: the tables of all layers in one answer."""

from __future__ import annotations

from actorstream.ordering import ORDERINGS
from actorstream.placement import PLACEMENTS
from actorstream.topology.available import Available


def available() -> Available:
    """Orders, placements and installed transports that can be used now."""
    return Available.installed(orders=ORDERINGS, placements=PLACEMENTS)
