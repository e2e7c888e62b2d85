"""What the tests of the apps with `order = "dependency"` share: inputs as streams, and what a program makes of them."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from actorstream import Batch, Event
from actorstream.dgs.program import Program
from actorstream.dgs.sequential import InputStream, run_sequentially
from tests.apps.launched import command

ROOT = Path(__file__).parents[2]
APPS = ROOT / "apps"

Row = dict[str, str]
Out = tuple[Any, ...]


def rows_of(path: Path) -> list[Row]:
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def streams(input: str, event: type[Event], rows: Iterable[Row], by: str = "") -> list[InputStream]:
    """The streams of an input: one for each value of the column `by`, in the order of the values."""
    found: dict[str, list[Event]] = {} if by else {"": []}
    for row in rows:
        made = msgspec.convert({k: v or None for k, v in row.items()}, event, strict=False)
        found.setdefault(row[by] if by else "", []).append(made)
    return [InputStream(input, events, f"{input}/{name}") for name, events in sorted(found.items())]


def outputs(program: Program, inputs: Sequence[InputStream], batches: bool) -> dict[str, list[Out]]:
    """Output of the program -> its rows, in the order in which they came."""
    found: dict[str, list[Out]] = {}
    for to, event in run_sequentially(program, inputs, batches=batches):
        found.setdefault(to, []).append(msgspec.structs.astuple(event))
    return found


def read_all(source: Any, max_rows: int, behind: Mapping[str, int] | None = None) -> dict[int, list[Event]]:
    """Partition -> the events that a source makes of it, read so many at once; only those `behind` a position."""
    source.open(source.partitions())
    if behind is not None:
        source.seek(behind)
    found: dict[int, list[Batch]] = {}
    while (batch := source.read(max_rows)) is not None:
        found.setdefault(source.origin, []).append(batch)
    return {origin: Batch.concat(batches).events() for origin, batches in sorted(found.items())}


def as_csv(columns: Sequence[str], rows: Iterable[Out], ordered: bool = False) -> list[str]:
    """Lines of a csv file with these rows, sorted after the header unless `ordered`."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    lines = out.getvalue().splitlines()
    return [",".join(columns), *(lines if ordered else sorted(lines))]


def launch(topology: Path, folder: Path, sinks: Sequence[str], *options: str) -> dict[str, list[str]]:
    """Runs an app through the command line; sink -> the lines of its file."""
    paths = [word for sink in sinks for word in ("--set", f"actors.{sink}.path={folder / sink}.csv")]
    command("launch", topology, *paths, *options)
    return {sink: (folder / f"{sink}.csv").read_text().splitlines() for sink in sinks}


def deployments(program: str) -> list[tuple[str, ...]]:
    """Options of `launch`: workers, transports, batch sizes and plans, each with each."""
    ways = [("1", "local"), ("2", "shm"), ("4", "shm")]
    return [
        (
            *("--workers", workers, "--transport", transport),
            *("--set", f"deploy.batch_size={batch_size}", "--set", f"actors.{program}.plan={plan}"),
        )
        for (workers, transport), batch_size, plan in product(
            ways, (1, 7, 4096), ("communication", "balanced", "sequential")
        )
    ]


def quick(program: str, *numbers: int) -> list[tuple[str, ...]]:
    """A few of them: by default one worker, two with small batches, and four."""
    found = deployments(program)
    return [found[number] for number in numbers or (6, 12, 22)]
