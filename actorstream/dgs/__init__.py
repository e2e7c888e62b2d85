"""Dependency-guided synchronization (dgs-flumina): programs, synchronization plans, and what finds them."""
