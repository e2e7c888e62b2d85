"""`actorstream profile`: what the operators of a topology cost on this machine. Parses and shows; `profiling` measures."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

if TYPE_CHECKING:
    from actorstream.placement.rlas import Profile


def profile(
    topology: Path,
    /,
    *,
    deploy: Path | None = None,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    batch_size: Annotated[list[int] | None, Parameter(negative=())] = None,
    rows: int = 200_000,
    seconds: float = 0.5,
    out: Path | None = None,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Measure what each operator of a topology costs, for `placement = "rlas"` (briskstream-rlas section 3.1).

    Each operator, and each chain of operators that call each other directly, runs alone on a core, fed with what its
    upstream operators make of the topology's own input. Sinks write into a temporary folder. Exit status: 0 done, 1 an
    operator failed, 2 the input is wrong, 130 interrupted.

    Parameters
    ----------
    topology
        The topology file (TOML).
    deploy
        The deployment file (TOML); its placement and workers are not used.
    set
        Overrides one key: actors.ACTOR.KEY=VALUE or deploy.KEY=VALUE; may be given several times.
    batch_size
        Rows of the jumbo tuples that operators are fed with; may be given several times: 64, 1024 and 16384 unless set.
    rows
        Rows of the sample of each stream.
    seconds
        Processor time of each measurement.
    out
        Writes the profile to this file, as TOML, and prints a table; else the TOML is printed.
    quiet
        Shows no progress.
    json_
        Prints the profile as one JSON object.
    """
    from actorstream.cli.output_file import check_output, write_output
    from actorstream.errors import ConfigurationError, Problem
    from actorstream.native.cpus import clock_hertz
    from actorstream.placement.rlas import profile_text
    from actorstream.plan.compile import available
    from actorstream.plan.preaggregate import pre_aggregated
    from actorstream.plan.registry import registry
    from actorstream.profiling.profiler import BATCH_SIZES, Profiler
    from actorstream.topology.inputs import read_inputs

    sizes = batch_size or list(BATCH_SIZES)
    wrong = [
        Problem(name, f"is {value}", allowed)
        for name, value, allowed, right in (
            *(("--batch-size", each, "1 to 16777216", 1 <= each <= 1 << 24) for each in sizes),
            ("--rows", rows, "1 to 1000000000", 1 <= rows <= 10**9),
            ("--seconds", seconds, "a number above 0, at most 3600", 0 < seconds <= 3600),
        )
        if not right
    ]
    if wrong:
        raise ConfigurationError(wrong)
    if out is not None:
        check_output(out, "--out")
    found = read_inputs(topology, deploy, set or [], registry=registry(), available=available())
    profiler = Profiler(
        pre_aggregated(found.graph, found.deploy),
        found.deploy,
        hertz=clock_hertz(),
        machine=socket.gethostname(),
        batch_sizes=sizes,
        rows=rows,
        seconds=seconds,
        tell=lambda text: None if quiet else print(text, file=sys.stderr, flush=True),
    )
    made = profiler.profile()
    for note in profiler.notes:
        print(note, file=sys.stderr)
    if out is not None:
        write_output(out, profile_text(made), "--out")
    if json_:
        print(json.dumps(msgspec.to_builtins(made), indent=2))
    elif out is not None:
        sys.stdout.write(table(made))
    else:
        sys.stdout.write(profile_text(made))
    return 0


def table(profile: Profile) -> str:
    """One line for each operator: T^e at each batch size, bytes of a row and selectivity of each output."""
    sizes = sorted(
        {each.rows for one in profile.operators.values() for each in one.batches if each.memory_bytes}
    )
    rows = [["operator", *(f"ns/row at {size}" for size in sizes), "outputs (rows per row in, bytes)"]]
    for name, each in profile.operators.items():
        costs = {batch.rows: f"{batch.execute_ns['p50']:,.1f}" for batch in each.batches}
        outputs = (f"{output} {one.selectivity:g}, {one.bytes:g}" for output, one in each.outputs.items())
        rows.append([name, *(costs.get(size, "-") for size in sizes), " · ".join(outputs)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "".join(
        "  ".join(
            cell.rjust(width) if 0 < column < len(widths) - 1 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        + "\n"
        for row in rows
    )
