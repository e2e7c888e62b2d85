"""What flows through the page-view join. Times in any unit, as long as it is one."""

from __future__ import annotations

from actorstream import Event


class View(Event, event_time="ts"):
    """Somebody visits a page."""

    stream: str
    ts: int
    view_id: str
    page: str


class Update(Event, event_time="ts"):
    """A page gets other metadata."""

    ts: int
    page: str
    metadata: str | None


class Joined(Event):
    """A view with what its page had then; nothing if it had none yet."""

    view_id: str
    ts: int
    page: str
    metadata: str | None


class Replaced(Event):
    """What a page had until an update, and has from then on."""

    ts: int
    page: str
    old_metadata: str | None
    new_metadata: str | None
