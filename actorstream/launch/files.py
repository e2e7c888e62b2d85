"""The files and settings that a job is compiled from, so that another process can compile the same one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.plan.compile import read_job
from actorstream.topology.load import load_deploy
from actorstream.topology.plan import load_plan

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from actorstream.plan.job import Job
    from actorstream.topology.deploy import DeploySpec


class JobFiles(msgspec.Struct, frozen=True):
    """As `actorstream launch` takes them: topology and deployment file, overriding settings, a saved plan."""

    topology: Path
    deploy: Path | None = None
    sets: tuple[str, ...] = ()
    plan: Path | None = None

    def job(self) -> Job:
        """ConfigurationError lists everything that is wrong."""
        return read_job(self.topology, self.deploy, self.sets, self.plan)

    def deployment(self, **keys: Any) -> DeploySpec:
        """The deployment of their run, without a look at the topology: the plan's own, else the file's with the settings and
        `keys` laid over it. ConfigurationError lists what is wrong with it."""
        if self.plan is not None:
            return load_plan(self.plan).deploy
        sets = [each for each in self.sets if each.startswith("deploy.")]
        return load_deploy(self.deploy, sets, **keys)

    def arguments(self) -> list[str]:
        """For a command line that `add_arguments` and `of` read."""
        named = [("--deploy", self.deploy), ("--plan", self.plan), *(("--set", each) for each in self.sets)]
        return [str(self.topology), *(word for name, value in named if value for word in (name, str(value)))]

    @staticmethod
    def add_arguments(parser: ArgumentParser) -> None:
        parser.add_argument("topology", type=Path)
        parser.add_argument("--deploy", type=Path)
        parser.add_argument("--plan", type=Path)
        parser.add_argument("--set", action="append", default=[])

    @classmethod
    def of(cls, parsed: Namespace) -> JobFiles:
        return cls(parsed.topology, parsed.deploy, tuple(parsed.set), parsed.plan)
