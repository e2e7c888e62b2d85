"""The workers of a plan, given scripts of frames: whenever these arrive, and whichever workers share a process, a barrier's sum
has the values before it, and what a checkpoint keeps goes on to the same sums."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from actorstream.dgs.checkpoint_state import KeptWorker, joined_state
from actorstream.dgs.deployment import ProgramDeployment
from actorstream.dgs.message_bytes import Codec
from actorstream.dgs.protocols import protocol_of
from actorstream.dgs.state_bytes import unpacked
from actorstream.events.batch import Batch
from actorstream.events.jumbo import from_bytes
from actorstream.events.schema import Schema
from actorstream.runtime.dependency.checkpoint import PlanCheckpoints
from actorstream.runtime.dependency.links import Neighbour
from actorstream.runtime.dependency.tag_lane import HeldFrame, TagLane
from actorstream.runtime.dependency.workers import PlanWorkers, TreeWorker
from actorstream.runtime.lanes import InLane
from actorstream.topology.dependency import DependencyPlan, PlannedStream, PlannedTag, PlannedTreeWorker
from actorstream.transports.base import Channel, Frame, FrameKind
from actorstream.transports.local import local_channel
from tests.conformance.frames import Promise, Scripted, mark
from tests.integration.programs import Barrier, Sum, Value, ValueBarrier
from tests.unit.runtime.dependency.test_tag_edge import Bell

PLAN = DependencyPlan(
    actor="sum",
    optimizer="",
    streams=[
        PlannedStream(name="barriers", input="barriers", partition=0),
        PlannedStream(name="values/0", input="values", partition=0),
        PlannedStream(name="values/1", input="values", partition=1),
    ],
    tags=[PlannedTag(name=name, stream=number) for number, name in enumerate(("barrier", "value", "value"))],
    workers=[
        PlannedTreeWorker(tags=[0], state="State", children=[2, 3]),
        PlannedTreeWorker(tags=[1], state="State", parent=1),
        PlannedTreeWorker(tags=[2], state="State", parent=1),
    ],
)
"""Tag n is on stream n, and worker n + 1 is responsible for it."""
SCHEMAS = {"barriers": Schema.of(Barrier), "values": Schema.of(Value)}
TOGETHER = pytest.mark.parametrize("processes", [[[1, 2, 3]], [[1, 2], [3]], [[1], [2], [3]]], ids=str)
SEEDS = pytest.mark.parametrize("seed", range(25))
CHECKPOINT = 7

Streams = list[list[Any]]
Script = list[Frame | Promise]


def streams_of(dice: random.Random) -> Streams:
    """Events of each stream, many of them at one time."""
    times = [sorted(dice.randrange(30) for _ in range(count)) for count in (6, 30, 30)]
    return [
        [Barrier(time) for time in times[0]],
        *([Value(time, dice.randrange(1, 100)) for time in each] for each in times[1:]),
    ]


def sums(state: Any, streams: Streams) -> list[Sum]:
    """What the sequential program puts out from a state on."""
    program, found = ValueBarrier(), []
    in_order = [
        (event.ts, rank, at) for rank, events in enumerate(streams) for at, event in enumerate(events)
    ]
    for _, rank, at in sorted(in_order):
        event = streams[rank][at]
        out = program.update(state, event, None)  # type: ignore[arg-type]
        found += [] if out is None else [out]
    return found


def script_of(dice: random.Random, tag: int, events: list[Any], at: int | None) -> Script:
    """A stream as frames of some events each, promises between them, a barrier behind the first `at` events, and the end."""
    script: Script = []
    for part in [events] if at is None else [events[:at], events[at:]]:
        while part:
            count = dice.randint(1, 4)
            some, part = part[:count], part[count:]
            if dice.random() < 0.5:
                script.append(Promise(0, some[0].ts))
            script.append(
                Frame(FrameKind.DATA, Batch.of_events(type(some[0]), some), rows=len(some), serial=tag)
            )
            script.append(Promise(0, some[-1].ts))
        if at is not None and not any(_is_mark(each) for each in script):
            script.append(mark(FrameKind.BARRIER, CHECKPOINT))
    return [*script, mark(FrameKind.END)]


def _is_mark(item: Frame | Promise) -> bool:
    return isinstance(item, Frame) and item.kind != FrameKind.DATA


class StandIn:
    """A replica, as far as the workers of a plan and their checkpoints use it."""

    def __init__(self, number: int, dispatch: Callable[[], None]) -> None:
        self.name, self.number, self.dispatch = "sum", number, dispatch
        self.row: Counter[int] = Counter()


class DirectCalls:
    """Calls the program, and sends what it puts out once that is handed on."""

    def __init__(self, number: int, deployment: ProgramDeployment, out: list[Sum]) -> None:
        self.program, self.deployment, self.out = ValueBarrier(), deployment, out
        self.predicates = deployment.predicates(number)
        self.waiting: list[Sum] = []
        self.finished: list[Any] = []
        self.replica = StandIn(number, self.hand_on)

    def update(self, state: Any, tag: int, item: HeldFrame, first: int, last: int) -> Any:
        for event in item.events(first, last):
            found = self.program.update(state, event, self.deployment.tags[tag].tag)
            self.waiting += [] if found is None else [found]
        item.finished(last - first)
        return state

    def join(self, left: Any, right: Any) -> Any:
        return self.program.join(left, right)

    def fork(self, state: Any) -> tuple[Any, Any]:
        assert self.predicates is not None
        return self.program.fork(state, *self.predicates)

    def finish(self, state: Any) -> None:
        self.finished.append(state)

    def hand_on(self) -> None:
        self.out += self.waiting
        self.waiting.clear()


class Process:
    """The workers of the plan in one process, as a unit runs them; it stands for that unit and its worker process, too."""

    def __init__(self, numbers: list[int], deployment: ProgramDeployment, out: list[Sum]) -> None:
        workers = []
        for number in numbers:
            calls: Any = DirectCalls(number, deployment, out)
            protocol = protocol_of(deployment, number, calls, placed=(), adding=False)
            workers.append(TreeWorker(number, calls, protocol))
        self.plan = PlanWorkers(workers, deployment.tree)
        self.workers = self.plan.workers
        self.barrier, self.members = 0, [each.replica for each in self.workers]
        self.worker = SimpleNamespace(barriers=self)
        self.kept: dict[int, KeptWorker] = {}
        self.sent_before: int | None = None
        """Sums that all processes had sent when the cut was made here."""
        self.out = out
        unit: Any = self
        self.checkpoints = self.plan.checkpoints = PlanCheckpoints(unit, self.workers, deployment, SCHEMAS)

    def snapshot(self, replica: Any, barrier: int, kept: KeptWorker) -> None:
        assert barrier == CHECKPOINT and replica.number not in self.kept
        self.kept[replica.number] = kept

    def control(self, kind: FrameKind, barrier: int) -> None:
        assert (kind, barrier, self.sent_before) == (FrameKind.BARRIER, CHECKPOINT, None)
        self.sent_before = len(self.out)

    def turn(self, dice: random.Random) -> None:
        plan = self.plan
        for each in self.workers:
            plan.take_rows(each)
            plan.take_messages(each)
        if self.checkpoints.cuts:
            self.checkpoints.complete()
        while plan.queue and dice.random() < 0.9:
            each = plan.queue.pop()
            each.queued = False
            more = each.protocol.run(dice.randint(1, 3))
            if more:
                plan.enqueue(each)
            plan.deliver(each, more=more)
        for each in self.workers:
            for neighbour in each.neighbours:
                if dice.random() < 0.7:  # else the link is full
                    neighbour.flush()
        plan.put_out()
        plan.give_back()


class Run:
    """The plan on some processes, with a channel for each stream."""

    def __init__(self, processes: list[list[int]], scripts: list[Script], dice: random.Random) -> None:
        self.deployment = ProgramDeployment(ValueBarrier(), PLAN)
        self.dice = dice
        self.out: list[Sum] = []
        self.processes = [Process(numbers, self.deployment, self.out) for numbers in processes]
        home = {number: each for each in self.processes for number in each.plan.by_number}
        self.channels = [Scripted(script) for script in scripts]
        for tag, channel in enumerate(self.channels):
            process = home[tag + 1]
            name = self.deployment.streams[tag].input
            process.plan.by_number[tag + 1].lanes.append(
                TagLane(
                    InLane(0, name, channel, lambda frame: frame.payload),
                    {0: [tag]},
                    positioned=False,
                    checkpoints=process.checkpoints,
                )
            )
        for child in (2, 3):
            if home[child] is not home[1]:
                self._link(home[1], home[child], child)
        home[1].plan.by_number[1].protocol.start(ValueBarrier.State())

    def _link(self, above: Process, below: Process, child: int) -> None:
        """Makes the root and a child of it neighbours."""
        channel = Channel(0, 0, 0, 0, 1, slots=1, budget=1 << 12)
        (down, at_child), (up, at_root) = (local_channel(channel, Bell(), Bell()) for _ in range(2))
        one = Neighbour(child - 2, down, at_root, Codec(ValueBarrier.State, "sum", above.plan.clock))
        other = Neighbour(-1, up, at_child, Codec(ValueBarrier.State, "sum", below.plan.clock))
        above.plan.by_number[1].add(one)
        below.plan.by_number[child].add(other)

    def to_the_end(self) -> None:
        """Frames arrive by and by, and processes take turns, until all workers are done."""
        for _ in range(10_000):
            left = [channel for channel in self.channels if channel.script]
            if left and self.dice.random() < 0.5:
                self.dice.choice(left).arrive(self.dice.randint(1, 3))
            self.dice.choice(self.processes).turn(self.dice)
            if all(each.plan.done for each in self.processes):
                return
        raise AssertionError("the workers have not come to their end")


@TOGETHER
@SEEDS
def test_a_barrier_has_the_values_before_it_whenever_frames_arrive(
    processes: list[list[int]], seed: int
) -> None:
    dice = random.Random(seed)
    streams = streams_of(dice)
    run = Run(processes, [script_of(dice, tag, events, None) for tag, events in enumerate(streams)], dice)
    run.to_the_end()
    assert run.out == sums(ValueBarrier.State(), streams)
    assert not any(channel.frames for channel in run.channels), "all room went back to the sources"
    root: Any = run.processes[0].workers[0].calls
    after = [value.value for events in streams[1:] for value in events if value.ts >= streams[0][-1].ts]
    assert root.finished == [ValueBarrier.State(sum(after), len(after))]


@TOGETHER
@SEEDS
def test_a_program_goes_on_from_what_was_kept_to_the_same_sums(processes: list[list[int]], seed: int) -> None:
    dice = random.Random(seed)
    streams = streams_of(dice)
    cuts = [dice.randint(0, len(events)) for events in streams]
    scripts = [script_of(dice, tag, events, cuts[tag]) for tag, events in enumerate(streams)]
    run = Run(processes, scripts, dice)
    run.to_the_end()
    whole = sums(ValueBarrier.State(), streams)
    assert run.out == whole, "the checkpoint changes nothing"
    kept = {number: each for process in run.processes for number, each in process.kept.items()}
    assert sorted(kept) == [1, 2, 3]
    states = {number: state for each in kept.values() for number, state in each.states.items()}
    left = [_kept_events(kept, tag) + streams[tag][cuts[tag] :] for tag in range(3)]
    before = run.processes[0].sent_before  # of the root, which puts all sums out
    assert whole[:before] + sums(joined_state(run.deployment, states, unpacked), left) == whole


def _kept_events(kept: dict[int, KeptWorker], tag: int) -> list[Any]:
    """Events of a tag that were before the barrier on their channel and not processed before the cut."""
    name = PLAN.streams[tag].input
    found = []
    for rows in kept[tag + 1].rows:
        batch = Batch.from_jumbo(SCHEMAS[name], from_bytes(rows.rows))
        assert np.array_equal(batch.event_times(), sorted(batch.event_times()))  # type: ignore[arg-type]
        found += batch.events()
    return found
