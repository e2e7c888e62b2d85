"""One actor's interest in the death of another."""

from __future__ import annotations

from collections.abc import Callable


class Watch:
    """`live` until the watcher has been told, or has lost interest; it is told at most once."""

    __slots__ = ("cancel", "live")

    def __init__(self) -> None:
        self.live = True
        self.cancel: Callable[[], None] = _nothing

    def end(self) -> None:
        self.live = False
        self.cancel()


def _nothing() -> None:
    pass


class Deathwatch:
    """Those who want to know when one actor dies; each is told once."""

    __slots__ = ("_watchers",)

    def __init__(self) -> None:
        self._watchers: dict[int, Callable[[str], None]] = {}

    def add(self, watcher: Callable[[str], None]) -> Callable[[], None]:
        """Returns what takes the watcher off again."""
        key = id(watcher)
        self._watchers[key] = watcher
        return lambda: self._watchers.pop(key, None) and None

    def tell(self, reason: str) -> None:
        watchers, self._watchers = self._watchers, {}
        for watcher in watchers.values():
            watcher(reason)

    def __len__(self) -> int:
        return len(self._watchers)
