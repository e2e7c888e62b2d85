"""The processes of a run on several hosts, before there is a plan: each finds its place, its key and the others."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from actorstream.errors import ConfigurationError, Problem
from actorstream.native.keepalive import ClockOffset, KeepaliveThread, PeerState
from actorstream.transports.assembly import Assembly
from actorstream.transports.network.interfaces import (
    endpoint,
    listening_address,
    own_address,
    socket_address,
)
from actorstream.transports.network.keepalives import BEATS, LEAVING_S, Keepalives
from actorstream.transports.network.keys import VARIABLE, parse_key, read_key
from actorstream.transports.network.same_host import SameHost, own_place
from actorstream.transports.zmq.places import (
    Discovery,
    Place,
    check_reachable,
    discovered_place,
    listed_places,
    resolved,
)
from actorstream.transports.zmq.ports import check_data_port, datagrams, free_ports
from actorstream.transports.zmq.slurm_step import SlurmStep
from actorstream.transports.zmq.starter import FROM_STDIN, RANK, key_from_stdin, run_begins, starting_command
from actorstream.transports.zmq.wire import Wire

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec

SEED_BYTES = 16
CLOSING_S = 3.0
AGAIN_S = 0.01
SAID = f"--rank or {RANK}"
"""How a user says which worker a process is."""
OUTLIVES_S = 2.0
"""How long a worker waits for another one that says why the run has ended."""


class ZmqAssembly(Assembly):
    """Made in each process, by its main thread."""

    def __init__(self, deploy: DeploySpec, rank: int, key: bytes, step: SlurmStep | None = None) -> None:
        """ConfigurationError: the others are not found, this host is not the one that is meant, a port is in use, ..."""
        network = deploy.network
        self.rank, self.size = rank, deploy.workers
        self.home = min(network.home, self.size - 1)
        self.shares_output = step is not None or os.environ.get(VARIABLE) == FROM_STDIN
        self.start_s = network.start_timeout.total_seconds()
        self._away_s = network.peer_timeout.total_seconds()
        self._encrypts = network.encrypt
        self._discovery: Discovery | None = None
        self._wire: Wire | None = None
        self._keepalives: Keepalives | None = None
        self._sock: socket.socket | None = None
        self._step = step
        try:
            self._join(deploy, key)
        except BaseException:
            self._close(0.0, leaves=True)
            raise

    @classmethod
    def found(cls, deploy: DeploySpec) -> ZmqAssembly | None:
        rank = started_rank(deploy.workers)
        if rank is None:
            step = SlurmStep.found()
            return cls._of(step, deploy) if step is not None else None
        if not deploy.hosts and not deploy.network.discovery:
            raise ConfigurationError(
                Problem(
                    SAID,
                    f"is {rank}, but the deployment says nothing of other hosts",
                    "",
                    "list them: [[hosts]], or network.discovery",
                )
            )
        return cls(deploy, rank, job_key(deploy))

    @classmethod
    def _of(cls, step: SlurmStep, deploy: DeploySpec) -> ZmqAssembly:
        network = deploy.network
        has_key = bool(network.key or os.environ.get(VARIABLE))
        key = job_key(deploy) if has_key else step.key(network.start_timeout.total_seconds())
        return cls(step.completed(deploy), step.rank, key, step)

    @classmethod
    def starter(cls, deploy: DeploySpec, command: Sequence[str]) -> list[str] | None:
        if deploy.hosts:
            listed_places(deploy)  # what is wrong with them is said once, and not by each worker
            return starting_command(deploy, command)
        if deploy.network.discovery:
            raise ConfigurationError(
                Problem(
                    "network.discovery",
                    "is set, and this process was not told which worker it is",
                    f"--rank N or {RANK}=N, from 0 to {deploy.workers - 1}",
                    "start each worker so, in any order; or list the hosts, and `launch` starts them",
                )
            )
        return None

    def _join(self, deploy: DeploySpec, key: bytes) -> None:
        places = self._places(deploy)
        own = places[self.rank]
        bound = listening_address(own.listen, own.address)
        if self._sock is None:
            self._sock = datagrams(bound, own.port)
        check_data_port(bound, own.port + 1)
        numbers = resolved(places, self.start_s)
        check_reachable(own, bound, numbers)
        wire = self._wire = Wire(
            self.rank,
            [endpoint(each.address, each.port) for each in numbers],
            [each.shown for each in places],
            endpoint(bound, own.port),
            _derived(key, "wire"),
            curve=self._encrypts,
            away_s=self._away_s,
        )
        seeds = wire.gather(token_bytes(SEED_BYTES) + own_place(), self.home, self.start_s)
        self._secret = _derived(_derived(key, "run"), *(each.hex() for each in seeds))
        places_found = [each[SEED_BYTES:] for each in seeds]
        neighbours = SameHost(self.rank, places_found, self._secret, self.start_s)
        self._here = neighbours.workers
        self._same_host = neighbours if deploy.same_host == "shm" else None
        self._data = [endpoint(each.address, each.port + 1) for each in numbers]
        self._bound = endpoint(bound, own.port + 1)
        self._keepalives = self._meet(numbers, places)
        wire.missed = self._keepalives.missed

    def _places(self, deploy: DeploySpec) -> list[Place]:
        if deploy.hosts:
            return listed_places(deploy)
        self._discovery = Discovery(Path(deploy.network.discovery), self.rank, self.size)
        port = None
        if deploy.network.port is None:
            listen = deploy.network.listen
            self._sock, port = free_ports(listening_address(listen, own_address(listen)))
        own = discovered_place(deploy, self.rank, port)
        self._discovery.enter(own)
        places = self._discovery.wait(self.start_s)
        places[self.rank] = own
        return places

    def _meet(self, numbers: list[Place], places: list[Place]) -> Keepalives:
        """Starts the keepalive, and waits until every other process was heard."""
        assert self._sock is not None
        thread = KeepaliveThread(
            self._sock.fileno(),
            self.rank,
            self.size,
            every_s=self._away_s / BEATS,
            limit_s=self._away_s,
            grace_s=LEAVING_S,
        )
        others = [peer for peer in range(self.size) if peer != self.rank]
        keepalives = Keepalives(thread)
        try:
            for peer in others:
                place = numbers[peer]
                keys = (_tag_key(self._secret, self.rank, peer), _tag_key(self._secret, peer, self.rank))
                thread.add(peer, socket_address(place.address, place.port), *keys)
            thread.start()
            end = monotonic() + self.start_s
            while silent := [peer for peer in others if thread.state(peer) == PeerState.UNHEARD]:
                if monotonic() > end:
                    raise ConfigurationError(
                        f"worker {self.rank}: no udp datagram has come from "
                        + ", ".join(f"worker {peer} at {places[peer].shown}" for peer in silent)
                        + f" within {self.start_s:g} s, although tcp works; open the ports for udp, too: signs of life need it"
                    )
                sleep(AGAIN_S)
        except BaseException:
            keepalives.close()
            raise
        return keepalives

    # -- what the run uses

    def gather(self, data: bytes, limit_s: float) -> list[bytes]:
        assert self._wire is not None
        return self._wire.gather(data, self.home, limit_s)

    def streams(
        self, wanted: Iterable[tuple[int, str]], limit_s: float
    ) -> dict[tuple[int, str], socket.socket]:
        assert self._wire is not None
        run_begins()
        return self._wire.streams(wanted)

    def signs_of_life(
        self, near: Collection[int], vital: Collection[int], *, limit_s: float, away_s: float
    ) -> Keepalives:
        assert self._keepalives is not None and self._wire is not None
        self._keepalives.watch(near, vital, lost=self._wire.lose)
        return self._keepalives

    def clocks(self) -> dict[int, ClockOffset]:
        assert self._keepalives is not None
        found = {peer: self._keepalives.clock(peer) for peer in range(self.size) if peer != self.rank}
        return {peer: clock for peer, clock in found.items() if clock is not None}

    def options(self) -> dict[str, Any]:
        assert self._keepalives is not None
        return {
            "addresses": self._data,
            "bound": self._bound,
            "secret": self._secret,
            "curve": self._encrypts,
            "start_s": self.start_s,
            "away_s": self._away_s,
            "clocks": self._keepalives.clock,
            "same_host": self._same_host,
            "here": self._here,
        }

    def outlives(self, peer: int) -> bool:
        assert self._keepalives is not None
        end = monotonic() + OUTLIVES_S
        while monotonic() < end:
            state = self._keepalives.thread.state(peer)
            if state in (PeerState.LEFT, PeerState.SILENT):
                return state is PeerState.SILENT
            sleep(AGAIN_S)
        return True

    def end(self, status: int, *, in_order: bool, ends_others: bool) -> None:
        self._close(CLOSING_S if in_order else 0.5, leaves=in_order)
        sys.stdout.flush()
        sys.stderr.flush()

    def _close(self, limit_s: float, *, leaves: bool) -> None:
        if self._keepalives is not None:
            self._keepalives.close()
        if self._wire is not None:
            self._wire.close(limit_s)
        if self._sock is not None:
            self._sock.close()
        if self._discovery is not None:
            self._discovery.leave()
        if self._step is not None:
            self._step.leave()


def started_rank(workers: int) -> int | None:
    """The rank that this process was started as; None: nobody says. ConfigurationError: there is no such rank."""
    said = os.environ.get(RANK)
    if said is None:
        return None
    if not said.isdigit() or int(said) >= workers:
        raise ConfigurationError(
            Problem(
                SAID, f"is {said!r}", f"a number from 0 to {workers - 1}, since there are {workers} workers"
            )
        )
    return int(said)


def job_key(deploy: DeploySpec) -> bytes:
    """The key of the job: from the launcher, the environment or a file. ConfigurationError: there is none."""
    said = os.environ.get(VARIABLE)
    if said == FROM_STDIN:
        return key_from_stdin()
    if said:
        return parse_key(os.environ.pop(VARIABLE), VARIABLE)
    if deploy.network.key:
        return read_key(Path(deploy.network.key))
    raise ConfigurationError(
        Problem(
            "network.key",
            "is not set, and this process was not started by a launcher that hands it a key",
            "a file with the key of the job",
            f'`actorstream keys DIR` makes one; copy it to every host, and set network.key = "DIR/job.key" (or {VARIABLE})',
        )
    )


def _derived(key: bytes, *purpose: str) -> bytes:
    """A key of its own for a purpose."""
    return blake2b(" ".join(purpose).encode(), key=key, digest_size=32).digest()


def _tag_key(secret: bytes, sender: int, receiver: int) -> bytes:
    return blake2b(f"keepalive {sender} to {receiver}".encode(), key=secret, digest_size=16).digest()
