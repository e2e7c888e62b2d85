"""A map from keys to counters: the running example of dgs-flumina, figure 1."""
