"""What we publish for people's own tests: `verify`, and conformance suites for everything that can be plugged in.

Imported by tests only; nothing of the package depends on it.
"""

from __future__ import annotations

from actorstream.testing.transport import CheckFailed, check_transport, transport_cases
from actorstream.verify.result import NotTheSame, Verified
from actorstream.verify.verify import verify

__all__ = ["CheckFailed", "NotTheSame", "Verified", "check_transport", "transport_cases", "verify"]
