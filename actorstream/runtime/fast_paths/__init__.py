"""Shorter ways for rows that have nothing before them. What they do not take goes as batches, with the same result."""
