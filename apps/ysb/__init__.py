"""The Yahoo Streaming Benchmark, its extension YSB* and the simple windowed aggregation (AIR section 5.1)."""
