"""The page-view join as a sequential program, what depends on what in it, and how its state is divided."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pyarrow as pa

from actorstream import Batch
from actorstream.dgs import Program, Tag, Tags, keyed
from apps.page_view_join.events import Joined, Replaced, Update, View


class PageViewJoin(Program):
    """A view comes out with the metadata of its page; an update replaces them, and comes out with the old ones.

    Args:
        pages: all pages there are; unless given, the input is read for them before the run.
        classes: pages are not told apart, but hashed to so many classes.
    """

    class State(msgspec.Struct):
        pages: dict[str, str | None] = {}
        """Page -> its metadata."""

    outputs: ClassVar = {"joined": Joined, "replaced": Replaced}

    def __init__(self, pages: list[str] | None = None, classes: int = 0) -> None:
        self.tags = {
            "updates": keyed("update", "page", keys=pages, classes=classes),
            "views": keyed("view", "page", keys=pages, classes=classes),
        }
        self.classes = classes

    # parallelisation
    def depends(self, one: Tag, other: Tag) -> bool:
        return one.key == other.key and "update" in (one.name, other.name)

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        to_right = {page: found for page, found in state.pages.items() if self._sees(right, page)}
        to_left = {
            page: found
            for page, found in state.pages.items()
            if page not in to_right or self._sees(left, page)
        }
        return self.State(to_left), self.State(to_right)

    def join(self, left: State, right: State) -> State:
        left.pages.update(right.pages)
        return left

    def _sees(self, tags: Tags, page: str) -> bool:
        return self.tag("view", page) in tags or self.tag("update", page) in tags

    # sequential
    def update(self, state: State, event: View | Update, tag: Tag) -> None:
        metadata = state.pages.get(event.page)
        if tag.name == "view":
            self.emit(Joined(event.view_id, event.ts, event.page, metadata), to="joined")
        else:
            self.emit(Replaced(event.ts, event.page, metadata, event.metadata), to="replaced")
            state.pages[event.page] = event.metadata

    # the same, a batch at a time
    def update_batch(self, state: State, batch: Batch, tag: Tag) -> Any:
        if tag.name == "update":
            return NotImplemented
        if self.classes:
            pages = batch["page"].dictionary_encode()
            found = pa.array([state.pages.get(page) for page in pages.dictionary.to_pylist()], pa.string())
            metadata: Any = found.take(pages.indices)
        else:
            metadata = state.pages.get(str(tag.key))  # one value, for all rows
        self.emit(batch.with_columns(event=Joined, metadata=metadata), to="joined")
        return None
