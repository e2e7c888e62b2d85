"""Runs a topology under one deployment after the other and compares what comes out with the baseline's."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from actorstream.errors import ConfigurationError, Problem, RunError
from actorstream.plan.compile import available
from actorstream.topology.conversion import shown
from actorstream.transports.registry import load_transport
from actorstream.verify.comparison import Difference, ReadLines, compare, counted
from actorstream.verify.deployments import Deployment, baseline, choose, dimensions, singles, toml_text
from actorstream.verify.hints import check_ends, order_hints, time_hints
from actorstream.verify.killed import KilledTarget
from actorstream.verify.launches import FileTarget, Ran, RunTarget
from actorstream.verify.result import Outcome, Verified
from actorstream.verify.rows import parts_of, same_bytes
from actorstream.verify.sinks import ORDERED, outputs

if TYPE_CHECKING:
    from actorstream.topology.builder import Topology
    from actorstream.topology.graph import Graph
    from actorstream.verify.deployments import Dimension
    from actorstream.verify.sinks import SinkOutput

RUNS = 12
TIMEOUT_S = 120.0
TIMEOUT_FACTOR = 20
"""A run may take so much longer than the baseline, and `TIMEOUT_S` beside."""


class Verification:
    """One verification; its parts are public for a command line that shows how it gets on.

    Args:
        target: what is run.
        workers, transports, batch_sizes, vary: what the runs may have, see `dimensions`; values that are impossible are a
            ConfigurationError if they are given, and left out if they are not.
        runs: beside the baseline.
        seed: decides which deployments are tried, and how hand-overs are delayed.
        fixed: values of `--set`: their keys stay as they are.
        skip: sinks that are not compared, and write where they always do.
        keep: a folder, new or empty, in which all files stay; else a temporary one, which stays if there is a difference.
        first: whether to stop at the first run that differs.
        timeout: seconds that a run may take.
        show: called with each outcome as it is known, and the number of runs in all.
    """

    def __init__(
        self,
        target: RunTarget,
        *,
        workers: Sequence[int] | None = None,
        transports: Sequence[str] | None = None,
        batch_sizes: Sequence[int] | None = None,
        vary: Mapping[str, Sequence[Any]] | None = None,
        runs: int = RUNS,
        seed: int = 0,
        fixed: Sequence[str] = (),
        skip: Collection[str] = (),
        keep: str | Path | None = None,
        first: bool = False,
        timeout: float | None = None,
        show: Callable[[Outcome, int], None] | None = None,
        begin: Callable[[Deployment, int], None] | None = None,
    ) -> None:
        self.target = target
        self.asked = {"workers": workers, "transports": transports, "batch_sizes": batch_sizes}
        self.vary = vary
        self.runs, self.seed, self.skip = runs, seed, skip
        self.fixed = [each.partition("=")[0].strip() for each in fixed]
        self.keep, self.first, self.timeout = None if keep is None else Path(keep), first, timeout
        self.show = show or (lambda outcome, runs: None)
        self.begin = begin or (lambda deployment, runs: None)

    def run(self) -> Verified:
        """All runs. ConfigurationError if the input is wrong, RunError if the baseline itself fails."""
        _check_counts(self.runs, self.asked)
        _check_values(self.vary or {})
        graph = self.target.graph(baseline(self._dimensions()))
        check_ends(graph)
        memory, no_console = self.target.memory, self.target.no_console
        found, notes, problems = outputs(graph, memory=memory, no_console=no_console, skip=self.skip)
        if not found and not problems:
            problems = [Problem("actors", "no sink leaves anything to compare", "csv-sink, jsonl-sink, …")]
        if problems:
            raise ConfigurationError(problems)
        for name in self.asked["transports"] or ():
            load_transport(str(name))  # NotInstalledError: what is missing is no difference
        start = baseline(self._dimensions(graph))
        graph = self.target.graph(start)
        folder = self._folder()
        leave = self.keep is not None
        try:
            self.begin(start, self.runs)
            place = folder / "baseline"
            ran = self.target.run(start, found, place, self.timeout or 3600.0)
            if ran.error is not None:
                raise RunError(f"the baseline (one worker) fails: {ran.error}")
            result = Verified(
                graph.name,
                start,
                self.target.command(start, found, place),
                ran.seconds,
                found,
                _counted(found, ran),
                self.seed,
                notes=notes,
                hints=order_hints(graph),
                time_hints=time_hints(graph),
                files=tuple(ran.files.values()),
            )
            among = self._possible(self._dimensions(graph, ran.busiest))
            chosen = choose(among, self.runs, self.seed, rows=ran.busiest, possible=self._is_possible)
            for deployment in chosen:
                self._try(deployment, result, found, folder, ran)
                if self.first and not result.same:
                    break
            leave = leave or not result.same
            return result
        finally:
            if not leave:
                shutil.rmtree(folder, ignore_errors=True)

    def _try(
        self, deployment: Deployment, result: Verified, found: list[SinkOutput], folder: Path, expected: Ran
    ) -> None:
        self.begin(deployment, self.runs)
        place = folder / str(deployment.number)
        timeout = self.timeout or TIMEOUT_S + TIMEOUT_FACTOR * expected.seconds
        ran = self.target.run(deployment, found, place, timeout)
        difference = None if ran.error is not None else first_difference(found, expected, ran)
        bad = difference is not None or ran.error is not None
        outcome = Outcome(
            deployment,
            self.target.command(deployment, found, place),
            ran.seconds,
            difference,
            ran.error,
            tuple(ran.files.values()) if (bad and result.same) or self.keep is not None else (),
        )
        if self.keep is None and not (bad and result.same):
            shutil.rmtree(place, ignore_errors=True)
        result.outcomes.append(outcome)
        self.show(outcome, self.runs)

    def _dimensions(self, graph: Graph | None = None, rows: int = 0) -> list[Dimension]:
        """In what runs differ; without a graph, as far as it is known before."""
        edges = [] if graph is None else graph.edges
        return dimensions(
            **self.asked,  # type: ignore[arg-type]
            rows=rows,
            schedules=[each for each in available().schedules if each != "none"],
            serial=any(edge.order in ORDERED for edge in edges),
            timestamp=any(edge.order == "timestamp" for edge in edges),
            vary=self.vary,
            declared={} if graph is None else declared(graph),
            fixed=self.fixed,
        )

    def _possible(self, among: list[Dimension]) -> list[Dimension]:
        """Without the choices that are impossible here. ConfigurationError if the user asked for one of them."""
        possible: dict[str, list[Any]] = {each.name: [] for each in among}
        for dimension, choice, deployment in singles(among):
            try:
                self.target.graph(deployment)
            except ConfigurationError:
                if dimension.given:
                    raise
            else:
                possible[dimension.name].append(choice)
        return [replace(each, choices=tuple(possible[each.name])) for each in among if possible[each.name]]

    def _is_possible(self, deployment: Deployment) -> bool:
        try:
            self.target.graph(deployment)
        except ConfigurationError:
            return False
        return True

    def _folder(self) -> Path:
        if self.keep is None:
            return Path(tempfile.mkdtemp(prefix="actorstream-verify-"))
        self.keep.mkdir(parents=True, exist_ok=True)
        if any(self.keep.iterdir()):
            raise ConfigurationError(
                Problem("--keep", f"{str(self.keep)!r} is not empty", "a new or an empty folder")
            )
        return self.keep


def declared(graph: Graph) -> dict[str, Sequence[Any]]:
    """Keys that say how an actor runs and not what it answers, as its contract declares in `varied` (key -> values, the
    baseline's first): for example the synchronization plan of a program, the sequential one first."""
    return {
        f"actors.{actor.name}.{key}": list(values)
        for actor in graph.actors.values()
        for key, values in actor.contract.varied.items()
    }


def first_difference(found: Sequence[SinkOutput], expected: Ran, ran: Ran) -> Difference | None:
    """The first difference of the first sink (or part) that differs. Where a sink had another number of replicas in the two
    runs, all its rows are compared together, in any order."""
    for output in found:
        if _parts(output, expected) != _parts(output, ran):
            difference = compare(output.sink, "multiset", _all_rows(output, expected), _all_rows(output, ran))
            if difference is not None:
                return difference
            continue
        for name in dict.fromkeys([*_names(output, expected), *_names(output, ran)]):
            files = expected.files.get(name), ran.files.get(name)
            if all(each is not None and each.is_file() for each in files) and same_bytes(*files):  # type: ignore[arg-type]
                continue
            difference = compare(name, output.how, expected.rows.get(name, tuple), ran.rows.get(name, tuple))
            if difference is not None:
                return difference
    return None


def _names(output: SinkOutput, ran: Ran) -> list[str]:
    """What a run calls the rows of a sink, or those of its parts."""
    return [name for name in ran.rows if name == output.sink or name.startswith(f"{output.sink}/")]


def _parts(output: SinkOutput, ran: Ran) -> list[str]:
    """What tells the parts that a sink has written from others; nothing, if it has written one file or none."""
    found = (path for name in _names(output, ran) if (path := ran.files.get(name)) is not None)
    return [part.name for path in found if path.is_dir() or output.each for part in parts_of(path)]


def _all_rows(output: SinkOutput, ran: Ran) -> ReadLines:
    """The rows of a sink, one part after the other."""
    return lambda: chain.from_iterable(ran.rows[name]() for name in _names(output, ran))


def _counted(found: Sequence[SinkOutput], ran: Ran) -> dict[str, int]:
    return {output.sink: counted(_all_rows(output, ran)()) for output in found}


def _check_counts(runs: int, asked: Mapping[str, Sequence[Any] | None]) -> None:
    problems = [] if runs >= 1 else [Problem("--runs", f"is {runs}", "a whole number of at least 1")]
    for name in ("workers", "batch_sizes"):
        for value in asked[name] or ():
            if value < 1:
                where = f"--{name.replace('_', '-')}"
                problems.append(Problem(where, f"has {value}", "whole numbers of at least 1"))
    if problems:
        raise ConfigurationError(problems)


def _check_values(vary: Mapping[str, Sequence[Any]]) -> None:
    """ConfigurationError for values that no `--set` can give."""
    problems = []
    for key, values in vary.items():
        for value in values:
            try:
                toml_text(value)
            except TypeError:
                allowed = "values that TOML has, paths and durations"
                problems.append(Problem(f"vary {key}", f"has {shown(value)}", allowed))
    if problems:
        raise ConfigurationError(problems)


def verify(
    topology: str | Path | Topology | Callable[[], Topology],
    *,
    deploy: str | Path | None = None,
    sets: Sequence[str] = (),
    kills: int = 0,
    check: bool = True,
    **options: Any,
) -> Verified:
    """Whether a topology's outputs are the same under many deployments; for tests.

    Args:
        topology: a file, which is run by the command line; or a topology built in Python, or a function that builds it,
            which runs in this process and its forks.
        deploy, sets: as for `actorstream launch`.
        kills: how many processes of each run but the baseline are killed; only of a file.
        check: whether to raise if they are not the same.
        options: those of `Verification`: workers, transports, batch_sizes, vary, runs, seed, skip, keep, first, timeout.

    Returns:
        the runs, with `same` and `difference`.

    Raises:
        NotTheSame: an AssertionError that says where they differ and how to run it again, unless `check` is false.
        ConfigurationError: the topology or an option is wrong. RunError: it fails even with one worker.
    """
    file = None if deploy is None else Path(deploy)
    target: RunTarget
    if isinstance(topology, (str, Path)) and kills > 0:
        target = KilledTarget(Path(topology), file, sets, kills, options.get("seed", 0))
    elif isinstance(topology, (str, Path)):
        target = FileTarget(Path(topology), file, sets)
    elif kills > 0:
        raise ConfigurationError(Problem("kills", f"is {kills}", "0, unless the topology is a file"))
    else:
        from actorstream.verify.built import BuiltTarget

        target = BuiltTarget(topology, file, sets)
    found = Verification(target, fixed=sets, **options).run()
    if isinstance(target, KilledTarget):
        found.notes.append(target.note)
    return found.check() if check else found
