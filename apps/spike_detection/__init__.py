"""Spike detection: readings of sensors that are far from their moving average (briskstream-rlas, SD)."""
