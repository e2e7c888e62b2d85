"""Suite, Probe, Case and Settings: what a suite file declares and the harness runs. No measuring here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line asks of every suite."""

    quick: bool = False
    peers: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The time a suite may take without its peers."""
        return 25.0 if self.quick else 150.0

    def scale(self, full: int, quick: int) -> int:
        """The size of a run: `full`, or `quick` under --quick."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Case:
    """A named figure. `against` names the case of the same suite that its ratio divides by."""

    name: str
    unit: str
    against: str | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """One program to run; a run gives one value for each of its cases, in their order."""

    cases: tuple[Case, ...]
    run: Callable[[], Sequence[float]]
    peer: str | None = None
    """The peer that it measures; its time is not charged to the suite's."""
    rounds: int | None = None
    """It takes part in so many rounds, the first ones; in all of them unless said."""


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


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a plot: a value (`unit`) at each place `x` (labelled `axis`, drawn on a logarithmic
    scale)."""

    name: str
    axis: str
    unit: str
    points: tuple[tuple[float, float], ...] = field(default=())


def probe(
    case: str, unit: str, run: Callable[[], float], *, against: str | None = None, peer: str | None = None
) -> Probe:
    """A probe of a single case."""
    return Probe((Case(case, unit, against),), lambda: (run(),), peer)
