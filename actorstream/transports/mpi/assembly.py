"""The ranks of an MPI world, before there is a plan."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import struct
import sys
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from secrets import token_bytes
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from actorstream.errors import ConfigurationError, WorkerDiedError
from actorstream.native.keepalive import ClockOffset
from actorstream.transports.assembly import Assembly
from actorstream.transports.mpi.knocks import Knocks
from actorstream.transports.mpi.output import wait_until_read
from actorstream.transports.mpi.starter import mpiexec
from actorstream.transports.mpi.world import (
    LOOK_S,
    alone,
    ended_by_signals,
    finalize,
    is_rank,
    load,
    ranks_here,
    started_ranks,
)
from actorstream.transports.network.interfaces import ANY
from actorstream.transports.network.same_host import SameHost, own_place
from actorstream.transports.network.streams import Streams

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec
    from actorstream.transports.network.keepalives import Keepalives

TAG = 32_000
"""Of what is gathered; those of the transport's messages are lower, and MPI guarantees tags up to 32,767."""
MOST_S = 0.01
"""Between two looks for a message, after many."""
ENDED_S = 2.0
"""How long a rank waits to be ended with the job by another rank, which says why."""
OTHERS_S = 0.1
"""How long a rank waits before it ends the job, so that others may say why they end, too."""
READ_S = 1.0
"""How long a rank waits until what it has said was read, before it ends the job."""
FAILED = 1
"""The exit status of a rank that nobody has told one, and that cannot end in order."""
SEED_BYTES = 16
_LENGTH = struct.Struct("<Q")


class MpiAssembly(Assembly):
    """Made in a process that mpiexec or srun has started. MPI is used by the main thread here, and by the transport's once
    the worker runs."""

    def __init__(
        self,
        interface: str | None = None,
        *,
        shares_memory: bool = False,
        limit_s: float = 30.0,
        home: int = 0,
    ) -> None:
        """`interface`: as of `Streams`. `shares_memory`: whether ranks of one host do. `limit_s`: how long ranks wait for each
        other. ConfigurationError: there is no MPI that works, or each process is alone in a world of its own."""
        with ended_by_signals():
            self._mpi = load()
            ranks_here(self._mpi)  # now, while all ranks do the same, and not in the midst of messages
        self._world = self._mpi.COMM_WORLD
        self.rank, self.size = int(self._world.Get_rank()), int(self._world.Get_size())
        if self.size == 1 and started_ranks() > 1:
            raise alone(started_ranks())
        self.home = min(home, self.size - 1)
        self.start_s = limit_s
        self._died = self._is_broken = False
        self._signs: Keepalives | None = None
        if signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL:
            signal.signal(
                signal.SIGUSR1, self._told
            )  # by hydra, when another rank has died; it would end this one
        self._streams = Streams(self.gather, self.rank, interface)
        neighbours = self._meet(limit_s)
        self._here = neighbours.workers
        self._same_host = neighbours if shares_memory else None
        self._knocks = Knocks.among(self.gather, self.rank, interface, limit_s)

    @classmethod
    def found(cls, deploy: DeploySpec) -> MpiAssembly | None:
        if not is_rank():
            return None
        network = deploy.network
        return cls(
            network.listen if network.listen not in ("", ANY) else None,
            shares_memory=deploy.same_host == "shm",
            limit_s=network.start_timeout.total_seconds(),
            home=network.home,
        )

    def _meet(self, limit_s: float) -> SameHost:
        """Tells all ranks where this one runs, and makes a secret with them."""
        told = self.gather(token_bytes(SEED_BYTES) + own_place(), limit_s)
        secret = blake2b(b"".join(each[:SEED_BYTES] for each in told), digest_size=32).digest()
        return SameHost(self.rank, [each[SEED_BYTES:] for each in told], secret, limit_s)

    def options(self) -> dict[str, Any]:
        return {
            "same_host": self._same_host,
            "clock": self._home_clock,
            "knocks": self._knocks,
            "here": self._here,
        }

    def signs_of_life(
        self, near: Collection[int], vital: Collection[int], *, limit_s: float, away_s: float
    ) -> Keepalives:
        self._signs = super().signs_of_life(near, vital, limit_s=limit_s, away_s=away_s)
        return self._signs

    def clocks(self) -> dict[int, ClockOffset]:
        if self._signs is None:
            return {}
        found = {peer: self._signs.clock(peer) for peer in range(self.size) if peer != self.rank}
        return {peer: clock for peer, clock in found.items() if clock is not None}

    def _home_clock(self) -> ClockOffset | None:
        """How far the home rank's clock is ahead of this one's; None: it is not known yet."""
        if self.rank == self.home:
            return ClockOffset(0, 0)
        return None if self._signs is None else self._signs.clock(self.home)

    @classmethod
    def starter(cls, deploy: DeploySpec, command: Sequence[str]) -> list[str]:
        return mpiexec(deploy.workers, command)

    def gather(self, data: bytes, limit_s: float) -> list[bytes]:
        """As `Assembly.gather`. WorkerDiedError: a rank has ended instead."""
        try:
            return self._gathered(data, limit_s)
        except BaseException:
            if not self._is_broken:
                self._is_broken = True
                atexit.register(
                    self.end, FAILED, in_order=False, ends_others=True
                )  # MPI would wait for all ranks
            raise

    def _gathered(self, data: bytes, limit_s: float) -> list[bytes]:
        end = monotonic() + limit_s
        if self.rank != self.home:
            sent = self._send(data, self.home)
            whole = self._receive(self.home, end)
            if whole is None:
                self._check_all_live()
                raise ConfigurationError(
                    f"rank {self.rank} on host {socket.gethostname()}: rank {self.home} has not answered within "
                    f"{limit_s:g} s; look at its output, and whether its process lives"
                )
            sent.Wait()
            return _parted(whole)
        found: list[bytes | None] = [None] * self.size
        found[self.home] = data
        missing = [each for each in range(self.size) if each != self.home]
        for peer in missing:
            found[peer] = self._receive(peer, end)
        silent = [str(peer) for peer in missing if found[peer] is None]
        if silent:
            self._check_all_live()
            raise ConfigurationError(
                f"rank{'s' * (len(silent) > 1)} {', '.join(silent)}: no answer within {limit_s:g} s; look at their output, "
                "and whether their processes live"
            )
        whole = b"".join(_LENGTH.pack(len(each)) + each for each in found if each is not None)
        for request in [self._send(whole, peer) for peer in missing]:
            request.Wait()
        return _parted(whole)

    def _check_all_live(self) -> None:
        if self._died:
            raise WorkerDiedError(
                f"rank {self.rank} on host {socket.gethostname()} has heard that another rank ended before the run began: it was "
                "killed, or its host is gone; look at its output, and launch again"
            )

    def _told(self, *_: object) -> None:
        self._died = True

    def _send(self, data: bytes, peer: int) -> Any:
        return self._world.Isend([data, self._mpi.BYTE], peer, TAG)

    def _receive(self, peer: int, end: float) -> bytes | None:
        status, pause = self._mpi.Status(), LOOK_S
        while (message := self._world.Improbe(peer, TAG, status)) is None:
            if monotonic() > end or self._died:
                return None
            sleep(pause)
            pause = min(2 * pause, MOST_S)
        data = bytearray(status.Get_count(self._mpi.BYTE))
        message.Recv([data, self._mpi.BYTE])
        return bytes(data)

    def streams(
        self, wanted: Iterable[tuple[int, str]], limit_s: float
    ) -> dict[tuple[int, str], socket.socket]:
        return self._streams.open(wanted, limit_s)

    def outlives(self, peer: int) -> bool:
        sleep(ENDED_S)  # the peer ends the job
        return True

    def end(self, status: int, *, in_order: bool, ends_others: bool) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        if signal.getsignal(signal.SIGUSR1) == self._told:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # what is ignored stays so to the process's end
        if in_order and not self._is_broken:  # else some ranks never come to its end
            finalize(self._mpi)
            return
        if ends_others:
            wait_until_read(READ_S)  # MPI_Abort would overtake it
        sleep(OTHERS_S if ends_others else ENDED_S)
        if ends_others:
            self._world.Abort(status or 1)
        os._exit(status or 1)


def _parted(whole: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(whole):
        (length,) = _LENGTH.unpack_from(whole, at)
        at += _LENGTH.size
        found.append(whole[at : at + length])
        at += length
    return found
