"""Generated examples: fewer than hypothesis's default, and never judged by the time they take."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("events", deadline=None, max_examples=50)
settings.load_profile("events")
