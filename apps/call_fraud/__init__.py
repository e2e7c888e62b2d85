"""High-mobility fraud: phones that are in two places too soon after each other (ordered-multicore, figure 1)."""
