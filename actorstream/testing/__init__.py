"""What we publish for people's own tests: `verify`, `check_program`, and conformance suites for everything that can be
plugged in.

Imported by tests and commands only; nothing that runs depends on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from actorstream.testing.transport import CheckFailed, check_transport, transport_cases
from actorstream.verify.result import NotTheSame, Verified
from actorstream.verify.verify import verify

if TYPE_CHECKING:
    from actorstream.dgs.consistency.check import check_program, find_violations

__all__ = [
    "CheckFailed",
    "NotTheSame",
    "Verified",
    "check_program",
    "check_transport",
    "find_violations",
    "transport_cases",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in ("check_program", "find_violations"):  # they need hypothesis
        return getattr(import_module("actorstream.dgs.consistency.check"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
