"""Arena and Block as Python sees them: lifetimes, read-only views, limits."""

from __future__ import annotations

import errno
import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from actorstream.errors import BrokenError, ClosedError, ResourceError
from actorstream.native.arena import Arena
from actorstream.native.channel import Entry, ReceiveRing, SendRing, channel_size, lay_out_channel
from actorstream.native.memory import ControlMemory, create_memfd
from tests.native.unused_calls import node_of

LIMIT = 1 << 22


@pytest.fixture
def arena() -> Iterator[Arena]:
    arena = Arena.create(LIMIT, 1)
    yield arena
    arena.close()


@pytest.fixture
def lent() -> Iterator[tuple[Arena, SendRing, ReceiveRing, Arena]]:
    """An owner's arena, a channel, and a reader's mapping of the arena."""
    memory = ControlMemory(channel_size(4, 4, 1))
    lay_out_channel(memory, 0, 4, 4, 1, 0)
    fd = create_memfd("test", LIMIT)
    sender = SendRing(memory, 0, plan=0, budget=1 << 20)
    yield Arena.create(LIMIT, 7, fd=fd), sender, ReceiveRing(memory, 0, plan=0), Arena.map(fd, LIMIT, 7)
    os.close(fd)
    memory.close()


def test_a_view_holds_its_block_until_its_last_descendant_dies(arena: Arena) -> None:
    block = arena.allocate(1000)
    root = block.view()
    root[:] = 3
    block.release()
    part = root[8:808].view(np.int64)
    del root
    assert arena.statistics().blocks == 1
    assert (part == 0x0303030303030303).all()
    del part
    assert arena.statistics().blocks == 0


def test_an_arrow_buffer_over_a_view_holds_the_block(arena: Arena) -> None:
    block = arena.allocate(256)
    root = block.view()
    root[:4] = [1, 2, 3, 4]
    buffer = pa.py_buffer(root)
    array = pa.Array.from_buffers(pa.uint8(), 4, [None, buffer])
    block.release()
    del root, buffer
    assert arena.statistics().blocks == 1
    assert array.to_pylist() == [1, 2, 3, 4]
    del array
    assert arena.statistics().blocks == 0


def test_a_block_is_given_back_when_its_object_dies(arena: Arena) -> None:
    block = arena.allocate(10)
    other = block.retain()
    del block
    assert arena.statistics().blocks == 1
    del other
    assert arena.statistics().blocks == 0


def test_a_released_block_answers_with_a_typed_error(arena: Arena) -> None:
    block = arena.allocate(10)
    block.release()
    block.release()  # a second time does nothing
    for use in (block.view, block.retain, lambda: block.address, lambda: block.nbytes):
        with pytest.raises(ClosedError, match="released"):
            use()


def test_a_block_that_does_not_fit_is_refused_with_the_figures(arena: Arena) -> None:
    kept = arena.allocate(1 << 20)
    with pytest.raises(ResourceError, match=r"no block of 8388608 bytes.*limit 4194304"):
        arena.allocate(1 << 23)
    with pytest.raises(ResourceError, match="bytes are in use"):
        arena.allocate((1 << 22) - 100)
    assert kept.nbytes == 1 << 20


def test_blocks_and_views_outlive_the_arena_that_was_closed(arena: Arena) -> None:
    block = arena.allocate(100)
    view = block.view()
    block.release()
    arena.close()
    with pytest.raises(ClosedError, match="arena 1 was closed"):
        arena.allocate(1)
    view[:] = 9
    assert int(view.sum()) == 9 * len(view)


def test_memory_is_committed_in_steps_and_recycled_before_it_grows() -> None:
    arena = Arena.create(LIMIT, 1, commit_step=1 << 16)
    assert arena.statistics() == (0, 0, 0, 0, 0)
    block = arena.allocate(100)
    assert arena.statistics().committed == 1 << 16
    address = block.address
    for _ in range(1000):
        block.release()
        block = arena.allocate(100)
        assert block.address == address
    assert arena.statistics().committed == 1 << 16


def test_freed_neighbours_are_merged_before_memory_grows() -> None:
    arena = Arena.create(LIMIT, 1, commit_step=1 << 16)
    blocks = [arena.allocate(4096 - 64) for _ in range(12)]
    committed = arena.statistics().committed
    for block in blocks:
        block.release()
    large = arena.allocate(40_000)
    assert arena.statistics().committed == committed
    assert large.nbytes >= 40_000


def test_asking_for_huge_pages_works_whatever_the_kernel_grants() -> None:
    arena = Arena.create(1 << 24, 1, huge_pages=True)
    block = arena.allocate(1 << 22)
    block.view()[:] = 1
    figures = arena.statistics()
    assert figures.committed % (2 << 20) == 0
    assert 0 <= figures.huge <= figures.committed


def test_a_borrowed_block_is_read_only_for_good_and_goes_home_with_its_last_view(
    lent: tuple[Arena, SendRing, ReceiveRing, Arena],
) -> None:
    owner, sender, receiver, reader = lent
    block = owner.allocate(300)
    block.view()[:] = 5
    assert sender.send(Entry(bytes=300), block)
    block.release()
    assert receiver.peek() is not None
    borrowed = receiver.borrow(reader)
    assert (borrowed.is_own, borrowed.writable, borrowed.arena_id) == (False, False, 7)
    view = borrowed.view()
    assert (view == 5).all()
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    borrowed.release()
    receiver.consume()
    assert (sender.reap(), receiver.statistics().loans) == (0, 1)
    thread = threading.Thread(target=lambda held: None, args=(view,))
    del view
    thread.start()  # the last use ends in another thread
    thread.join()
    del thread
    assert (sender.reap(), receiver.statistics().loans) == (1, 0)
    assert owner.statistics().blocks == 0


def test_a_block_that_was_recycled_is_not_lent(lent: tuple[Arena, SendRing, ReceiveRing, Arena]) -> None:
    owner, sender, receiver, reader = lent
    block = owner.allocate(300)
    assert sender.send(Entry(bytes=300), block)
    block.release()
    sender.close()  # takes the loan back: the block is free, its generation even
    assert receiver.peek() is not None
    with pytest.raises(BrokenError, match="recycled"):
        receiver.borrow(reader)


def test_a_reader_cannot_allocate(lent: tuple[Arena, SendRing, ReceiveRing, Arena]) -> None:
    with pytest.raises(ClosedError, match="only its owner allocates"):
        lent[3].allocate(1)


def in_child(body: object) -> int:
    """Exit code of a child that runs `body`: 0 if it returned."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            body()  # type: ignore[operator]
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_too_little_address_space_is_said_and_not_fatal() -> None:
    def body() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
        with pytest.raises(ResourceError, match="doctor"):
            Arena.create(1 << 40, 1)

    assert in_child(body) == 0


def test_a_file_size_limit_is_said_and_not_fatal() -> None:
    def body() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        with pytest.raises(ResourceError, match="File too large"):
            Arena.create(1 << 30, 1, fd=os.memfd_create("limited"))

    assert in_child(body) == 0


def test_an_arena_refuses_before_the_cgroup_kills() -> None:
    own = next(
        (
            line.split(":")[2]
            for line in Path("/proc/self/cgroup").read_text().splitlines()
            if ":memory:" in line
        ),
        None,
    )
    parent = Path(f"/sys/fs/cgroup/memory{own}")
    if own is None or not os.access(parent, os.W_OK):
        pytest.skip("needs a writable v1 memory cgroup")
    group = parent / f"actorstream-test-{os.getpid()}"
    group.mkdir()

    def body() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        arena = Arena.create(1 << 30, 1, commit_step=4 << 20)
        blocks = []
        with pytest.raises(ResourceError, match="left to this process"):
            while True:
                blocks.append(arena.allocate(1 << 20))
        assert len(blocks) > 8

    try:
        (group / "memory.limit_in_bytes").write_text(str(96 << 20))
        assert in_child(body) == 0
    finally:
        group.rmdir()


def test_an_arena_takes_its_memory_from_the_node_it_is_bound_to() -> None:
    arena = Arena.create(1 << 24, 1, fd=create_memfd("bound", 1 << 24), commit_step=1 << 20)
    refused = arena.bind(0)
    block = arena.allocate(1 << 20)
    block.view()[:] = 1
    assert refused or node_of(block.address) in (0, None)


def test_a_node_that_is_not_there_is_refused_and_the_arena_goes_on() -> None:
    arena = Arena.create(1 << 24, 1)
    assert arena.bind(1023)
    assert arena.allocate(4096).nbytes >= 4096


def test_only_its_owner_binds_an_arena() -> None:
    fd = create_memfd("bound", LIMIT)
    Arena.create(LIMIT, 7, fd=fd)
    assert Arena.map(fd, LIMIT, 7).bind(0) == os.strerror(errno.EPERM)
    os.close(fd)
