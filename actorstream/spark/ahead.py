"""Ahead: makes items in a thread while others are used, so many bytes of them at most. Knows nothing of what is in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from threading import Condition, Thread
from typing import Any


class Ahead:
    """An iterator, and a context manager at whose end the thread has ended.

    Args:
        items: what is made; the first member of each has its bytes.
        most_bytes: of the items that wait. One more is made before the thread waits.
    """

    def __init__(self, items: Iterator[tuple[Any, ...]], most_bytes: int) -> None:
        self._items, self._most_bytes = items, most_bytes
        self._waiting: deque[tuple[Any, ...]] = deque()
        self._bytes = 0
        self._changed = Condition()
        self._closed = self._ended = False
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._make, name="spark-ahead", daemon=True)

    def __enter__(self) -> Ahead:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def __iter__(self) -> Ahead:
        return self

    def __next__(self) -> tuple[Any, ...]:
        """The next item. Raises what making it has raised."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting:
                raise self._failure or StopIteration
            item = self._waiting.popleft()
            self._bytes -= len(item[0])
            self._changed.notify_all()
            return item

    def _make(self) -> None:
        try:
            for item in self._items:
                with self._changed:
                    self._waiting.append(item)
                    self._bytes += len(item[0])
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: self._closed or self._bytes < self._most_bytes)
                    if self._closed:
                        return
        except BaseException as error:
            self._failure = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()
