"""What we publish for people's own tests: conformance suites for everything that can be plugged in.

Imported by tests only; nothing of the package depends on it.
"""

from __future__ import annotations

from actorstream.testing.transport import CheckFailed, check_transport, transport_cases

__all__ = ["CheckFailed", "check_transport", "transport_cases"]
