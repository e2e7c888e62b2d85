"""What a verification has found: each run beside the baseline, as text, table and JSON. Runs nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict

from actorstream.topology.toml_value import plain
from actorstream.verify.comparison import Difference
from actorstream.verify.deployments import Deployment, toml_text
from actorstream.verify.sinks import SinkOutput


class NotTheSame(AssertionError):
    """A topology's output differs under some deployment. `result` says where."""

    def __init__(self, result: Verified) -> None:
        super().__init__("\n" + "\n".join([*result.table(), *result.conclusion()]))
        self.result = result


class Outcome(msgspec.Struct, frozen=True):
    """One run beside the baseline.

    Attributes:
        command: runs it again: a command line, or a call in Python.
        difference: the first, of the first sink that differs.
        error: what the run said if it failed, or did not end.
        files: of the sinks, where they were kept.
    """

    deployment: Deployment
    command: str
    seconds: float
    difference: Difference | None = None
    error: str | None = None
    files: tuple[Path, ...] = ()

    @property
    def same(self) -> bool:
        return self.difference is None and self.error is None

    @property
    def verdict(self) -> str:
        if self.error is not None:
            return "FAILED"
        return "same" if self.difference is None else f"DIFFERENT: {self.difference.sink}"


class Verified(msgspec.Struct):
    """The runs of one verification; `same` if all of them gave the baseline's output."""

    topology: str
    baseline: Deployment
    command: str
    seconds: float
    outputs: list[SinkOutput]
    rows: dict[str, int]
    """Sink -> rows of the baseline."""
    seed: int
    outcomes: list[Outcome] = []
    notes: list[str] = []
    hints: list[str] = []
    time_hints: list[str] = []
    files: tuple[Path, ...] = ()
    """The baseline's, where they were kept."""

    @property
    def same(self) -> bool:
        return all(outcome.same for outcome in self.outcomes)

    @property
    def failure(self) -> Outcome | None:
        """The first run that differs or has failed."""
        return next((outcome for outcome in self.outcomes if not outcome.same), None)

    @property
    def difference(self) -> Difference | None:
        """The first difference; None also where runs have failed only."""
        return next((each.difference for each in self.outcomes if each.difference is not None), None)

    def check(self) -> Verified:
        """Itself; NotTheSame (an AssertionError) if some run differs or has failed."""
        if not self.same:
            raise NotTheSame(self)
        return self

    def table(self) -> list[str]:
        """One line a run: what its deployment has, how long it took, and what came of it."""
        everything = [self.baseline, *(outcome.deployment for outcome in self.outcomes)]
        columns = dict.fromkeys(name for each in everything for name in each.chosen)
        names = [name for name in columns if any(each.cell(name) for each in everything)]
        rows = [
            ["run", *names, "s", ""],
            ["0", *(self.baseline.cell(name) for name in names), f"{self.seconds:.1f}", "baseline"],
        ]
        for each in self.outcomes:
            cells = (each.deployment.cell(name) for name in names)
            rows.append([str(each.deployment.number), *cells, f"{each.seconds:.1f}", each.verdict])
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]

    def conclusion(self) -> list[str]:
        """What it comes to, in words."""
        compared = ", ".join(
            f"{each.sink} ({self.rows[each.sink]:,} rows as a {each.how})" for each in self.outputs
        )
        failure = self.failure
        if failure is None:
            count = len(self.outcomes)
            lines = [f"{self.topology}: the same under {count} deployment{'s' * (count != 1)}: {compared}"]
        else:
            bad = sum(not each.same for each in self.outcomes)
            lines = [f"{self.topology}: {bad} of {len(self.outcomes)} runs differ; compared: {compared}"]
            lines += [f"first: run {failure.deployment.number}"]
            if failure.difference is not None:
                lines += failure.difference.lines()
            if failure.error is not None:
                lines += [f"  {line}" for line in failure.error.splitlines()]
            lines += [f"again:    {failure.command}", f"baseline: {self.command}"]
            if failure.files:
                lines += ["kept: " + " ".join(map(str, (*self.files, *failure.files)))]
        lines += [f"note: {note}" for note in self.notes]
        hints = self.time_hints if failure is None else [*self.time_hints, *self.hints]
        return lines + [f"hint: {hint}" for hint in hints]

    def as_json(self) -> dict[str, Any]:
        return {
            "topology": self.topology,
            "same": self.same,
            "seed": self.seed,
            "sinks": [
                {"sink": each.sink, "compared_as": each.how, "rows": self.rows[each.sink]}
                for each in self.outputs
            ],
            "baseline": {"settings": _json_value(self.baseline.settings()), "command": self.command},
            "runs": [
                {
                    "run": each.deployment.number,
                    "settings": _json_value(each.deployment.settings()),
                    "command": each.command,
                    "seconds": round(each.seconds, 3),
                    "same": each.same,
                    "difference": None if each.difference is None else asdict(each.difference),
                    "error": each.error,
                    "files": [str(path) for path in each.files],
                }
                for each in self.outcomes
            ],
            "notes": self.notes,
            "hints": [*self.time_hints, *self.hints],
        }


def _json_value(value: Any) -> Any:
    """A value of a deployment as JSON has it, or as the text that `--set` takes: a date, a path, `inf`."""
    value = plain(value)
    if isinstance(value, Mapping):
        return {name: _json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return toml_text(value)
    return value if isinstance(value, bool | int | float | str) else toml_text(value)
