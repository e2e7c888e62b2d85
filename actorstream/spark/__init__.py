"""Spark: its sessions, its jobs, and the data that goes between its tasks and actors. pyspark is imported inside functions
only, so that nothing here needs it before a session starts."""
