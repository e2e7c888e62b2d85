"""The scheduler's threads of a process and the units that they run (ordered-multicore section 6)."""
