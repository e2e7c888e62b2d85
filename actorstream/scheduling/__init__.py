"""Which operator runs next in a process (ordered-multicore section 6). A new heuristic is one file and one row."""

from __future__ import annotations

from actorstream.scheduling.base import Heuristic
from actorstream.scheduling.ct import CurrentThroughput
from actorstream.scheduling.et import EstimatedTime
from actorstream.scheduling.lp import LastInPipeline
from actorstream.scheduling.qst import QueueSizeThrottling

SCHEDULES: dict[str, type[Heuristic]] = {
    "ct": CurrentThroughput,
    "lp": LastInPipeline,
    "et": EstimatedTime,
    "qst": QueueSizeThrottling,
}
"""Name in a deployment -> heuristic. Beside them there is `none`: replicas take turns."""
