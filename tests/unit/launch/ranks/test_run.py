"""Ranks stay in step, whichever of them fails, and all of them say why."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import msgspec
import pytest

from actorstream.cli.main import exit_code
from actorstream.errors import ConfigurationError
from actorstream.launch.ranks.identity import RefusedError
from actorstream.launch.ranks.run import Rank
from actorstream.transports.assembly import Assembly
from actorstream.transports.network.streams import Streams, _Place

RANKS = 3
WAITING_S = 20.0


class Gathering(Assembly):
    """One of RANKS ranks, which are threads of this process."""

    def __init__(self, rank: int, barrier: Barrier, given: list[bytes]) -> None:
        self.rank, self.size = rank, RANKS
        self._barrier, self._given = barrier, given
        self.opened = Streams(self.gather, rank)

    @classmethod
    def found(cls, deploy: Any) -> None:
        raise NotImplementedError

    @classmethod
    def starter(cls, deploy: Any, command: Sequence[str]) -> None:
        raise NotImplementedError

    def gather(self, data: bytes, limit_s: float) -> list[bytes]:
        self._given[self.rank] = data
        self._barrier.wait(WAITING_S)
        found = list(self._given)
        self._barrier.wait(WAITING_S)
        return found

    def streams(
        self, wanted: Iterable[tuple[int, str]], limit_s: float
    ) -> dict[tuple[int, str], socket.socket]:
        return self.opened.open(wanted, limit_s)

    def end(self, status: int, *, in_order: bool, ends_others: bool) -> None:
        raise NotImplementedError


def play(act: Callable[[Gathering], None]) -> list[BaseException]:
    """What each rank raises that does so together with the others."""
    barrier, given = Barrier(RANKS), [b""] * RANKS

    def played(rank: int) -> BaseException:
        assembly = Gathering(rank, barrier, given)
        with pytest.raises(BaseException) as found, Rank(assembly, exit_code)._agreed():
            act(assembly)
        return found.value

    with ThreadPoolExecutor(RANKS) as pool:
        return list(pool.map(played, range(RANKS)))


@pytest.mark.parametrize("before", [0, 1])
def test_a_rank_that_fails_while_ways_are_opened_is_named_by_all_with_its_error(before: int) -> None:
    def act(assembly: Gathering) -> None:
        if assembly.rank == 1:
            for _ in range(before):
                assembly.gather(msgspec.msgpack.encode(_Place("host", "place", b"", "")), WAITING_S)
            raise ConfigurationError("no network interface 'eth1'")
        assembly.streams([(2 - assembly.rank, "control")], WAITING_S)

    for error in play(act):
        assert isinstance(error, RefusedError) and error.status == 2, error
        assert "rank 1 on host" in str(error) and "no network interface 'eth1'" in str(error)


def test_ranks_that_all_fail_alike_say_so_without_a_rank() -> None:
    def act(assembly: Gathering) -> None:
        raise ConfigurationError("nothing works")

    errors = play(act)
    assert {str(error).count("rank") for error in errors} == {0}
    assert all("nothing works" in str(error) for error in errors)


def test_ranks_wait_for_one_that_compiles_as_long_as_the_deployment_lets_them() -> None:
    limits = []

    class Patient(Gathering):
        start_s = 300.0

        def gather(self, data: bytes, limit_s: float) -> list[bytes]:
            limits.append(limit_s)
            return super().gather(data, limit_s)

    def fails(*_: object) -> Any:
        raise ConfigurationError("nothing works")

    with pytest.raises(RefusedError, match="nothing works"):
        Rank(Patient(0, Barrier(1), [b""]), exit_code).agree(fails)
    assert set(limits) == {300.0}
