"""Suite, Probe, Case and Settings: what a suite file declares and the harness runs. No measuring here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

PAIRED = "-paired"
"""Ends the name of a figure that is the median of the ratios of a case's rounds."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line asks of every suite."""

    quick: bool = False
    peers: tuple[str, ...] = ()

    def scale(self, full: int, quick: int) -> int:
        """The size of a run: `full`, or `quick` under --quick."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Case:
    """A named figure. `against` names the case of the same suite that its ratio divides by. `paired`: beside the ratio of
    the medians, the median of the rounds' ratios is a figure too, NAME-paired."""

    name: str
    unit: str
    against: str | None = None
    paired: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """One program to run; a run gives one value for each of its cases, in their order."""

    cases: tuple[Case, ...]
    run: Callable[[], Sequence[float]]
    peer: str | None = None
    """The peer that it measures; its time is not charged to the suite's."""
    rounds: int | None = None
    """It takes part in so many rounds, the first ones, also where these take longer than a suite may; in all of them unless
    said."""
    needs: tuple[str, ...] = ()
    """Cases of probes before it, whose runs it uses."""


@dataclass(frozen=True, slots=True)
class Suite:
    """The probes of a suite, in the order in which each round runs them: compared ones side by side."""

    name: str
    probes: tuple[Probe, ...]
    notes: tuple[str | Callable[[], str], ...] = ()
    """Lines printed beside the figures; what has to be measured for one is measured after the last round."""
    curves: Callable[[], Sequence[Curve]] | None = None
    """What to draw as lines, called after the last round."""
    summary: Callable[[Mapping[str, float]], Sequence[str]] | None = None
    """Lines to print beside the figures, made of the median of each case."""
    pictures: Callable[[Mapping[str, float]], Mapping[str, str]] | None = None
    """Further SVG files, name -> text, made of the median of each case."""

    def only(self, patterns: Sequence[str]) -> Suite:
        """The probes that have a case one of the patterns (of fnmatch) fits, and those these need or are compared with. Nothing
        is made of all cases together then: no curves, no summary, no pictures. Without probes if no case fits."""
        wanted = {
            case.name
            for probe in self.probes
            for case in probe.cases
            if any(fnmatchcase(case.name, pattern) for pattern in patterns)
        }
        while True:
            kept = tuple(probe for probe in self.probes if any(case.name in wanted for case in probe.cases))
            needed = {case.against for probe in kept for case in probe.cases if case.against is not None}
            needed.update(name for probe in kept for name in probe.needs)
            if needed <= wanted:
                return replace(self, probes=kept, curves=None, summary=None, pictures=None)
            wanted |= needed


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a plot: a value (`unit`) at each place `x` (labelled `axis`, drawn on a logarithmic
    scale)."""

    name: str
    axis: str
    unit: str
    points: tuple[tuple[float, float], ...] = field(default=())


def probe(
    case: str,
    unit: str,
    run: Callable[[], float],
    *,
    against: str | None = None,
    paired: bool = False,
    peer: str | None = None,
) -> Probe:
    """A probe of a single case."""
    return Probe((Case(case, unit, against, paired),), lambda: (run(),), peer)
