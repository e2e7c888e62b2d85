"""Draws random delays of hand-overs, as `[testing]` of a deployment says, so that races show."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec


class Delays:
    """Draws delays for one process."""

    def __init__(self, deploy: DeploySpec, process: int) -> None:
        testing = deploy.testing
        self.longest_s = testing.delay.total_seconds() if testing is not None else 0.0
        self._random = random.Random(testing.seed + process if testing is not None else 0)

    def draw_s(self) -> float:
        return self._random.random() * self.longest_s

    def draw_ns(self) -> int:
        return int(self.draw_s() * 1e9)
