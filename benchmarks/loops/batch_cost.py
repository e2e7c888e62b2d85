"""What a batch of apps/ysb costs one worker up to the first step of its aggregation: the unit's turns, and the same kernels
called from C. No channel ends, no other process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from actorstream.native._core import ffi, lib

from actorstream.plan.compile import read_job
from actorstream.runtime.build import build_units
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.worker import Worker
from benchmarks.compiled import compiled

APP = Path(__file__).parents[2] / "apps" / "ysb" / "bench.toml"
REPLICATED = ("events", "views", "campaigns", "windows", "columns")
ROUNDS = 9
ADS = 1000


def unit_of(rows: int) -> SourceUnit:
    """The unit of the source and of what it calls, of a worker that no loop runs."""
    ones = [f"actors.{name}.replicas=1" for name in REPLICATED]
    sets = [*ones, "actors.events.shards=1", f"actors.events.count={10**15}"]
    job = read_job(APP, None, sets, transport="local", workers=1, batch_size=rows)
    worker = Worker(job, 0, None, None)
    worker.units = build_units(worker)
    for replica in worker.replicas():
        replica.actor.on_start()
    unit = worker.units[0]
    assert isinstance(unit, SourceUnit)
    unit.step()
    return unit


def kernels_of(unit: SourceUnit, rows: int) -> tuple[Callable[[int], None], Any]:
    """A loop of C over so many batches, with the operators' programs, tables and panes; and what is to be kept for it."""
    module = compiled("batch")
    bare = module.ffi.new("bare_batch *")
    assert unit.chain is not None
    turn, members = unit.chain._turn._turn, unit.chain._turn._members
    work = turn.work

    def at(pointer: Any) -> int:
        return int(ffi.cast("uintptr_t", pointer))

    _, match, add = (work.steps[number] for number in range(3))
    source = ffi.cast("as_ysb_source *", turn.source.context)
    state = ffi.cast("as_chain_state *", add.what)
    functions = ("as_ysb_integers", "as_expression_run", "as_lookup_match", "as_panes_take_in")
    for field, name in zip(("generate", "filter", "match", "add"), functions):
        setattr(bare, field, at(ffi.addressof(lib, name)))
    given = {
        "numbering": ("void *", source.numbering),
        "columns": ("uint8_t *", source.columns),
        "program": ("void *", work.steps[0].what),
        "lookup": ("void *", match.what),
        "how": ("uint32_t *", match.how),
        "panes": ("void *", state.context),
        "operand": ("operand *", state.operand),
        "bounds": ("int64_t *", members[turn.members - 1].bounds),
    }
    for field, (kind, pointer) in given.items():
        setattr(bare, field, module.ffi.cast(kind, at(pointer)))
    column = ffi.addressof(work.columns, getattr(add, "in")[2])
    bare.campaign = module.ffi.cast("column *", at(column))[0]
    memory = [module.ffi.new("uint32_t[]", rows + 64) for _ in range(3)]
    bare.selected, bare.left, bare.right = memory
    bare.ads, bare.rows = ADS, rows
    made = 0

    def run(batches: int) -> None:
        nonlocal made
        if module.lib.run_batches(bare, made, batches):
            raise RuntimeError("a kernel refused a batch")
        made += rows * batches

    return run, (unit, memory)


def microseconds(run: Callable[[], float]) -> float:
    """Time of this thread's processor for each of the batches that `run` says it took."""
    begun = time.thread_time_ns()
    batches = run()
    return (time.thread_time_ns() - begun) / batches / 1000


def costs(rows: int, batches: int) -> list[float]:
    """Microseconds a batch of `rows` rows: of the kernels in a loop of C, of turns that take many batches, of turns that take
    one, and of turns by the operators' hooks. The medians of rounds in which each comes in turn."""
    bare, kept = kernels_of(unit_of(rows), rows)
    many, lone, hooks = (unit_of(rows) for _ in range(3))
    lone.worker.turn_ns = 0
    hooks.chain = None

    def kernels() -> float:
        bare(batches)
        return batches

    def turns(unit: SourceUnit, least: int) -> Callable[[], float]:
        def run() -> float:
            before, wanted = _made(unit), least * rows
            while _made(unit) - before < wanted:
                unit.step()
            return (_made(unit) - before) / rows

        return run

    few = max(batches // 20, 1)

    def alone() -> float:
        step = lone.step
        for _ in range(few):
            step()
        return few

    ways = [kernels, turns(many, batches), alone, turns(hooks, few)]
    found: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for way, values in zip(ways, found):
            values.append(microseconds(way))
    del kept
    return [median(values) for values in found]


def _made(unit: SourceUnit) -> int:
    """Rows that the source has made."""
    if unit.chain is not None:
        return unit.chain._made
    return sum(unit.source.position().values())
