"""Measures for the suites `rlas-here` and `rlas-pairs` on this machine. The model is compared with runs of the four applications
of briskstream-rlas, and the deployment that RLAS chooses with the one that was made by hand, of these and of other applications.

Profiles see none of the plans on two cores that are compared. They come from operators alone, from runs of the topology on one
core with one replica of each actor (as the plan `reference` has it) and with two, and from runs with one operator on a core of
its own.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from actorstream.placement.rlas import MachineModel, PlanOptions, load_profile, planned_rows
from actorstream.plan.compile import read_job
from actorstream.plan.measured_machine import this_machine
from actorstream.plan.replanning import ingress_of
from actorstream.plan.rlas_inputs import RlasInputs
from benchmarks.dataflow import COMMAND, run_limited
from benchmarks.job import JobError, tail
from benchmarks.suites.briskstream import APPLICATIONS, TYPES, Application, throughput

APPS = APPLICATIONS | {
    "ysb": Application("ysb", "events", "events/s"),
    "ysb-star": Application("ysb", "events", "events/s", file="star-bench.toml"),
    "swa": Application("ysb", "events", "events/s", file="swa-bench.toml"),
}
"""All whose deployment was made by hand, but those with a program, for which rlas has no model: the four of the paper, and
Yahoo's."""
PROFILE_SECONDS = 0.5
LONGER = 2.0
"""An application with longer runs has a longer profile, at most so many times as long."""
PROFILE_ROWS = 200_000
HERE = tempfile.TemporaryDirectory(prefix="actorstream-profiles-")


@dataclass(frozen=True)
class RealPlan:
    """A deployment of an application's bench.toml. `replicas`: of all operators and sinks that have more than one there.
    `sources`: of those sources. `cores`: how many the run may use."""

    cores: int
    workers: int
    replicas: int | str
    sources: int | str
    placement: str = "spread"

    def sets(self, app: Application, profile: Path) -> dict[str, Any]:
        """Keys as --set has them."""
        found: dict[str, Any] = {"deploy.workers": self.workers, "deploy.placement": self.placement}
        if self.placement == "rlas":
            found["deploy.rlas.profile"] = str(profile)
        for name, actor in tomllib.loads(app.topology.read_text())["actors"].items():
            if actor.get("replicas", 1) != 1:
                found[f"actors.{name}.replicas"] = self.replicas if "inputs" in actor else self.sources
        return found


PLANS = {
    "reference": RealPlan(1, 1, 1, 1),
    "one-core": RealPlan(1, 1, 2, 1),
    "two-cores": RealPlan(2, 2, 2, 2),
    "two-cores-round-robin": RealPlan(2, 2, 1, 1, "round-robin"),
    "two-cores-rlas": RealPlan(2, 2, "auto", "auto", "rlas"),
}


def profiled(name: str, *, again: bool = False) -> Path:
    """The latest profile of an application, measured at the first call together with the machine; `again`: a new one, measured
    now. The file of an older one stays."""
    app = APPS[name]
    older = sorted(Path(HERE.name).glob(f"{name}.*.toml"))
    if older and not again:
        return older[-1]
    out = Path(HERE.name) / f"{name}.{len(older):03}.toml"
    # The cores may have moved between caches since the last time.
    for cores in {len(os.sched_getaffinity(0)), 2}:
        with on_cores(cores):
            this_machine(again=True)
    size, deploy = app.deployment()["batch_size"], app.topology.parent / "deploy.toml"
    seconds = PROFILE_SECONDS * min(app.longer, LONGER)
    command = [str(COMMAND), "profile", str(app.topology), "--deploy", str(deploy)]
    command += ["--batch-size", str(size), "--rows", str(PROFILE_ROWS), "--seconds", str(seconds)]
    code, said = run_limited([*command, "--quiet", "--out", str(out)], None)
    if code:
        raise JobError(f"the profile of {name} failed with exit code {code}; it said:\n{tail(said)}")
    return out


def of_cores(machine: MachineModel, cores: int) -> MachineModel:
    """The first cores of the machine's first socket."""
    first = machine.sockets[0]
    socket = msgspec.structs.replace(first, cores=cores, cpus=first.cpus[:cores])
    return msgspec.structs.replace(machine.first(1), sockets=[socket])


def predicted(name: str, plan: RealPlan, planned_by: Path, profile: Path) -> float:
    """Rows of the source a second, by the model and a profile. `planned_by`: the profile from which `rlas` makes its plan."""
    app = APPS[name]
    given = {f"deploy.{key}": value for key, value in app.deployment().items()} | plan.sets(app, planned_by)
    with on_cores(plan.cores):
        job = read_job(app.topology, None, [f"{key}={value}" for key, value in given.items()])
    machine = of_cores(this_machine(), plan.cores)
    inputs = RlasInputs(load_profile(profile), machine, PlanOptions(rows=planned_rows(job.deploy.batch_size)))
    return ingress_of(job.plan, job.graph, inputs)


def measured(name: str, plan: RealPlan, seconds: float, planned_by: Path | None = None) -> float:
    """The same in a run: from the 20th to the 80th percentile of its rows. `planned_by`: unless given, the latest profile."""
    app = APPS[name]
    with on_cores(plan.cores):
        return throughput(app, seconds, **plan.sets(app, planned_by or profiled(name)))[1]


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """This process, and those that it starts, on the first cores of those that it may use."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


HAND = "two-cores"
"""The deployment beside each bench.toml, which was made by hand."""
STEPS = ("per-event", "jumbo-tuples", "native", "placement")
"""Of the factor analysis (figure 16), each with what comes before it: one Python call and one jumbo tuple an event, jumbo tuples
of the deployment's size, operators in C, the plan of RLAS."""


def factor(name: str, step: str, seconds: float) -> float:
    """Rows of the source a second with so many of the steps."""
    app = APPS[name]
    sets: dict[str, Any] = {}
    if step in STEPS[:2]:
        sets = {
            f"actors.{actor}.type": f"apps.{app.folder}.{kind}"
            for actor, kind in TYPES[name]["event"].items()
        }
    if step == STEPS[0]:
        sets["deploy.batch_size"] = 1
    if step == STEPS[3]:
        sets = PLANS["two-cores-rlas"].sets(app, profiled(name))
    return throughput(app, seconds, **sets)[1]
