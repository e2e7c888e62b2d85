"""The processes of a run that started on their own, by mpiexec, srun or one command on each host: how one of them knows the
others before there is a plan. Bytes only: it knows nothing of jobs or of control."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actorstream.transports.network.keepalives import Keepalives

if TYPE_CHECKING:
    from actorstream.native.keepalive import ClockOffset
    from actorstream.topology.deploy import DeploySpec


LIFE = "life"
"""Purpose of the streams that carry signs of life."""


class Assembly(ABC):
    """The processes of one run. Each is a *rank*: the number of its worker, from 0 to `size` - 1.

    `Transport.assembly` names the class; each process makes one, first thing. Every rank calls `gather` and `streams`
    equally often, in the same order; the main thread calls them, and not any more once the worker runs.

    Attributes:
        rank: of this process. size: how many there are.
        home: the rank that hosts the coordinator of the run. Its output is what the user watches.
        shares_output: whether the output of all ranks reaches the same terminal or log, as under mpiexec and srun. If not,
            every rank says how the run ended.
        start_s: how long ranks wait for each other at the start, if the deployment says so.
    """

    rank: int
    size: int
    home: int = 0
    shares_output: bool = True
    start_s: float = 0.0

    @classmethod
    @abstractmethod
    def found(cls, deploy: DeploySpec) -> Assembly | None:
        """The other processes of the run, if this one was started as one of several; None: nobody says so.
        ConfigurationError: somebody says so, but they do not find each other."""

    @classmethod
    @abstractmethod
    def starter(cls, deploy: DeploySpec, command: Sequence[str]) -> list[str] | None:
        """The command that starts the processes of a run, each of which runs `command`; it may set variables of this process's
        environment for it. None: the workers are to be forked on this host. ConfigurationError: there is no such command here;
        it says how to get it."""

    @abstractmethod
    def gather(self, data: bytes, limit_s: float) -> list[bytes]:
        """What every rank has given, in the order of the ranks. Waits without taking a core. ConfigurationError names the
        ranks that have not answered within `limit_s`."""

    @abstractmethod
    def streams(
        self, wanted: Iterable[tuple[int, str]], limit_s: float
    ) -> dict[tuple[int, str], socket.socket]:
        """Opens streams of bytes beside the data path: (peer, purpose) -> a connected socket, whose other end the peer has
        under (this rank, purpose). Both ranks of a pair want the same.

        Nobody but ranks of this run can be at the other end, and where the transport encrypts, so do the streams, except
        those for the purpose "life", over which one byte goes again and again. A stream closes when the process at its other
        end ends. ConfigurationError: a peer cannot be reached within `limit_s`; it says which, where, and what to do."""

    def signs_of_life(
        self, near: Collection[int], vital: Collection[int], *, limit_s: float, away_s: float
    ) -> Keepalives:
        """The signs of life of the peers `near`, of whom one that was silent for `away_s` is lost; without the `vital` ones this
        process ends. `limit_s`: as of `streams`. Both ranks of a pair call it, once."""
        found = self.streams([(peer, LIFE) for peer in near], limit_s)
        streams = {peer: sock for (peer, _), sock in found.items()}
        return Keepalives.over(streams, self.rank, limit_s=away_s, vital=vital)

    def clocks(self) -> Mapping[int, ClockOffset]:
        """Rank -> how far its clock is ahead of this process's, where that is known."""
        return {}

    def options(self) -> dict[str, Any]:
        """Options of `Transport.fabric` that follow from how the ranks found each other; the same on every rank."""
        return {}

    def outlives(self, peer: int) -> bool:
        """Waits a moment until the `peer` ends in order, or ends this process. Returns whether it has done neither."""
        return True

    @abstractmethod
    def end(self, status: int, *, in_order: bool, ends_others: bool) -> None:
        """To be called last of all, when this process has said everything and is about to exit with `status`.

        in_order: every rank calls this; else some are lost or stuck, and this call may end the process itself.
        ends_others: not in order, this process ends whatever is left of the run on any host, as far as it can."""
