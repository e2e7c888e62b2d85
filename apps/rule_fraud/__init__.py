"""Fraud detection by rules that learn from all streams (dgs-flumina section 4.1)."""
