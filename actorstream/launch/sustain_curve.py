"""Shows what a search for sustainable throughput found: a table as text, a curve as SVG (AIR figures 7, 8). Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.launch.sustain import Sustained
    from actorstream.launch.sustainable import Verdict

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 380, 80, 40, 64, 320
LEAST_S = 1e-4
"""Of the latency axis."""
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#404040}.t{font-weight:600;font-size:15px}.u{fill:#808080}"
    "line.g{stroke:#d8d8d8}.held{fill:#4472c4}.failed{fill:#c55a11}polyline{fill:none;stroke:#4472c4;stroke-width:2}"
    "line.best{stroke:#3a8f5c;stroke-width:2;stroke-dasharray:6 4}"
    "@media(prefers-color-scheme:dark){text{fill:#d0d0d0}.u{fill:#909090}line.g{stroke:#505050}}"
)
COLUMNS = f"{'rate/s':>15}  {'sent/s':>15}  {'behind':>9}  {'results':>9}  {'latency':>9}  {'p99':>9}  held"


def line(verdict: Verdict) -> str:
    """One row of the table whose head is `COLUMNS`."""
    numbers = f"{verdict.rate:15,.0f}  {verdict.achieved:15,.0f}  {duration(verdict.backlog_s):>9}"
    latencies = f"{duration(verdict.latency_mean_s):>9}  {duration(verdict.latency_p99_s):>9}"
    held = "yes" if verdict.holds else f"no: {verdict.reason}"
    return f"{numbers}  {verdict.results:9,}  {latencies}  {held}"


def beginning(unlimited: float, source: str) -> str:
    """What is known before the first trial."""
    return f"without a rate: {unlimited:,.0f} rows/s of {source}"


def hint(found: Sustained) -> str:
    """What would tell more, where trials that held had no results; "" where all had."""
    silent = sum(trial.holds and math.isnan(trial.latency_mean_s) for trial in found.trials)
    if not silent:
        return ""
    return (
        f"{silent} of {len(found.trials)} trials had no results, and were judged by how far the source fell behind alone; "
        "trials longer than the windows (--seconds), or event time that goes faster (event_rate of a generator-source), "
        "give some"
    )


def conclusion(found: Sustained) -> str:
    """What was found, in one or two lines."""
    where = f"{found.workers} worker{'s' if found.workers != 1 else ''} ({found.transport})"
    if found.best is None:
        return f"{found.topology}: no rate of {found.source} held on {where}"
    best = found.best
    latency = (
        "no results came in time to tell the latency"
        if math.isnan(best.latency_mean_s)
        else f"event-time latency {duration(best.latency_mean_s)}, p99 {duration(best.latency_p99_s)}"
    )
    return f"{found.topology}: {best.rate:,.0f} rows/s of {found.source} are sustained on {where}; {latency}"


def duration(seconds: float) -> str:
    """A duration as people read it; "" where there is none."""
    if math.isnan(seconds):
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
    return ""


def svg(found: Sustained) -> str:
    """Event-time latency against rate, both logarithmic; without results, how far the source was behind. The dashed
    line is the highest rate that held."""
    trials = sorted(found.trials, key=lambda trial: trial.rate)
    if not trials:
        raise ValueError("no trial to draw")
    rates = [trial.rate for trial in trials]
    heights = [max(_height(trial), LEAST_S) for trial in trials]
    across = _axis(rates, LEFT, WIDTH - RIGHT)
    up = _axis([LEAST_S, *heights], BOTTOM, TOP)
    parts = [
        _text(16, 24, f"{found.topology}: sustainable throughput", "t"),
        _text(16, 46, "event-time latency (where no result came: how far the source fell behind)", "u"),
        _text(WIDTH - RIGHT, HEIGHT - 12, f"rows/s of {found.source}", "u", "end"),
    ]
    for second in _decades([LEAST_S, *heights]):
        y = up(second)
        parts.append(f'<line class="g" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 8, y + 4, duration(second), "u", "end"))
    parts += [_text(across(rate), BOTTOM + 20, short(rate), "u", "middle") for rate in _spread(rates, across)]
    held = [(across(rate), up(high)) for rate, high, trial in zip(rates, heights, trials) if trial.holds]
    parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in held)}"/>')
    for rate, high, trial in zip(rates, heights, trials):
        kind = "held" if trial.holds else "failed"
        label = escape(f"{trial.rate:,.0f}/s: {trial.reason or 'held'}")
        parts.append(
            f'<circle class="{kind}" cx="{across(rate):.1f}" cy="{up(high):.1f}" r="4.5">'
            f"<title>{label}</title></circle>"
        )
    if found.best is not None:
        x = across(found.best.rate)
        parts.append(f'<line class="best" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM}"/>')
        parts.append(_text(x - 8, TOP + 12, f"{short(found.best.rate)}/s held", "", "end"))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


def short(rate: float) -> str:
    """A rate in three digits: 12.3 M."""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= factor:
            return f"{rate / factor:.3g} {unit}"
    return f"{rate:.3g}"


def _height(trial: Verdict) -> float:
    return trial.backlog_s if math.isnan(trial.latency_mean_s) else trial.latency_mean_s


class _axis:
    """Places values between two pixels, logarithmically."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.low, self.begin, self.length = min(values), begin, end - begin
        self.span = math.log(max(values) / self.low) or 1.0

    def __call__(self, value: float) -> float:
        return self.begin + self.length * math.log(value / self.low) / self.span


def _decades(values: Sequence[float]) -> list[float]:
    return [
        10.0**power for power in range(math.floor(math.log10(min(values))), 4) if 10.0**power <= max(values)
    ]


def _spread(rates: Sequence[float], across: _axis) -> list[float]:
    """Those of ascending rates whose labels have room beside each other."""
    kept: list[float] = []
    for rate in rates:
        if not kept or across(rate) - across(kept[-1]) >= 56:
            kept.append(rate)
    return kept


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{of_kind}>{escape(words)}</text>'
