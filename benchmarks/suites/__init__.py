"""One file a suite: `def suite(settings) -> Suite`, and the programs that it measures."""
