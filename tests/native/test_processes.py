"""Two ends in two processes, one of which is killed at a random moment: the other goes on, and nothing stays behind."""

from __future__ import annotations

import gc
import os
import random
import select
import signal
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from actorstream.native.arena import Arena
from actorstream.native.channel import Entry, ReceiveRing, SendRing, channel_size, lay_out_channel
from actorstream.native.doorbell import Doorbell
from actorstream.native.memory import ControlMemory, create_eventfd, create_memfd
from tests.native.unused_calls import await_empty, is_consumer_closed

PLAN, SLOTS, RETURNS, BUDGET = 5, 16, 256, 8 << 10
ENTRIES = 4000
LIMIT = 8 << 20
DATA, END = 1, 4
COMMITTED = 64  # offset of the committed index in a channel's memory, as channel.h draws it


class Stage:
    """What a launcher makes before it forks: control memory, doorbells and an arena's memfd for each sender."""

    def __init__(self, senders: int) -> None:
        bell, ring = Doorbell.size(2), channel_size(SLOTS, RETURNS, 1)
        self.memory = ControlMemory(ring + 2 * bell + 1024)
        self.ring = self.memory.reserve(ring)
        lay_out_channel(self.memory, self.ring, SLOTS, RETURNS, 1, PLAN)
        self.bells = [self.memory.reserve(bell) for _ in range(2)]
        for offset in self.bells:
            Doorbell.lay_out(self.memory, offset, 2)
        self.progress = self.memory.words(self.memory.reserve(16), 2)
        self.events = [create_eventfd() for _ in range(2)]
        self.arenas = [create_memfd(f"actorstream-test-{number}", LIMIT) for number in range(senders)]

    def bell(self, side: int) -> Doorbell:
        return Doorbell(self.memory, self.bells[side], 2, self.events[side])

    def committed(self) -> int:
        return int(self.memory.words(self.ring + COMMITTED, 1, np.uint64)[0])

    def close(self) -> None:
        self.memory.close()
        for fd in [*self.events, *self.arenas]:
            os.close(fd)


def rest(bell: Doorbell) -> None:
    """Sleeps until something rings. There is no timeout: a lost wake-up ends in the alarm of `fork`."""
    if not bell.collect() and bell.park():
        select.select([bell.eventfd], [], [])
        bell.unpark()


def await_death(sequence: int, doomed: bool) -> None:
    """Keeps who is to be killed from coming to its end before."""
    while doomed and sequence == ENTRIES - 300:
        signal.pause()


def send_all(stage: Stage, sender: int, doomed: bool = False) -> None:
    own, peer = stage.bell(0), stage.bell(1)
    ring = SendRing(stage.memory, stage.ring, plan=PLAN, budget=BUDGET, peer=peer, peer_bit=0)
    arena = Arena.create(LIMIT, sender, fd=stage.arenas[sender], commit_step=1 << 16)
    for sequence in range(stage.committed(), ENTRIES):
        ring.reap()
        block = arena.allocate(64 + sequence % 900)
        block.view()[:] = sequence % 251
        entry = Entry(kind=DATA, sequence=sequence, bytes=block.nbytes, rows=block.nbytes)
        while not ring.send(entry, block):
            rest(own)
        block.release()
        stage.progress[0] = sequence
        await_death(sequence, doomed)
    while stage.committed() == ENTRIES and not ring.send(Entry(kind=END)):
        rest(own)
    while not await_empty(ring):
        rest(own)
    ring.close()  # the consumer may have been killed with loans: they are void now
    assert arena.statistics().blocks == 0


def receive_all(stage: Stage, doomed: bool = False) -> None:
    own, peer = stage.bell(1), stage.bell(0)
    ring = ReceiveRing(stage.memory, stage.ring, plan=PLAN, peer=peer, peer_bit=1)
    arenas: dict[int, Arena] = {}
    kept: deque[tuple[int, np.ndarray]] = deque()
    expected: int | None = None
    while (fields := ring.peek()) is None or fields[2] != END:
        if fields is None:
            rest(own)
            continue
        entry = Entry._make(fields)
        assert expected in (None, entry.sequence)
        expected = entry.sequence + 1
        if entry.arena not in arenas:
            arenas[entry.arena] = Arena.map(stage.arenas[entry.arena], LIMIT, entry.arena)
        block = ring.borrow(arenas[entry.arena])
        kept.append((entry.sequence, block.view()[: entry.rows]))
        block.release()
        ring.consume()
        if len(kept) > entry.sequence % 8:
            sequence, view = kept.popleft()
            assert (view == sequence % 251).all()  # nobody has recycled it meanwhile
            del view
        stage.progress[1] = entry.sequence
        await_death(entry.sequence, doomed)
    assert expected in (None, ENTRIES)
    assert all((view == sequence % 251).all() for sequence, view in kept)
    kept.clear()
    ring.consume()
    ring.close()


def fork(body: Callable[..., None], *arguments: object) -> int:
    """Runs `body` in a child, which exits with 0 when it returns; the alarm ends what hangs."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(60)
            body(*arguments)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def kill_at(stage: Stage, pid: int, side: int, chance: random.Random) -> None:
    """Kills `pid` a random while after it has come to a random entry; then tells the other, as a launcher does."""
    goal = chance.randrange(ENTRIES - 500)
    while stage.progress[side] < goal:
        os.sched_yield()
    for _ in range(chance.randrange(2000)):
        pass
    os.kill(pid, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    stage.bell(1 - side).ring(1)


def ended_well(pid: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.fixture
def leftovers() -> Callable[[], list[str]]:
    """Answers what this process and the machine have now and did not have before."""

    def now() -> set[str]:
        gc.collect()
        maps = {line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
        files = {str(path) for path in Path("/dev/shm").glob("*actorstream*")}
        fds = {str(path) for path in Path("/proc/self/fd").iterdir()}
        return files | fds | {name for name in maps if "memfd:" in name}

    before = now()
    return lambda: sorted(now() - before)


@pytest.mark.parametrize("seed", range(12))
def test_a_killed_consumer_is_replaced_and_no_entry_is_lost_or_damaged(
    seed: int, leftovers: Callable[[], list[str]]
) -> None:
    stage = Stage(senders=1)
    producer, consumer = fork(send_all, stage, 0), fork(receive_all, stage, True)
    kill_at(stage, consumer, 1, random.Random(seed))
    consumer = fork(receive_all, stage)
    assert ended_well(consumer)
    assert ended_well(producer)
    stage.close()
    del stage
    assert not leftovers()


@pytest.mark.parametrize("seed", range(12))
def test_a_killed_producer_is_replaced_and_its_blocks_can_still_be_read(
    seed: int, leftovers: Callable[[], list[str]]
) -> None:
    stage = Stage(senders=2)
    producer, consumer = fork(send_all, stage, 0, True), fork(receive_all, stage)
    kill_at(stage, producer, 0, random.Random(seed))
    producer = fork(send_all, stage, 1)
    assert ended_well(consumer)
    assert ended_well(producer)
    stage.close()
    del stage
    assert not leftovers()


@pytest.mark.parametrize("seed", range(4))
def test_killing_both_ends_leaves_nothing_behind(seed: int, leftovers: Callable[[], list[str]]) -> None:
    stage = Stage(senders=1)
    producer, consumer = fork(send_all, stage, 0), fork(receive_all, stage, True)
    kill_at(stage, consumer, 1, random.Random(seed))
    os.kill(producer, signal.SIGKILL)
    os.waitpid(producer, 0)
    stage.close()
    del stage
    assert not leftovers()


def test_what_a_fork_copies_touches_nothing_of_its_maker() -> None:
    stage = Stage(senders=1)
    arena = Arena.create(LIMIT, 0, fd=stage.arenas[0])
    ring = SendRing(stage.memory, stage.ring, plan=PLAN, budget=BUDGET)
    receiver = ReceiveRing(stage.memory, stage.ring, plan=PLAN)
    block = arena.allocate(100)
    block.view()[:] = 7
    assert ring.send(Entry(bytes=100), block)

    def copy() -> None:
        with pytest.raises(Exception, match="another process"):
            arena.allocate(1)
        with pytest.raises(Exception, match="forked"):
            ring.send(Entry(), block)
        with pytest.raises(Exception, match="forked"):
            receiver.peek()
        ring.advance(0, 5)
        receiver.consume()
        receiver.close()
        block.release()
        ring.close()

    assert ended_well(fork(copy))
    assert receiver.frontier() == -(2**63)
    assert receiver.peek() is not None and not is_consumer_closed(ring)
    assert block.uses == 2 and (block.view() == 7).all()
    borrowed = receiver.borrow(arena)
    assert (borrowed.view() == 7).all()
    borrowed.release()
    assert ring.reap() == 1
    stage.close()
