"""Shows what a search for sustainable throughput found: a table as text, a curve as SVG (AIR figures 7, 8). Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.launch.sustain import Sustained
    from actorstream.launch.sustainable import Verdict

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 420, 80, 40, 70, 330
LEGEND = {
    "held": "held",
    "failed": "not held",
    "held silent": "held, no results: how far the source was behind",
    "failed silent": "not held, no results: how far behind",
}
"""Kinds of points -> what they mean."""
LEAST_S = 1e-4
"""Of the latency axis."""
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#404040}.t{font-weight:600;font-size:15px}.u{fill:#808080}"
    "line.g{stroke:#d8d8d8}.held{fill:#4472c4}.failed{fill:#c55a11}"
    ".silent{fill:none;stroke-width:1.8}.held.silent{stroke:#4472c4}.failed.silent{stroke:#c55a11}polyline{fill:none;stroke:#4472c4;stroke-width:2}"
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
    """The 99th percentile of event-time latency (filled) against the rate that was asked for, both logarithmic. A trial
    without results is an empty square as high as the source fell behind. The dashed line is the highest rate that held."""
    trials = sorted(found.trials, key=lambda trial: trial.rate)
    if found.best is not None and found.best not in trials:
        trials = sorted([*trials, found.best], key=lambda trial: trial.rate)
    if not trials:
        raise ValueError("no trial to draw")
    rates = [trial.rate for trial in trials]
    heights = [max(_height(trial), LEAST_S) for trial in trials]
    across = _axis(rates, LEFT, WIDTH - RIGHT)
    up = _axis([LEAST_S, 10.0 ** math.ceil(math.log10(max(heights)) + 1e-9)], BOTTOM, TOP)
    parts = [
        _text(16, 24, f"{found.topology}: sustainable throughput", "t"),
        _text(16, TOP - 14, "event-time latency, p99", "u"),
        _text(WIDTH - RIGHT, BOTTOM + 40, f"offered rate, rows/s of {found.source}", "u", "end"),
    ]
    for second in _decades(LEAST_S, max(heights)):
        y = up(second)
        parts.append(f'<line class="g" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 8, y + 4, duration(second), "u", "end"))
    parts += [_text(across(rate), BOTTOM + 20, short(rate), "u", "middle") for rate in _spread(rates, across)]
    if found.best is not None:
        parts += _best(found.best, across)
    curve = " ".join(
        f"{across(trial.rate):.1f},{up(max(_height(trial), LEAST_S)):.1f}" for trial in _curve(trials)
    )
    parts.append(f'<polyline points="{curve}"/>')
    kinds = []
    for trial, high in zip(trials, heights):
        kinds.append(_kind(trial))
        height = "" if math.isnan(trial.latency_p99_s) else f", p99 {duration(trial.latency_p99_s)}"
        label = f"{trial.rate:,.0f}/s: {trial.reason or 'held'}{height}"
        parts.append(_mark(kinds[-1], across(trial.rate), up(high), label))
    parts += _legend([kind for kind in LEGEND if kind in kinds])
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


def _kind(trial: Verdict) -> str:
    return ("held" if trial.holds else "failed") + (" silent" if math.isnan(trial.latency_p99_s) else "")


def _curve(trials: Sequence[Verdict]) -> list[Verdict]:
    """Of each rate the trial with results that counts: the one that held, else the last."""
    found: dict[float, Verdict] = {}
    for trial in trials:
        if not math.isnan(trial.latency_p99_s) and not (trial.rate in found and found[trial.rate].holds):
            found[trial.rate] = trial
    return list(found.values())


def _mark(kind: str, x: float, y: float, label: str = "") -> str:
    """A point: round with a latency, an empty square without."""
    title = f"<title>{escape(label)}</title>" if label else ""
    if "silent" in kind:
        return f'<rect class="{kind}" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8">{title}</rect>'
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4.5">{title}</circle>'


def _best(best: Verdict, across: _axis) -> list[str]:
    """The line at the highest rate that held, and what it is."""
    x = across(best.rate)
    latency = "" if math.isnan(best.latency_p99_s) else f", p99 {duration(best.latency_p99_s)}"
    words = f"{short(best.rate)}/s held{latency}"
    side = ("end", x - 8) if x > (LEFT + WIDTH) / 2 else ("start", x + 8)
    return [
        f'<line class="best" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM}"/>',
        _text(side[1], TOP + 14, words, "", side[0]),
    ]


def _legend(kinds: Sequence[str]) -> list[str]:
    """What the marks mean that are there, in one row below the axis."""
    parts, x = [], float(LEFT)
    for kind in kinds:
        parts += [_mark(kind, x, HEIGHT - 18), _text(x + 10, HEIGHT - 14, LEGEND[kind], "u")]
        x += 30 + 6.6 * len(LEGEND[kind])
    return parts


def short(rate: float) -> str:
    """A rate in three digits: 12.3 M."""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= factor:
            return f"{rate / factor:.3g} {unit}"
    return f"{rate:.3g}"


def _height(trial: Verdict) -> float:
    return trial.backlog_s if math.isnan(trial.latency_p99_s) else trial.latency_p99_s


class _axis:
    """Places values between two pixels, logarithmically."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.low, self.begin, self.length = min(values), begin, end - begin
        self.span = math.log(max(values) / self.low) or 1.0

    def __call__(self, value: float) -> float:
        return self.begin + self.length * math.log(value / self.low) / self.span


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten from `low` to the first that is not below `high`."""
    return [10.0**power for power in range(round(math.log10(low)), math.ceil(math.log10(high) + 1e-9) + 1)]


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
