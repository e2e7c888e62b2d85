"""Launches a topology on a Spark cluster: its workers are the tasks of one barrier stage."""
