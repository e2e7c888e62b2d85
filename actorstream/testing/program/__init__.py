"""`check_program`: tests the conditions of dgs-flumina Definition 2.3 on random states and events."""

from __future__ import annotations

from actorstream.testing.program.check import check_program, find_violations

__all__ = ["check_program", "find_violations"]
