"""Page-view join: each view with the latest metadata of its page (dgs-flumina section 4.1)."""
