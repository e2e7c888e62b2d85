"""Programs at run time (dgs-flumina section 3.4): the workers of a synchronization plan as units of worker processes.

What may happen when is decided in dgs/worker.py; here events, messages and outputs are carried.
"""
