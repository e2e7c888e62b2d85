"""Spark: its sessions, its jobs, and the data that goes between its tasks and actors. pyspark is imported inside functions
only, so that nothing here needs it before a session starts.

A pipeline (`apps/*/pipeline.py`) imports from here what it returns: `StreamBlocks` and `StreamRows`."""

from actorstream.spark.numbered import numbered_lines
from actorstream.spark.streams import StreamBlocks, StreamRows, from_blocks, generated

__all__ = ["StreamBlocks", "StreamRows", "from_blocks", "generated", "numbered_lines"]
