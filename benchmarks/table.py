"""Prints facts and records as tables. No measuring here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from benchmarks.record import Record

if TYPE_CHECKING:
    from rich.table import Table


def facts_table(facts: dict[str, str]) -> Table:
    from rich.table import Table

    table = Table(title="machine", show_header=False, title_justify="left")
    for name, value in facts.items():
        table.add_row(name, value)
    return table


def records_table(name: str, records: Iterable[Record]) -> Table:
    from rich.table import Table

    table = Table(title=name, title_justify="left")
    table.add_column("case", no_wrap=True)
    for column in ("median", "min", "max"):
        table.add_column(column, justify="right")
    table.add_column("unit")
    table.add_column("runs", justify="right")
    table.add_column("ratio", justify="right")
    table.add_column("against", no_wrap=True)
    for record in records:
        table.add_row(
            record.case,
            *(figure(value) for value in (record.value, record.min, record.max)),
            record.unit,
            str(record.runs),
            "" if record.ratio is None else f"{record.ratio:.2f}",
            record.against or "",
        )
    return table


def figure(value: float) -> str:
    """Three or four significant digits, in millions from a million on: 12.3 M, 123,456, 4.56."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:,.4g} M" if size < 1e10 else f"{value / 1e9:,.4g} G"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
