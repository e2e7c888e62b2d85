"""The seeded cases of the differential tests: one number gives everything that a run compares, and repeats it.

A subject is a module with `CASES` and `check(seed)`: one topology that computes `CASES` cases at once. A case is one
expression over a table, one window query over a stream, one join, one ordered dataflow, one program, or one round trip
of a file. `check` raises `Difference` where the engine and the oracle do not agree."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SHOWN = 5
"""So many rows that differ are shown."""


@dataclass(frozen=True)
class Subject:
    """How many seeds of a subject the normal test run and the slow one take."""

    module: str
    cases: int
    normal: int
    slow: int


SUBJECTS = {
    "expressions": Subject("tests.differential.test_expressions", 20, 3, 450),
    "windows": Subject("tests.differential.test_windows", 6, 4, 600),
    "joins": Subject("tests.differential.test_joins", 6, 4, 700),
    "files": Subject("tests.differential.test_files", 4, 4, 400),
    "orders": Subject("tests.differential.test_orders", 1, 3, 1200),
    "programs": Subject("tests.differential.test_programs", 1, 2, 800),
}


class Difference(AssertionError):
    """The engine's result is not the oracle's. The text says the case, the deployment, and how to repeat it."""


def difference(subject: str, seed: int, case: Any, **said: Any) -> Difference:
    lines = [f"{subject}, seed {seed}: {case}"]
    lines += [f"  {name}: {value}" for name, value in said.items()]
    lines.append(f"  repeat: .venv/bin/python -m tests.differential {subject} {seed}")
    return Difference("\n".join(lines))


def deployment(dice: random.Random, shm: float = 0.06) -> dict[str, Any]:
    """A random deployment. shm: how often it has processes, which take longer to start."""
    deploy: dict[str, Any] = {
        "transport": "local",
        "workers": dice.choice([1, 1, 2, 3]),
        "batch_size": dice.choice([1, 2, 7, 4096]),
        "pre_aggregation": dice.random() < 0.5,
        "pipelining": dice.random() < 0.7,
        "placement": dice.choice(["spread", "spread", "round-robin"]),
    }
    if dice.random() < shm:
        deploy |= {"transport": "shm", "workers": 2}
    if dice.random() < 0.15:
        deploy |= {"schedule": dice.choice(["ct", "lp", "et", "qst"]), "threads": dice.randint(0, 2)}
    return deploy


def differing(found: Iterable[str], wanted: Iterable[str]) -> dict[str, Any] | None:
    """What only one of two multisets of shown rows has; None: they are equal."""
    one, other = Counter(found), Counter(wanted)
    if one == other:
        return None
    missing, extra = sorted((other - one).elements()), sorted((one - other).elements())
    return {"missing": missing[:SHOWN], "extra": extra[:SHOWN], "differing": len(missing) + len(extra)}
