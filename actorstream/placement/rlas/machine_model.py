"""The machine that RLAS plans for: sockets, cores, latencies and bandwidths between them (briskstream-rlas table 1). Pure.

A socket is a NUMA node. Several machines are one model, in which the network is the slowest channel.
"""

from __future__ import annotations

import math
from typing import Annotated

import msgspec
from msgspec import Meta

from actorstream.errors import ConfigurationError, Problem
from actorstream.native.placement import MOST_SOCKETS
from actorstream.topology.graph import fingerprint

LARGEST = 1e18
"""Of any number of a machine, so that products of two of them are finite."""
Positive = Annotated[float, Meta(gt=0, le=LARGEST, description="a number above 0, at most 1e18")]
Cores = Annotated[int, Meta(ge=1, le=4096, description="a whole number from 1 to 4096")]
LineBytes = Annotated[int, Meta(ge=1, le=1 << 20, description="a whole number from 1 to 1048576")]


class Socket(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One NUMA node. `cores * hertz` is the paper's C, in cycles per second."""

    cores: Cores
    hertz: Positive
    """Cycles per second of one core."""
    cpus: list[int] = []
    """Numbers of its logical CPUs on `host`, one for each core; empty where the model is of another machine."""
    node: int = -1
    """Number of the memory node on `host`; -1: not known."""
    host: str = ""
    """Which machine it is in; "" where there is one machine only."""


class MachineModel(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Sockets with the latency L(i,j) and the bandwidths B (the diagonal) and Q(i,j) between them."""

    name: str
    sockets: list[Socket]
    latency_ns: list[list[float]]
    """L(i,j): nanoseconds until a core of socket i has a cache line of socket j's memory; i = j: local memory."""
    bandwidth: list[list[float]]
    """Bytes per second: Q(i,j) from socket i's memory to socket j's cores; i = j: local DRAM bandwidth B."""
    cache_line: LineBytes = 64
    """S, in bytes."""
    core_ns: Annotated[float, Meta(ge=0, le=LARGEST, description="a number from 0 to 1e18")] = 0.0
    """Nanoseconds that a core takes more to read a cache line that another core of its socket has written than one that it wrote.
    The paper has no such cost: it takes T^f = 0 within a socket."""

    @property
    def fingerprint(self) -> int:
        """64 unsigned bits over all values: plans for equal machines, and only those, have the same."""
        return fingerprint(self)

    @property
    def cores(self) -> int:
        return sum(socket.cores for socket in self.sockets)

    def cycles(self, socket: int) -> float:
        """C: cycles per second that all cores of a socket have together."""
        return self.sockets[socket].cores * self.sockets[socket].hertz

    def fetch_ns(self, size: float, producer: int, consumer: int, rows: float = 1) -> float:
        """T^f (Formula 2): nanoseconds to fetch a tuple of `size` bytes from the producer's socket; 0 if it is the same.

        With jumbo tuples of `rows` tuples, whole cache lines are counted for the jumbo tuple and shared by its tuples."""
        if producer == consumer:
            return 0.0
        lines = math.ceil(size * rows / self.cache_line) / rows
        return lines * self.latency_ns[consumer][producer]

    def first(self, sockets: int) -> MachineModel:
        """The same machine with only its first sockets."""
        return msgspec.structs.replace(
            self,
            name=f"{self.name}, {sockets} sockets",
            sockets=self.sockets[:sockets],
            latency_ns=[row[:sockets] for row in self.latency_ns[:sockets]],
            bandwidth=[row[:sockets] for row in self.bandwidth[:sockets]],
        )


def check_machine_model(model: MachineModel, file: str = "") -> MachineModel:
    """The model itself; ConfigurationError lists everything that is wrong with its matrices and CPUs."""
    problems = [
        Problem(where, message, allowed, hint, file)
        for where, message, allowed, hint in machine_problems(model)
    ]
    if problems:
        raise ConfigurationError(problems)
    return model


def machine_problems(model: MachineModel) -> list[tuple[str, str, str, str]]:
    """What is wrong with a model, as (where, message, allowed, hint)."""
    if not model.sockets:
        return [("sockets", "has no socket", "at least one table [[sockets]]", "")]
    if len(model.sockets) > MOST_SOCKETS:
        allowed = f"at most {MOST_SOCKETS}, those of all hosts together"
        return [("sockets", f"has {len(model.sockets)} sockets", allowed, "")]
    found: list[tuple[str, str, str, str]] = []
    for name, matrix in (("latency_ns", model.latency_ns), ("bandwidth", model.bandwidth)):
        found.extend(_matrix_problems(name, matrix, len(model.sockets)))
    owners: dict[tuple[str, int], int] = {}
    for number, socket in enumerate(model.sockets):
        where = f"sockets[{number}].cpus"
        if socket.cpus and len(socket.cpus) != socket.cores:
            found.append(
                (where, f"names {len(socket.cpus)} CPUs", f"{socket.cores}, one for each of its cores", "")
            )
        for cpu in socket.cpus:
            owner = owners.get((socket.host, cpu))
            owners.setdefault((socket.host, cpu), number)
            if owner is not None:
                whose = " twice" if owner == number else f", which socket {owner} has"
                found.append((where, f"names CPU {cpu}{whose}", "each CPU once", ""))
    return found


def _matrix_problems(name: str, matrix: list[list[float]], size: int) -> list[tuple[str, str, str, str]]:
    if len(matrix) != size:
        return [(name, f"has {len(matrix)} rows", f"{size} rows of {size} numbers, one for each socket", "")]
    wrong = [
        (f"{name}[{number}]", f"has {len(row)} numbers", f"{size}, one for each socket", "")
        for number, row in enumerate(matrix)
        if len(row) != size
    ]
    if wrong:
        return wrong
    found = []
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            where = f"{name}[{i}][{j}]"
            if not 0 < value <= LARGEST:
                found.append((where, f"is {value}", "a number above 0, at most 1e18", ""))
            elif j < i and matrix[j][i] > 0 and not math.isclose(value, matrix[j][i], rel_tol=1e-9):
                hint = "give both directions the same value, for example their mean"
                found.append(
                    (
                        where,
                        f"is {value:g} but {name}[{j}][{i}] is {matrix[j][i]:g}",
                        "a symmetric matrix",
                        hint,
                    )
                )
    return found
