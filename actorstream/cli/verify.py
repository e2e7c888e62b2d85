"""`actorstream verify`: is the output the same under many deployments? Parses and shows; `actorstream.verify` runs."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from actorstream.verify.deployments import Deployment
    from actorstream.verify.result import Outcome


def verify(
    topology: Path,
    /,
    *,
    deploy: Path | None = None,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    workers: str | None = None,
    transports: str | None = None,
    batch_sizes: str | None = None,
    vary: Annotated[list[str] | None, Parameter(negative=())] = None,
    runs: int = 12,
    seed: int = 0,
    kills: int = 0,
    skip: Annotated[list[str] | None, Parameter(negative=())] = None,
    keep: Path | None = None,
    first: Annotated[bool, Parameter(negative=())] = False,
    against: Literal["spark"] | None = None,
    timeout: float | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Run a topology under many deployments and say whether its outputs are the same.

    The first run, with one worker and transport local, is what the others are compared with: row by row where a sink's
    input has an order, as a multiset elsewhere. Sinks write into a temporary folder, never to their own paths.

    Exit status: 0 the same, 1 different (or a run failed), 2 the input is wrong, 130 interrupted.

    Parameters
    ----------
    topology
        The topology file (TOML).
    deploy
        The deployment file (TOML); verify varies its keys.
    set
        Overrides one key: actors.ACTOR.KEY=VALUE or deploy.KEY=VALUE; may be given several times. Such keys are not
        varied.
    workers
        Numbers of workers to try, such as 1,2,4.
    transports
        Transports to try, such as shm,local.
    batch_sizes
        Batch sizes to try, such as 1,64,4096; two that fit the input, and the deployment's own, unless set.
    vary
        One more key to vary, and its values, the baseline's first: actors.count.replicas=[1, 2, 4], or several keys
        together: deploy=[{schedule="none", threads=0}, {schedule="ct", threads=2}]; may be given several times.
    runs
        How many deployments to try, beside the first run.
    seed
        Another one tries other deployments and delays.
    kills
        Processes to kill in each run, one after the other, at moments drawn from the seed; after each, --resume goes on
        from the last checkpoint.
    skip
        A sink that is not compared and writes where it always does; may be given several times.
    keep
        A new folder in which the files of all runs stay.
    first
        Stops at the first run that differs.
    against
        spark: runs once, and the same logic as Spark SQL on the same rows, and compares the two (needs actorstream[spark]).
        Of the other options only --deploy, --set and --json count.
    timeout
        Seconds that a run may take; a generous multiple of the first run's unless set.
    json_
        Prints what was found as one JSON object; the table goes to stderr.
    """
    from actorstream.verify.killed import KilledTarget
    from actorstream.verify.launches import FileTarget
    from actorstream.verify.verify import Verification

    sets = set or []
    if against is not None:
        return verify_against_spark(topology, deploy, sets, json_=json_)
    begin, show, clear = progress()
    target = (
        KilledTarget(topology, deploy, sets, kills, seed) if kills > 0 else FileTarget(topology, deploy, sets)
    )
    verification = Verification(
        target,
        workers=numbers("--workers", workers),
        transports=None if transports is None else listed(transports),
        batch_sizes=numbers("--batch-sizes", batch_sizes),
        vary=dict(map(values_of, vary or [])),
        runs=runs,
        seed=seed,
        fixed=sets,
        skip=skip or [],
        keep=keep,
        first=first,
        timeout=timeout,
        show=show,
        begin=begin,
    )
    try:
        found = verification.run()
    finally:
        clear()
    if isinstance(target, KilledTarget):
        found.notes.append(target.note)
    out = sys.stderr if json_ else sys.stdout
    print("\n".join([*found.table(), "", *found.conclusion()]), file=out, flush=True)
    if json_:
        print(json.dumps(found.as_json(), indent=2))
    return 0 if found.same else 1


def verify_against_spark(topology: Path, deploy: Path | None, sets: list[str], *, json_: bool) -> int:
    """Compares a topology with the same logic in Spark SQL."""
    from dataclasses import asdict
    from importlib.util import find_spec

    from actorstream.errors import NotInstalledError

    if find_spec("pyspark") is None:
        raise NotInstalledError("--against spark", "spark")
    from actorstream.dataframes.against_spark import check_translatable, compare
    from actorstream.dataframes.topology_run import TopologyOptions
    from actorstream.spark import session

    options = TopologyOptions(str(topology), "", "", tuple(sets), str(deploy or ""), "", "")
    check_translatable(options.graph())  # before Spark takes its time to start
    print("verify: starting Spark", file=sys.stderr, flush=True)
    with session.spark_session() as spark:
        found = compare(spark, options)
    if json_:
        same = all(each.same for each in found)
        print(json.dumps({"same": same, "sinks": [asdict(each) for each in found]}, indent=2))
    for line in (line for each in found for line in each.lines()):
        print(line, file=sys.stderr if json_ else sys.stdout, flush=True)
    return 0 if all(each.same for each in found) else 1


def progress() -> tuple[
    Callable[[Deployment, int], None], Callable[[Outcome, int], None], Callable[[], None]
]:
    """Shows runs on stderr: one line for each that has ended, and on a terminal the one that is under way."""
    live = sys.stderr.isatty()

    def clear() -> None:
        if live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def begin(deployment: Deployment, runs: int) -> None:
        if live:
            clear()
            print(
                f"{numbered(deployment, runs)}  {in_words(deployment)} …", end="", file=sys.stderr, flush=True
            )

    def show(outcome: Outcome, runs: int) -> None:
        clear()
        line = f"{numbered(outcome.deployment, runs)}  {in_words(outcome.deployment)}"
        print(f"{line}: {outcome.verdict}, {outcome.seconds:.1f} s", file=sys.stderr, flush=True)

    return begin, show, clear


def numbered(deployment: Deployment, runs: int) -> str:
    """`3/12`: which run it is, of how many."""
    return f"{deployment.number:{len(str(runs))}}/{runs}"


def in_words(deployment: Deployment) -> str:
    """What a deployment has, but for what is as the deployment says."""
    cells = {name: deployment.cell(name) for name in deployment.chosen}
    return ", ".join(f"{name} {cell}" for name, cell in cells.items() if cell)


def listed(text: str) -> list[str]:
    """Parts of a list with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(option: str, text: str | None) -> list[int] | None:
    """Whole numbers of a list with commas; ConfigurationError if they are none."""
    from actorstream.errors import ConfigurationError, Problem

    if text is None:
        return None
    try:
        found = [int(part) for part in listed(text)]
    except ValueError:
        found = []
    if not found:
        raise ConfigurationError(
            Problem(option, f"is {text!r}", "whole numbers with commas between them, such as 1,2,4")
        )
    return found


def values_of(text: str) -> tuple[str, list[Any]]:
    """`KEY=[VALUE, …]` as key and values; ConfigurationError if it is none."""
    from actorstream.errors import ConfigurationError, Problem

    key, _, values = text.partition("=")
    key = key.strip()
    try:
        found = tomllib.loads(f"values = {values}")["values"]
    except tomllib.TOMLDecodeError:
        found = None
    if key.partition(".")[0] not in ("actors", "deploy") or not isinstance(found, list) or not found:
        raise ConfigurationError(
            Problem(f"--vary {text}", "is not KEY=[VALUE, …]", "such as actors.count.replicas=[1, 2, 4]")
        )
    return key, found
