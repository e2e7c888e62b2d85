"""Contract: what a class of actors declares about itself.

The planner, the runtime and `verify` ask an actor's class for it, and no class by its name. It is read before a run and
never while batches pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_type_hints

import msgspec

from actorstream.errors import ConfigurationError, Problem


@dataclass(frozen=True, kw_only=True)
class Contract:
    """The promises of a class. The defaults are safe for every class, and a class states only what differs from them.

    ConfigurationError: a value that its field cannot have.
    """

    # -- its rows

    stateless: bool = False
    """A batch may be split and parts of it processed again: nothing is kept of a batch that raised. `on_error` then finds
    the bad row."""
    order_sensitive: bool | None = None
    """Whether its rows depend on the order in which its input comes. None: unless it is stateless."""
    arrival_note: str = ""
    """`check` prints it where no order is set: it says which results depend on the order in which rows arrive, such as
    "first is up to arrival"."""
    clock_note: str = ""
    """`verify` prints it: it says which part of the output depends on the clock."""
    timely: bool | None = None
    """Whether the time at which it is told something decides where its rows stand among each other. None: if it has
    `on_timer` or `on_heartbeat`."""
    sorts: bool = False
    """The rows of one replica have an order of their own at the output `default`, however its input comes."""
    uses_event_time: bool = False
    """Every input must have an event time, and the actor is told how far it has got."""
    drops_lineage: bool = False
    """`on_batch` emits rows that descend from no single row of its input. Several replicas cannot stand before an edge in
    serial order then, unless each gets whole batches."""
    emits_in_order: bool = False
    """All that it emits descends from rows of its input and comes in their order, though it overrides `promise`: it only
    emits them later."""
    one_stream: bool = False
    """It never asks which input a row came by (`self.input`): rows of inputs of one type in one order come together."""
    emits_by_rows: bool = False
    """Rows alone let something come out, so results of one time may come in several batches."""

    keeps_by_keys: bool = False
    """Its state, or the file that it has written, follows from its keys. A run that resumes from a checkpoint must have the same
    keys then, except those in `varied` and `free_keys`."""
    free_keys: tuple[str, ...] = ()
    """Keys that may change between a run and the one that resumes it, such as credentials. No checkpoint keeps them."""

    # -- how it runs

    fusible: bool = True
    """Its only consumer may be called directly."""
    pool_limit: float = 0
    """How many kernels of one replica threads may have under way at once (ordered-multicore section 6): 0: none; 1: native
    code with a state; `math.inf`: native code without a state. A kernel is what the method `prepare` or `link` of the
    class makes of a batch (docs/scheduling.md)."""
    one_replica: bool = False
    """It makes one result of all rows that a replica gets, so another number of replicas is another output. `replicas = "auto"`
    is one, and rows go to several replicas only by a key or a route that the topology writes."""
    alone: str = ""
    """Why it can have one replica only."""
    two_steps: bool = False
    """It can aggregate before rows are sent by key: the class has `local_stage` and `second_stage`."""
    program: bool = False
    """It is a `dgs.Program`, and runs on the workers of a synchronization plan."""
    varied: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Keys that decide how it runs and not what it emits -> values that `actorstream verify` tries, the baseline's first."""

    # -- where rows come from and go to

    endless: bool = False
    """A source that has no end with these keys."""
    replicas_meet: bool = False
    """A source whose replicas share one reader of the input, so they must meet before they read (`spark/hub.py`)."""
    destination: Literal["", "caller", "console", "nowhere"] = ""
    """Where a sink's rows go: to the file that its key `path` names, back to the caller of the run, to standard output, or
    nowhere."""
    reads_rows: bool = True
    """Whether it looks at its rows. What only counts them fetches no bytes from the memory of its producers."""
    file_format: Literal["lines", "csv", "parquet"] = "lines"
    """The format of the file that a sink with a `path` writes."""

    def __post_init__(self) -> None:
        problems = []
        for name, kind in _kinds().items():
            try:
                msgspec.convert(value := getattr(self, name), kind)
            except msgspec.ValidationError as error:
                allowed = str(error).split(",")[0].removeprefix("Expected ")
                problems.append(Problem(f"contract.{name}", f"is {value!r}", allowed))
        if problems:
            raise ConfigurationError(problems)
        if self.pool_limit not in (0, 1, math.inf):
            problems.append(Problem("contract.pool_limit", f"is {self.pool_limit!r}", "0, 1 or math.inf"))
        if not all(self.varied.values()):
            problems.append(Problem("contract.varied", f"is {self.varied!r}", "values for each key"))
        if problems:
            raise ConfigurationError(problems)


@cache
def _kinds() -> dict[str, Any]:
    return get_type_hints(Contract)


MOVED = {
    "by_arrival": "arrival_note",
    "collects": "destination",
    "comes_out_by_rows": "emits_by_rows",
    "descends": "emits_in_order",
    "runs_apart": "fusible",
    **dict.fromkeys(
        ("stateless", "drops_lineage", "one_stream", "uses_event_time", "varied", "pool_limit"), ""
    ),
}
"""Attributes that a class does not have beside its contract -> the field's name, where it differs."""


def check_contract(cls: type) -> None:
    """ConfigurationError: the class body states a part of its contract in another place, or no `Contract`."""
    own = vars(cls)
    where = f"{cls.__module__}:{cls.__qualname__}"
    problems = [
        Problem(
            f"{where}.{name}",
            "is no attribute of an actor's class",
            f"contract = Contract({field_name or name}=...)",
            "where it depends on the keys of the actor's table, override the class method contract_of(keys)",
        )
        for name, field_name in MOVED.items()
        if name in own
    ]
    if "contract" in own and not isinstance(own["contract"], Contract):
        problems.append(Problem(f"{where}.contract", f"is {own['contract']!r}", "an actorstream.Contract"))
    elif cls.contract.two_steps and not (hasattr(cls, "local_stage") and hasattr(cls, "second_stage")):  # type: ignore[attr-defined]
        allowed = "class methods local_stage and second_stage beside it"
        problems.append(Problem(f"{where}.contract.two_steps", "is True", allowed))
    if problems:
        raise ConfigurationError(problems)


def has_kernel(cls: type) -> bool:
    """Whether a class has a kernel for its `on_batch`: as a job of its own, or as a step of a chain."""
    return goes_with_batches(cls, "prepare") or goes_with_batches(cls, "link")


def goes_with_batches(cls: type, method: str) -> bool:
    """Whether the class that defines `on_batch` also defines a method that does the same in another way: a subclass with
    another `on_batch` does not do what the method of its base does."""
    own: Mapping[str, Any] = next((vars(each) for each in cls.__mro__ if "on_batch" in vars(each)), {})
    return method in own
