"""Where the workers of a run over several hosts are: from the list of hosts in the deployment, or from a shared folder in which
each worker writes its own address. Addresses only: it connects to nobody."""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import socket
from pathlib import Path
from time import monotonic, sleep
from typing import IO, TYPE_CHECKING

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.hosts import LAST_PORT, PORT
from actorstream.transports.network.interfaces import address_of, is_of_this_host, own_address

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.hosts import HostSpec

AGAIN_S = 0.05
"""Between two looks for a name or a file that is not there yet."""
LOOKED_AT_S = 1.0
"""How long a file may be locked by those who look at it, which takes them a moment each: longer, and its worker lives."""
LOCK_AGAIN_S = 0.01


class Place(msgspec.Struct, frozen=True):
    """One worker's: the address under which others reach it, the first of its two ports, and what it listens on."""

    address: str
    port: int
    listen: str = ""

    @property
    def shown(self) -> str:
        """For messages."""
        return f"{self.address}:{self.port}"


def listed_places(deploy: DeploySpec) -> list[Place]:
    """The place of each worker: hosts in the order of the list, the slots of each one after the other.
    ConfigurationError: there are too few."""
    places: list[Place] = []
    for host in deploy.hosts:
        first, listen = deploy.network.first_port(host), host.listen or deploy.network.listen
        places += [Place(host.address, first + 2 * slot, listen) for slot in range(host.slots)]
    if len(places) < deploy.workers:
        raise ConfigurationError(
            Problem("workers", f"is {deploy.workers}", f"at most {len(places)}, the slots of all hosts")
        )
    return [_with_ports(each, rank) for rank, each in enumerate(places[: deploy.workers])]


def host_of(deploy: DeploySpec, rank: int) -> HostSpec:
    """The host of a worker. ConfigurationError: there is no such worker."""
    left = rank
    for host in deploy.hosts:
        if left < host.slots:
            return host
        left -= host.slots
    raise ConfigurationError(
        Problem(
            "--rank",
            f"is {rank}",
            f"0 to {sum(each.slots for each in deploy.hosts) - 1}, a slot of the hosts",
        )
    )


class Discovery:
    """A folder that all hosts share. Each worker keeps a file in it, locked while it lives, so that what an earlier run has
    left is told from what is valid, and no two runs use one folder at a time."""

    def __init__(self, folder: Path, rank: int, size: int) -> None:
        self.folder, self.rank, self.size = folder, rank, size
        self._own: IO[str] | None = None

    def enter(self, place: Place) -> None:
        """Writes the place of this worker. ConfigurationError: the folder cannot be used, or another run uses it."""
        path = self._path(self.rank)
        end = monotonic() + LOOKED_AT_S
        while (own := self._locked(path)) is None:
            if monotonic() > end:
                raise ConfigurationError(
                    Problem(
                        "network.discovery",
                        f"{str(path)!r} is in use: worker {self.rank} of another run lives",
                        "a folder for each run",
                        "wait until that run has ended, or give this one another folder: --set deploy.network.discovery=FOLDER",
                    )
                )
            sleep(LOCK_AGAIN_S)
        own.truncate(0)
        own.write(
            json.dumps({"host": socket.gethostname(), "address": place.address, "port": place.port}) + "\n"
        )
        own.flush()
        self._own = own

    def _locked(self, path: Path) -> IO[str] | None:
        """The file of this worker, locked; None: somebody else has it locked, or has just taken it away. ConfigurationError:
        the folder cannot be used."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            own = path.open("a+")
        except OSError as error:
            raise ConfigurationError(
                Problem("network.discovery", f"{str(path)!r} cannot be written: {error.strerror}")
            ) from error
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(own.fileno()), path.stat()):
                return own
        except OSError:
            pass
        own.close()
        return None

    def wait(self, limit_s: float) -> list[Place]:
        """The places of all workers. ConfigurationError names those that have not written theirs in time."""
        end = monotonic() + limit_s
        while True:
            found = [self._read(rank) for rank in range(self.size)]
            missing = [str(rank) for rank, place in enumerate(found) if place is None]
            if not missing:
                return [place for place in found if place is not None]
            if monotonic() > end:
                raise ConfigurationError(
                    f"worker {self.rank}: worker{'s' * (len(missing) > 1)} {', '.join(missing)} did not appear in "
                    f"{str(self.folder)!r} within {limit_s:g} s; start them (--rank N), with the same folder on every host"
                )
            sleep(AGAIN_S)

    def _read(self, rank: int) -> Place | None:
        path = self._path(rank)
        try:
            with path.open("r") as file:
                if rank != self.rank and not _is_locked(file):
                    return None
                said = json.loads(file.read())
            return Place(str(said["address"]), int(said["port"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _path(self, rank: int) -> Path:
        return self.folder / f"worker-{rank}.json"

    def leave(self) -> None:
        """Takes the file of this worker away."""
        own, self._own = self._own, None
        if own is not None:
            self._path(self.rank).unlink(missing_ok=True)
            own.close()


def _is_locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def discovered_place(deploy: DeploySpec, rank: int, port: int | None = None) -> Place:
    """The place of this worker, where no list says it. `port`: a free one, if the deployment names none."""
    network = deploy.network
    first = port or (network.port or PORT) + 2 * rank
    return _with_ports(Place(own_address(network.listen), first, network.listen), rank)


def _with_ports(place: Place, rank: int) -> Place:
    """The place. ConfigurationError: there are no two such ports."""
    if place.port + 1 > LAST_PORT:
        what = f"leaves the ports {place.port} and {place.port + 1} to worker {rank} at {place.address!r}"
        raise ConfigurationError(
            Problem("network.port", what, f"ports up to {LAST_PORT}", "each worker uses two; set a lower one")
        )
    return place


def resolved(places: list[Place], limit_s: float) -> list[Place]:
    """The places with numbers for names. Waits for names that appear late, as those of pods do. ConfigurationError: one has no
    address."""
    end = monotonic() + limit_s
    found = []
    for place in places:
        while True:
            try:
                found.append(Place(address_of(place.address, place.port), place.port, place.listen))
                break
            except OSError as error:
                if monotonic() > end:
                    raise ConfigurationError(
                        f"host {place.address!r} has no address: {error.strerror}; correct it in the list of hosts, or the "
                        "name service"
                    ) from error
            sleep(AGAIN_S)
    return found


def check_reachable(own: Place, bound: str, numbers: list[Place]) -> None:
    """ConfigurationError: this worker listens at a loopback address because its name stands for one here, as Debian's /etc/hosts
    says of a host's own name, and some of the others, whose `numbers` these are, run on other hosts."""
    if own.listen or not ipaddress.ip_address(bound).is_loopback:
        return
    other = next((each for each in numbers if not is_of_this_host(each.address)), None)
    if other is not None:
        raise ConfigurationError(
            f"host {socket.gethostname()} takes its own address in the list of hosts, {own.address!r}, for {bound}, where "
            f"other hosts, such as {other.address}, do not reach it; correct /etc/hosts, list its number, or set "
            'listen = "*" for it'
        )
