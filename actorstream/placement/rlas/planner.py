"""The planner: replicas and the socket of every replica, for a dataflow on a machine (briskstream-rlas section 4). Pure."""

from __future__ import annotations

from actorstream.placement.rlas.dataflow import Dataflow
from actorstream.placement.rlas.machine_model import MachineModel
from actorstream.placement.rlas.options import PlanOptions
from actorstream.placement.rlas.profile import Profile
from actorstream.placement.rlas.socket_plan import SocketPlan


def plan(
    dataflow: Dataflow, machine: MachineModel, profile: Profile, options: PlanOptions | None = None
) -> SocketPlan:
    """How many replicas each operator gets, the socket of each, and what rates the model predicts.

    The same input gives the same plan: the search is bounded by steps, never by time.

    Raises:
        ConfigurationError: the profile lacks an operator, or no plan fits; says which and what would fit."""
    raise NotImplementedError
