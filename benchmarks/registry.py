"""The table of suites: one row a suite, one file in suites/ with `def suite(settings) -> Suite`."""

from __future__ import annotations

import difflib
from importlib import import_module

from benchmarks.suite import Settings, Suite

SUITES = {
    "ipc": "benchmarks.suites.ipc",
    "transport": "benchmarks.suites.transport",
    "exchange": "benchmarks.suites.exchange",
    "idle": "benchmarks.suites.idle",
    "actors": "benchmarks.suites.actors",
    "connectors": "benchmarks.suites.connectors",
    "spark": "benchmarks.suites.spark",
    "python-map": "benchmarks.suites.python_map",
    "word-count": "benchmarks.suites.word_count",
    "latency": "benchmarks.suites.latency",
    "batch-cost": "benchmarks.suites.batch_cost",
    "ysb": "benchmarks.suites.ysb",
    "ysb-star": "benchmarks.suites.ysb_star",
    "swa": "benchmarks.suites.swa",
    "batch-size": "benchmarks.suites.batch_size",
    "defaults": "benchmarks.suites.defaults",
    "ablation": "benchmarks.suites.ablation",
    "keyed": "benchmarks.suites.keyed",
    "tpcx-bb": "benchmarks.suites.tpcx_bb",
    "reorder": "benchmarks.suites.reorder",
    "hybrid": "benchmarks.suites.hybrid",
    "scalegate": "benchmarks.suites.scalegate",
    "linear-road": "benchmarks.suites.linear_road",
    "briskstream": "benchmarks.suites.briskstream",
    "order-price": "benchmarks.suites.order_price",
    "rlas": "benchmarks.suites.rlas",
    "rlas-here": "benchmarks.suites.rlas_here",
    "rlas-pairs": "benchmarks.suites.rlas_pairs",
    "dgs": "benchmarks.suites.dgs",
    "dgs-latency": "benchmarks.suites.dgs_latency",
    "dgs-studies": "benchmarks.suites.dgs_studies",
}

FOLLOWED_BY = {"dgs": ("dgs-latency", "dgs-studies"), "rlas": ("rlas-here",)}
"""Suites that are asked for with another one: parts of it that take as long as a suite may."""


class UnknownNameError(Exception):
    """A suite or peer that does not exist was asked for."""

    def __init__(self, what: str, name: str, known: list[str]) -> None:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {what} {name!r}; there are {', '.join(known)}{hint}")


def load(name: str, settings: Settings) -> Suite:
    """The suite of that name; UnknownNameError."""
    if name not in SUITES:
        raise UnknownNameError("suite", name, list(SUITES))
    found: Suite = import_module(SUITES[name]).suite(settings)
    return found


def asked_for(names: list[str]) -> list[str]:
    """The suites that these names ask for, each once, in the order that they are run."""
    found = [part for name in names for part in (name, *FOLLOWED_BY.get(name, ()))]
    return list(dict.fromkeys(found))
