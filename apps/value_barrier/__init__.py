"""Event-based windowing: sums of the values between two barriers (dgs-flumina section 4.1)."""
