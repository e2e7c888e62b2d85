"""Outlier detection in connections, Reloaded: local models that are joined on a check (dgs-flumina A.1)."""
