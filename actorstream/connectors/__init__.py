"""Connectors: sources that read rows from outside, sinks that write them. Only strings here: nothing is
imported."""

from __future__ import annotations

BUILTIN: dict[str, str] = {
    "text-source": "actorstream.connectors.text:TextSource",
    "csv-source": "actorstream.connectors.csv_source:CsvSource",
    "jsonl-source": "actorstream.connectors.jsonl_source:JsonlSource",
    "parquet-source": "actorstream.connectors.parquet_source:ParquetSource",
    "generator-source": "actorstream.connectors.generator:GeneratorSource",
    "spark-source": "actorstream.spark.source:SparkSource",
    "spark-stream-source": "actorstream.spark.stream_source:SparkStreamSource",
    "history-then-live": "actorstream.connectors.history_then_live:HistoryThenLive",
    "memory-source": "actorstream.connectors.memory:MemorySource",
    "csv-sink": "actorstream.connectors.csv_sink:CsvSink",
    "jsonl-sink": "actorstream.connectors.jsonl_sink:JsonlSink",
    "parquet-sink": "actorstream.connectors.parquet_sink:ParquetSink",
    "spark-sink": "actorstream.spark.sink:SparkSink",
    "console-sink": "actorstream.connectors.console:ConsoleSink",
    "null-sink": "actorstream.connectors.null:NullSink",
    "memory-sink": "actorstream.connectors.memory:MemorySink",
}
"""Type name in a topology -> "module:Class"; docs/connectors.md describes each."""
