"""Runs a topology with its native chains, and the same topology with the hooks of their members."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream.runtime.fast_paths.source_chain import SourceChain
from actorstream.topology.builder import Topology


class Ran:
    """What a run gave: rows, and the counters of each actor. `taken`: rows that C took without Python."""

    def __init__(self, topology: Topology, out: list[Any], **deploy: Any) -> None:
        taken = []
        with pytest.MonkeyPatch.context() as patch:
            turn, take = SourceChain.turn, SourceChain.take
            patch.setattr(SourceChain, "turn", lambda *given: taken.append(turn(*given)) or taken[-1])
            patch.setattr(
                SourceChain,
                "take",
                lambda chain, batch, entered: take(chain, batch, entered) and not taken.append(batch.rows),
            )
            report = topology.run(transport="local", workers=1, **deploy).report
        self.taken = sum(taken)
        self.rows = [list(map(str, each)) for each in out]  # classes of two runs differ
        self.counts = {
            # how many partial results come depends on when windows close
            name: [(each["in"], 0 if "windows" in name else each["out"]) for each in report["actors"][name]]
            for name in report["actors"]
            if not name.startswith("windows") or name.endswith(".local")
        }
        self.beside = report["late"], report["dead"], report["events_out"].get("windows")


def by_hooks(*given: Any, **deploy: Any) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("actorstream.plan.compile.source_chains", lambda job: {})
        return Ran(*given, **deploy)


def end_of(stream: Any, drawn: dict[str, Any], aggregates: dict[str, str]) -> Any:
    """The operator at the end of the chain. It keeps a state: `aggregate`, with windows or without, or `reduce`."""
    if drawn["end"] == "reduce":
        return stream.through("reduce", name="total", aggregate=aggregates)
    keys = {"key": drawn["key"], "aggregates": aggregates}
    if drawn["end"] == "whole":
        return stream.through("aggregate", name="total", **keys)
    return stream.through("aggregate", name="windows", window=drawn["window"], **keys)
