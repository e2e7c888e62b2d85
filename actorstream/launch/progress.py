"""Shows on stderr how a run gets on: a live table on a terminal, plain lines otherwise. Reads counters only."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from actorstream.metrics.counters import Counter, quantiles

if TYPE_CHECKING:
    from actorstream.launch.report import Sampler
    from actorstream.plan.job import Job

PLAIN_EVERY_S = 2.0
LIVE_EVERY_S = 0.2


class Progress:
    """Called about 20 times a second; decides itself how often to show something."""

    def __init__(self, job: Job, sampler: Sampler, stream: TextIO | None = None) -> None:
        self.job, self.sampler = job, sampler
        self.stream = stream or sys.stderr
        self._live: Any = None
        self._started = monotonic()
        self._next = self._started + (LIVE_EVERY_S if self.stream.isatty() else PLAIN_EVERY_S)
        self._last: dict[str, tuple[float, int, int]] = {}

    def tick(self) -> None:
        now = monotonic()
        if now < self._next:
            return
        if self.stream.isatty():
            self._next = now + LIVE_EVERY_S
            if self._live is None:
                from rich.console import Console
                from rich.live import Live

                self._live = Live(console=Console(file=self.stream), auto_refresh=False, transient=True)
                self._live.start()
            self._live.update(self.table(now), refresh=True)
        else:
            self._next = now + PLAIN_EVERY_S
            print(self.line(now), file=self.stream, flush=True)

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def line(self, now: float) -> str:
        """One plain line: time, events of the sources, rate, and the end estimate where the input's size is known."""
        events = self.sampler.source_events()
        rate, _ = self._rate("", now, events, 0)
        return f"{now - self._started:6.1f} s  {events:,} events  {rate:,.0f}/s{self._estimate(now)}"

    def _estimate(self, now: float) -> str:
        done, total = self.sampler.progress()
        if not total:
            return ""
        share = min(done / total, 1.0)
        text = f"  {share:.0%} of {total / 1e6:,.1f} MB"
        if 0.01 < share < 1.0:
            text += f", about {(now - self._started) * (1 - share) / share:,.0f} s left"
        return text

    def _rate(self, name: str, now: float, count: int, busy: int) -> tuple[float, float]:
        before = self._last.get(name, (self._started, 0, 0))
        self._last[name] = (now, count, busy)
        span = max(now - before[0], 1e-9)
        return (count - before[1]) / span, (busy - before[2]) / span / 1e9

    def table(self, now: float) -> Any:
        """A rich table: one row an actor, with its rates, share of busy time and the latency at the sinks."""
        from rich.table import Table
        from rich.text import Text

        title = Text(f"{self.job.graph.name}: {self.line(now)}", "table.title")  # a name may have brackets
        table = Table(title=title, title_justify="left")
        table.add_column("actor", style="bold")
        for name in ("replicas", "in", "out", "in/s", "busy", "queue", "p99 ms", "dead"):
            table.add_column(name, justify="right")
        counters = self.job.counters
        rows: dict[str, list[int]] = {}
        for replica in self.job.plan.replicas:
            rows.setdefault(replica.actor, []).append(replica.id)
        for name, ids in rows.items():
            values = {counter: sum(counters.value(each, counter) for each in ids) for counter in Counter}
            moved = values[Counter.EVENTS_IN] or values[Counter.EVENTS_OUT]
            rate, busy = self._rate(name, now, moved, values[Counter.EXECUTE_NS])
            histogram = np.sum([counters.histogram(each) for each in ids], axis=0)
            p99 = quantiles(histogram, (0.99,))[0] / 1e6
            table.add_row(
                name,
                str(len(ids)),
                f"{values[Counter.EVENTS_IN]:,}",
                f"{values[Counter.EVENTS_OUT]:,}",
                f"{rate:,.0f}",
                f"{busy / len(ids):.0%}",
                f"{values[Counter.QUEUE_MAX_BYTES] / 2**20:.1f} MB",
                f"{p99:.2f}" if p99 else "",
                str(values[Counter.DEAD]) if values[Counter.DEAD] else "",
            )
        return table
