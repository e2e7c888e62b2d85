"""Schedules (ordered-multicore section 6): a heuristic chooses what runs next in a process, and threads run kernels."""
