"""What suites are compared with: the same work written by hand without the engine, in the best plain way we
know."""
