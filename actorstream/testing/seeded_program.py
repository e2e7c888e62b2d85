"""SeededProgram: a consistent DGS program that a number decides, for tests of what runs or plans programs.

Its tags do small operations on shared cells, and two tags depend on each other where their operations do not commute.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, ClassVar, Literal

import msgspec

from actorstream.dgs.program import Program, Tags
from actorstream.dgs.sequential import InputStream
from actorstream.dgs.states import everything
from actorstream.dgs.tagging import Tick, by, every, keyed
from actorstream.dgs.tags import Tag
from actorstream.events.batch import Batch
from actorstream.events.event import Event

KEYS = 3
"""Keys of events are 0 .. KEYS - 1."""


class Item(Event, event_time="ts"):
    """An event of each of its inputs."""

    ts: int
    op: str
    key: int
    stream: int
    value: int


class Seen(Event):
    """What an operation found in a cell: a number that tells the value."""

    ts: int
    tag: str
    cell: str
    value: int


class Operation(msgspec.Struct, frozen=True):
    """What a tag does to a cell. `keyed`: each key has a cell of its own."""

    cell: str
    does: Literal["add", "read", "take", "assign"]
    keyed: bool = False

    def commutes(self, other: Operation) -> bool:
        return self.does == other.does and self.does in ("add", "read")


class Cells(msgspec.Struct):
    """A state: cell -> its value.

    A cell of c0 holds a sum, of c1 a maximum, of c2 a set. What several workers only read is owned by one of them, and a
    copy at the others."""

    owned: dict[str, list[int]] = {}
    copies: dict[str, list[int]] = {}


class SeededProgram(Program):
    """The program of one seed.

    Attributes:
        inputs_of: input -> names of the tags of its events.
        operations: tag name -> what an event of it does.
        unkeyed: names of tags that have no key.
    """

    class State(Cells):
        pass

    class Part(Cells):
        pass

    outputs: ClassVar = {"default": Seen, "other": Seen, "last": Seen}

    def __init__(self, seed: int, ticks: bool = True) -> None:
        random = Random(seed)
        names = [f"t{number}" for number in range(random.randint(2, 5))]
        self.inputs_of = self._inputs(random, names)
        how = {name: random.choice(["", "", "keys", "classes"]) for name in self.inputs_of}
        self.unkeyed = {name for input, own in self.inputs_of.items() if not how[input] for name in own}
        self.operations = {name: self._operations(random, name not in self.unkeyed) for name in names}
        self.others = {name for name in names if random.random() < 0.3}
        classes = random.randint(1, 3)
        tags: dict[str, Any] = {}
        for input, own in self.inputs_of.items():
            given: dict[str, Any] = {"key": "key", "keys": range(KEYS)} if how[input] == "keys" else {}
            if how[input] == "classes":
                given = {"key": "key", "classes": classes}
            if len(own) == 1 and given:
                tags[input] = keyed(own[0], **given)
            else:
                tags[input] = own[0] if len(own) == 1 else by("op", own, **given)
        if ticks and random.random() < 0.4:
            tags["tick"] = every("7ms", offset=f"{random.randint(0, 6)}ms")
            self.operations["tick"] = [Operation("c0", "take"), Operation("c1", "read")]
            self.unkeyed.add("tick")
        self.tags = tags
        self._declare_states(random, names)
        only_add = [name for name in names if all(each.does == "add" for each in self.operations[name])]
        self.additive = [name for name in only_add if random.random() < 0.8]

    @staticmethod
    def _inputs(random: Random, names: list[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in names:
            found.setdefault(f"in{random.randint(0, 2)}", []).append(name)
        return found

    @staticmethod
    def _operations(random: Random, keyed: bool) -> list[Operation]:
        does: list[Any] = random.choices(
            ["add", "read", "take", "assign"], [6, 2, 1, 1], k=random.randint(1, 2)
        )
        cells = random.sample(["c0", "c1", "c2"], len(does))
        return [Operation(cell, each, keyed and random.random() < 0.7) for cell, each in zip(cells, does)]

    def _declare_states(self, random: Random, names: list[str]) -> None:
        whole, part = ("State", "State", "State"), ("State", "Part", "Part")
        if random.random() < 0.5:
            self.states, self.forks = {"State": everything}, {whole: ("fork", "join")}
            return
        self.states = {"State": everything, "Part": random.sample(names, random.randint(1, len(names)))}
        kinds = {
            whole: ("fork", "join"),
            part: ("fork_parts", "join_parts"),
            ("Part", "Part", "Part"): ("fork_parts", "join_part"),
        }
        self.forks = {types: kinds[types] for types in random.sample(list(kinds), 3)}

    # -- the program ----------------------------------------------------------------------------------------------------

    def depends(self, one: Tag, other: Tag) -> bool:
        return any(
            mine.cell == its.cell
            and mine.keyed == its.keyed
            and (not mine.keyed or self._meet(one, other))
            and not mine.commutes(its)
            for mine in self.operations[one.name]
            for its in self.operations[other.name]
        )

    def update(self, state: Cells, event: Item | Tick, tag: Tag) -> Iterator[Seen]:
        time = event.time if isinstance(event, Tick) else event.ts
        value = 0 if isinstance(event, Tick) else event.value
        for each in self.operations[tag.name]:
            cell = f"{each.cell}/{event.key}" if each.keyed and isinstance(event, Item) else each.cell
            found = state.owned.get(cell, [])
            if each.does != "add":
                seen = Seen(time, tag.name, cell, _digest(found or state.copies.get(cell, [])))
                if tag.name in self.others:
                    self.emit(seen, to="other")
                else:
                    yield seen
            if each.does == "take":
                state.owned.pop(cell, None)
            elif each.does == "assign":
                state.owned[cell] = [value]
            elif each.does == "add":
                state.owned[cell] = _add(each.cell, found, [value])

    def update_batch(self, state: Cells, batch: Batch, tag: Tag) -> Any:
        operations = self.operations[tag.name]
        if any(each.does != "add" or each.keyed or each.cell == "c2" for each in operations):
            return NotImplemented
        for each in operations:
            values = batch["value"]
            value = int(values.sum() if each.cell == "c0" else values.max())
            state.owned[each.cell] = _add(each.cell, state.owned.get(each.cell, []), [value])
        return None

    def end(self, state: Cells) -> Iterator[Seen]:
        for cell, value in sorted(state.owned.items()):
            self.emit(Seen(0, "end", cell, _digest(value)), to="last")
        yield from ()

    def fork(self, state: Cells, left: Tags, right: Tags) -> tuple[State, State]:
        one, other = self._divide(state, left, right)
        return self.State(*one), self.State(*other)

    def fork_parts(self, state: Cells, left: Tags, right: Tags) -> tuple[Part, Part]:
        one, other = self._divide(state, left, right)
        return self.Part(*one), self.Part(*other)

    def join(self, left: State, right: State) -> State:
        return self.State(*_together(left, right))

    def join_parts(self, left: Part, right: Part) -> State:
        return self.State(*_together(left, right))

    def join_part(self, left: Part, right: Part) -> Part:
        return self.Part(*_together(left, right))

    # -- inside ---------------------------------------------------------------------------------------------------------

    def _divide(self, state: Cells, left: Tags, right: Tags) -> tuple[Any, Any]:
        """Owned cells go to the side that must have them; half of a sum goes either way if both only add to it."""
        owned: tuple[dict[str, list[int]], ...] = ({}, {})
        copies = {cell: list(value) for cell, value in state.copies.items()}, dict(state.copies)
        for cell, value in state.owned.items():
            on_left, on_right = self._does(left, cell), self._does(right, cell)
            if on_left == on_right == {"add"} and cell.startswith("c0"):
                owned[0][cell], owned[1][cell] = [value[0] // 2], [value[0] - value[0] // 2]
            else:
                to_right = (bool(on_right - {"add"}) and not on_left - {"add"}) or (
                    bool(on_right) and not on_left
                )
                owned[to_right][cell] = value
                if "read" in (on_left if to_right else on_right):
                    copies[not to_right][cell] = list(value)
        return (owned[0], copies[0]), (owned[1], copies[1])

    def _does(self, tags: Tags, cell: str) -> set[str]:
        """What events of these tags may do to a cell."""
        name, _, key = cell.partition("/")
        return {
            each.does
            for tag in tags
            for each in self.operations[tag.name]
            if each.cell == name
            and each.keyed == bool(key)
            and (not key or self.tag(tag.name, int(key)) == tag)
        }

    def _meet(self, one: Tag, other: Tag) -> bool:
        """Whether some key has both tags."""
        return any(
            self.tag(one.name, key) == one and self.tag(other.name, key) == other for key in range(KEYS)
        )


def seeded_streams(
    program: SeededProgram, seed: int, *, most: int = 3, events: int = 40
) -> list[InputStream]:
    """Random input for it: for each input, in name order, 1 to `most` streams (field `stream`: 0, 1, ...) of up to
    `events` items, whose times often tie."""
    random = Random(seed)
    found = []
    for name in sorted(program.inputs_of):
        for stream in range(random.randint(1, most)):
            time, items = random.randint(0, 5), []
            for _ in range(random.randint(0, events)):
                time += random.choice([0, 0, 1, 2])
                op = random.choice(program.inputs_of[name])
                items.append(Item(time, op, random.randrange(KEYS), stream, random.randint(-50, 50)))
            found.append(InputStream(name, items, f"{name}/{stream}"))
    return found


def _add(cell: str, found: list[int], more: list[int]) -> list[int]:
    if cell.startswith("c0"):
        return [sum(found) + sum(more)]
    if cell.startswith("c1"):
        return [max([*found, *more])]
    return sorted({*found, *more})


def _together(left: Cells, right: Cells) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    owned = dict(left.owned)
    for cell, value in right.owned.items():
        owned[cell] = _add(cell, owned[cell], value) if cell in owned else value
    copies = {cell: value for cell, value in {**left.copies, **right.copies}.items() if cell not in owned}
    return owned, copies


def _digest(value: list[int]) -> int:
    found = len(value)
    for each in value:
        found = (found * 1_000_003 + each) % (1 << 62)
    return found
