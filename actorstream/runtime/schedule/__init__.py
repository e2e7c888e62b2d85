"""What runs next in a process, by a heuristic (ordered-multicore section 6), and kernels on threads."""
