"""Serial order in a worker: stamps that number rows, and the inbox that puts rows back in their order."""
