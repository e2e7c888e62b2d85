"""Consistency of a program (dgs-flumina Definition 2.3), tested on random states and events.

Only `check.py` and `draws.py` need hypothesis; nothing that runs depends on this room.
"""
