"""Limits of the machine: what is refused before anything is made, and what it says."""

from __future__ import annotations

import gc
import resource

import pytest
from msgspec.structs import replace

from actorstream.errors import ResourceError
from actorstream.native.memory import UNLIMITED
from actorstream.transports.base import Channel
from actorstream.transports.mpi.fabric import MpiFabric
from actorstream.transports.shm.limits import (
    GIB,
    LEAST_ARENA,
    MIB,
    ROOM_PER_WORKER,
    WISHED_ARENA,
    Limits,
    arena_limit,
)
from actorstream.transports.zmq import ZmqFabric, ZmqTransport
from tests.unit.transports.shm.forked import in_child

AMPLE = Limits(
    memory=20 * GIB,
    address_space=UNLIMITED,
    address_space_used=GIB,
    files=1024,
    files_used=10,
    file_size=UNLIMITED,
    maps=65_530,
    maps_used=400,
)
BUDGETS = [8 * MIB, 4 * MIB]


def test_where_nothing_limits_an_arena_reserves_generously() -> None:
    assert arena_limit(AMPLE, 2, BUDGETS, MIB) == WISHED_ARENA
    assert arena_limit(AMPLE, 2, [GIB, GIB], MIB) == 16 * GIB


def test_a_tight_address_space_makes_arenas_smaller_before_it_refuses() -> None:
    tight = replace(AMPLE, address_space=GIB + ROOM_PER_WORKER + 200 * MIB)
    limit = arena_limit(tight, 2, BUDGETS, MIB)
    assert LEAST_ARENA <= limit <= 100 * MIB


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (replace(AMPLE, files=60), ("open files", "10 of 60", "ulimit -n")),
        (replace(AMPLE, maps=500), ("400 of 500", "vm.max_map_count")),
        (replace(AMPLE, memory=5 * MIB), ("5 MiB may still be taken", "13 MiB", "deploy.edge_bytes")),
        (replace(AMPLE, file_size=MIB), ("RLIMIT_FSIZE is 1 MiB", "ulimit -f")),
        (replace(AMPLE, address_space=GIB), ("RLIMIT_AS is 1,024 MiB", "ulimit -v")),
    ],
    ids=["files", "mappings", "memory", "file size", "address space"],
)
def test_a_limit_that_is_too_small_is_named_with_what_to_do(limits: Limits, words: tuple[str, ...]) -> None:
    with pytest.raises(ResourceError) as caught:
        arena_limit(limits, 2, BUDGETS, MIB)
    for word in words:
        assert word in str(caught.value)


def test_all_limits_that_are_too_small_are_listed_at_once() -> None:
    with pytest.raises(ResourceError) as caught:
        arena_limit(replace(AMPLE, files=20, memory=MIB, file_size=MIB), 2, BUDGETS, MIB)
    assert len(str(caught.value).splitlines()) == 4


def test_reading_tells_this_process_own_limits() -> None:
    limits = Limits.read()
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert limits.files == soft
    assert 0 < limits.files_used < soft
    assert 0 < limits.maps_used < limits.maps
    assert limits.address_space_used > 10 * MIB


@pytest.mark.parametrize(
    ("which", "value", "word"),
    [
        (resource.RLIMIT_NOFILE, None, "RLIMIT_NOFILE"),
        (resource.RLIMIT_AS, 600 * MIB, "RLIMIT_AS"),
        (resource.RLIMIT_FSIZE, MIB, "RLIMIT_FSIZE"),
    ],
    ids=["open files", "address space", "file size"],
)
def test_a_fabric_under_a_real_limit_is_refused_and_leaves_nothing_open(
    which: int, value: int | None, word: str
) -> None:
    def make() -> str:
        from pathlib import Path

        from actorstream.transports.shm import ShmTransport

        gc.collect()  # what earlier tests have left must not go away between
        before = sum(1 for _ in Path("/proc/self/fd").iterdir())
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (before + 10 if value is None else value, hard))
        try:
            ShmTransport.fabric(4, [Channel(0, 0, 1, 0, 0)], 1)
        except ResourceError as error:
            assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before
            return str(error)
        return "it was made"

    assert word in in_child(make)


def test_a_process_without_a_free_descriptor_is_told_so() -> None:
    def make() -> str:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            Limits.read()
        except ResourceError as error:
            return str(error)
        return "it was read"

    assert "ulimit -n" in in_child(make)


@pytest.mark.parametrize("transport", ["zmq", "mpi"])
def test_over_a_network_the_budgets_of_this_host_count_and_no_others(transport: str) -> None:
    channels = [Channel(0, 1, 2, 0, 0, budget=1 << 50)]

    def make(*here: int) -> None:
        if transport == "mpi":
            MpiFabric(3, channels, 1, here=here)
        else:
            names = [f"ipc://@actorstream-test-limits-{worker}" for worker in range(3)]
            ZmqFabric(3, channels, 1, addresses=names, secret=bytes(32), here=here)

    make(0)
    with pytest.raises(ResourceError, match=f"transport '{transport}' cannot start:\n  memory: "):
        make(0, 1)


def test_over_mpi_each_process_maps_its_own_arena_and_opens_no_files_for_those_of_others() -> None:
    def make() -> str:
        limits = Limits.read()
        for which, value in (
            (resource.RLIMIT_NOFILE, limits.files_used + 100),
            (resource.RLIMIT_AS, limits.address_space_used + 4 * GIB),
        ):
            resource.setrlimit(which, (value, resource.getrlimit(which)[1]))
        MpiFabric(400, [], 1)
        return "it was made"

    assert in_child(make) == "it was made"


def test_over_zmq_each_process_opens_files_for_the_peers_that_it_has() -> None:
    def make() -> str:
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (Limits.read().files_used + 100, before[1]))
        ZmqTransport.fabric(400, [Channel(0, 0, 1, 0, 0)], 1)
        try:
            ZmqTransport.fabric(400, [Channel(peer, 0, peer, peer, 0) for peer in range(1, 11)], 1)
        except ResourceError as error:
            return str(error)
        return "it was made"

    assert "transport 'zmq' cannot start:\n  open files: " in in_child(make)
