"""Settings of all tests: properties are not timed, since how long an example takes says nothing on a busy machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
