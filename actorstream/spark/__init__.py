"""Spark: its sessions, its jobs, and the data that goes between its tasks and actors. pyspark is imported inside functions
only, so that nothing here needs it before a session starts.

A pipeline (`apps/*/pipeline.py`) imports from here what it returns: `Blocks` and `Rows`."""

from actorstream.spark.numbered import numbered_lines
from actorstream.spark.streams import Blocks, Rows, from_blocks, generated

__all__ = ["Blocks", "Rows", "from_blocks", "generated", "numbered_lines"]
