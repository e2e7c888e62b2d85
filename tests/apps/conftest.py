"""Apps run under the same watch as the runtime: no test hangs, and nothing is left behind."""

from __future__ import annotations

from tests.integration.conftest import deadline, leaves_nothing

__all__ = ["deadline", "leaves_nothing"]
