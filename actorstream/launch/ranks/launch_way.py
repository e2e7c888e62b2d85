"""Which way a launch goes: this process is one of several that were started on their own, it is to start these, or it forks
workers. It reads the deployment, and no topology."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from actorstream.errors import ActorstreamError
from actorstream.transports.registry import load_transport

if TYPE_CHECKING:
    from actorstream.launch.files import JobFiles
    from actorstream.transports.assembly import Assembly


class LaunchWay(msgspec.Struct, frozen=True):
    """Of one launch. `assembly`: the processes of which this one is a rank. `starter`: the command that starts the ranks, each
    of which has this process's command line. Neither: workers are forked."""

    assembly: Assembly | None = None
    starter: list[str] | None = None

    @classmethod
    def of(cls, files: JobFiles, transport: str | None = None, workers: int | None = None) -> LaunchWay:
        """ConfigurationError: the processes of the run do not find each other, or cannot be started. What is wrong with the
        files is told by whoever compiles them."""
        try:
            deploy = files.deployment(transport=transport, workers=workers)
            assembly = load_transport(deploy.transport).assembly
        except ActorstreamError:
            return cls()
        if assembly is None:
            return cls()
        found = assembly.found(deploy)
        return cls(found) if found is not None else cls(None, assembly.starter(deploy, _own_command()))

    def start(self) -> None:
        """Makes this process the starter of the ranks. Does not return."""
        assert self.starter is not None
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(self.starter[0], self.starter)


def _own_command() -> list[str]:
    return [sys.executable, "-m", "actorstream", *sys.argv[1:]]
