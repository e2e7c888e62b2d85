"""GatedSource: a spark-source that holds its rows back until a file is there, so that a test decides what has come before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.spark.source import SparkSource

if TYPE_CHECKING:
    from actorstream.events.batch import Batch

LOOK_S = 0.02


class GatedSource(SparkSource):
    """Args:
    gate: the file. Each replica gives `first` rows, and the others once it is there.
    """

    def __init__(self, *, gate: Path, first: int, path: Path, **keys: Any) -> None:
        super().__init__(path=path, **keys)
        self.gate, self.first = gate, first

    async def read(self, max_rows: int) -> Batch | None:  # type: ignore[override]
        left = self.first - sum(self.position().values())
        while left <= 0 and not self.gate.exists():
            await asyncio.sleep(LOOK_S)
        return await super().read(max_rows if left <= 0 else min(max_rows, left))
