"""`actorstream sustain`: the highest rate of a source that a topology keeps up with. Parses and shows; `launch.sustain`
searches."""

from __future__ import annotations

import json
import math
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from actorstream.launch.sustainable import Verdict


def sustain(
    topology: Path,
    /,
    *,
    source: str | None = None,
    deploy: Path | None = None,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    workers: int | None = None,
    transport: str | None = None,
    seconds: float = 5.0,
    confirm: float = 20.0,
    start: float | None = None,
    precision: float = 0.05,
    latency: str | None = None,
    svg: Path | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Find the highest rate of a source that the topology keeps up with (AIR section 5.2).

    Runs the topology at one rate after the other, each time from the beginning of its input, and raises the rate until
    event-time latency or the source's backlog keeps growing; then narrows it down, and confirms it in a longer run.
    Sinks write their files each time. Exit status: 0 found, 1 no rate held or a run failed, 2 the input is wrong, 130
    interrupted.

    Parameters
    ----------
    topology
        The topology file (TOML).
    source
        The source whose rate is varied; needed only if there are several.
    deploy
        The deployment file (TOML).
    set
        Overrides one key: actors.ACTOR.KEY=VALUE or deploy.KEY=VALUE; may be given several times.
    workers
        Worker processes; short for --set deploy.workers=N.
    transport
        How bytes move between them; short for --set deploy.transport=T.
    seconds
        How long each rate is tried: 1 or more.
    confirm
        How long the rate that was found is run at last, 1 or more; its latency is the one reported.
    start
        The first rate, rows/s, above 0; a quarter of what comes without a rate unless set.
    precision
        How near the answer must be to a rate that does not hold, as a share of it: between 0 and 1.
    latency
        A rate holds only if the 99th percentile of event-time latency stays below this duration, such as "100ms".
    svg
        Draws latency against rate into this file.
    json_
        Prints what was found as one JSON object; the table goes to stderr.
    """
    from actorstream.cli.output_file import check_output, write_output
    from actorstream.launch.sustain import Sustain
    from actorstream.launch.sustain_curve import COLUMNS, beginning, conclusion, hint, line
    from actorstream.launch.sustain_curve import svg as drawn

    out = sys.stderr if json_ else sys.stdout
    if svg is not None:
        check_output(svg, "--svg")

    def show(verdict: Verdict, last: bool) -> None:
        print(line(verdict) + ("  (confirming)" if last else ""), file=out, flush=True)

    search = Sustain(
        topology,
        deploy,
        set or [],
        source=source,
        seconds=seconds,
        confirm_s=confirm,
        start=start,
        precision=precision,
        limit_s=limit_of(latency),
        show=show,
        show_unlimited=lambda rate: print(
            beginning(rate, search.source), COLUMNS, sep="\n", file=out, flush=True
        ),
        workers=workers,
        transport=transport,
    )
    if start is not None:
        print(COLUMNS, file=out, flush=True)
    found = search.run()
    print(conclusion(found), file=out)
    if hint(found):
        print(hint(found), file=out)
    if svg is not None:
        write_output(svg, drawn(found), "--svg")
        print(f"wrote {svg}", file=sys.stderr)
    if json_:
        print(json.dumps(found.as_json(), indent=2))
    return 0 if found.best is not None else 1


def limit_of(text: str | None) -> float:
    """Seconds of a duration; without end for None. ConfigurationError if it is none."""
    from actorstream.errors import ConfigurationError, Problem
    from actorstream.topology.quantities import DURATION_ALLOWED, parse_duration

    if text is None:
        return math.inf
    try:
        found: timedelta = parse_duration(text)
    except ValueError:
        raise ConfigurationError(Problem("--latency", f"is {text!r}", DURATION_ALLOWED)) from None
    return found.total_seconds()
