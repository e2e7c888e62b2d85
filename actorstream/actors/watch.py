"""One actor's interest in the death of another."""

from __future__ import annotations

from collections.abc import Callable


class Watch:
    """`live` until the watcher has been told, or has lost interest; it is told at most once. `life`: whose death it is about,
    as `ActorRef.life` has it."""

    __slots__ = ("cancel", "life", "live")

    def __init__(self, life: object) -> None:
        self.life = life
        self.live = True
        self.cancel: Callable[[], None] = _nothing

    def end(self) -> None:
        self.live = False
        self.cancel()


def _nothing() -> None:
    pass


class Watches:
    """The watches of one actor, by the names that it watches. A name has several while the death of one actor waits in the
    mailbox and another has the name already."""

    __slots__ = ("_by_name",)

    def __init__(self) -> None:
        self._by_name: dict[str, list[Watch]] = {}

    def begin(self, name: str, life: object) -> Watch | None:
        """A new watch. None: there is one of that life, or of this name and no actor (`life` None) has the name now."""
        watches = self._by_name.setdefault(name, [])
        if any(life is None or watch.life is life for watch in watches):
            return None
        watches.append(Watch(life))
        return watches[-1]

    def told(self, name: str, watch: Watch) -> None:
        """The actor is told of the death that a live watch was about."""
        watch.end()
        watches = self._by_name[name]
        watches.remove(watch)
        if not watches:
            del self._by_name[name]

    def end(self, name: str) -> None:
        """The actor has lost interest in a name."""
        for watch in self._by_name.pop(name, ()):
            watch.end()

    def end_all(self) -> None:
        for name in list(self._by_name):
            self.end(name)


class Deathwatch:
    """Those who want to know when one actor dies; each is told once."""

    __slots__ = ("_added", "_watchers")

    def __init__(self) -> None:
        self._added = 0
        self._watchers: dict[int, Callable[[str], None]] = {}

    def add(self, watcher: Callable[[str], None]) -> Callable[[], None]:
        """Returns what takes the watcher off again."""
        self._added = key = self._added + 1  # nobody else has it, even long after this watcher is gone
        self._watchers[key] = watcher
        return lambda: self._watchers.pop(key, None) and None

    def tell(self, reason: str) -> None:
        watchers, self._watchers = self._watchers, {}
        for watcher in watchers.values():
            watcher(reason)

    def __len__(self) -> int:
        return len(self._watchers)
