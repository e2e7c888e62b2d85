"""Power prediction for smart homes: DEBS 2014, query 1 (dgs-flumina A.2)."""
