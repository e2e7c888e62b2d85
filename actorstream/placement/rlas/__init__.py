"""RLAS: replicas and sockets chosen together from a profiled model (briskstream-rlas sections 3 and 4, appendices C and D).

Machine model and profile are inputs of a plan, fixed before the start; nothing here measures or looks at this machine.
"""

from __future__ import annotations

from actorstream.placement.rlas.cluster import joined, seated
from actorstream.placement.rlas.dataflow import Dataflow, Flow, PlannedOperator, dataflow_of
from actorstream.placement.rlas.machine_file import load_machine_model, machine_text
from actorstream.placement.rlas.machine_model import MachineModel, Socket, check_machine_model
from actorstream.placement.rlas.options import PlanOptions, planned_rows
from actorstream.placement.rlas.planner import check_ingress, fastest_plan, plan, search
from actorstream.placement.rlas.profile import Measured, OperatorProfile, OutputProfile, Profile
from actorstream.placement.rlas.profile_file import load_profile, profile_text
from actorstream.placement.rlas.socket_plan import PlacedReplica, PredictedRate, SocketPlan, SocketUse

__all__ = [
    "Dataflow",
    "Flow",
    "MachineModel",
    "Measured",
    "OperatorProfile",
    "OutputProfile",
    "PlacedReplica",
    "PlanOptions",
    "PlannedOperator",
    "PredictedRate",
    "Profile",
    "Socket",
    "SocketPlan",
    "SocketUse",
    "check_ingress",
    "check_machine_model",
    "dataflow_of",
    "fastest_plan",
    "joined",
    "load_machine_model",
    "load_profile",
    "machine_text",
    "plan",
    "planned_rows",
    "profile_text",
    "search",
    "seated",
]
