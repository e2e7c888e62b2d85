"""Control of a run: start, barriers, checkpoints, the commit in two phases, early ends. A state machine that any process may
host, and the messages and links between it and the workers. Nothing here is on the data path."""
