"""SeededProgram: a consistent DGS program that a number decides, for tests of what runs or plans programs.

Its tags do small operations on shared cells, and two tags depend on each other where their operations do not commute.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from actorstream.dgs.program import Program, Tags
from actorstream.dgs.sequential import InputStream
from actorstream.dgs.states import everything
from actorstream.dgs.tagging import Tick, by, every, keyed
from actorstream.dgs.tags import Tag
from actorstream.events.batch import Batch
from actorstream.events.event import Event

KEYS = 3
"""Keys of events are 0 .. KEYS - 1, words "k0" and so on."""
HASHED = 64
"""Keys of which the hash classes are looked at."""


class Item(Event, event_time="ts"):
    """An event of each of its inputs."""

    ts: int
    op: str
    key: int
    stream: int
    value: int
    word: str = "k0"


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
    copy at the others. `weights`, if the program has any, are many times the sum of all owned cells of c0: so a state
    whose array is not that of its cells is found at the next event."""

    owned: dict[str, list[int]] = {}
    copies: dict[str, list[int]] = {}
    weights: np.ndarray = msgspec.field(default_factory=lambda: np.zeros(0, np.int64))


Types = tuple[str, str, str]
KINDS: dict[Types, tuple[str, str]] = {
    ("State", "State", "State"): ("fork", "join"),
    **{
        types: (f"fork_{'_'.join(types)}", f"join_{'_'.join(types)}")
        for types in (
            ("State", "Part", "Part"),
            ("Part", "Part", "Part"),
            ("State", "State", "Part"),
            ("State", "Part", "State"),
            ("Part", "Piece", "Part"),
            ("Part", "Piece", "Piece"),
            ("Piece", "Piece", "Piece"),
            ("State", "Piece", "Part"),
        )
    },
}
"""The forks there are, and the names of their methods."""


class SeededProgram(Program):
    """The program of one seed.

    Attributes:
        inputs_of: input -> names of the tags of its events.
        operations: tag name -> what an event of it does.
        unkeyed: names of tags that have no key.
        by_word: names of tags whose key is the word of an event, not its number.
        weights: how many numbers the array of a state has.
    """

    class State(Cells):
        pass

    class Part(Cells):
        pass

    class Piece(Cells):
        pass

    outputs: ClassVar = {"default": Seen, "other": Seen, "last": Seen}

    def __init__(self, seed: int, ticks: bool = True) -> None:
        random, more = Random(seed), Random(f"more {seed}")
        names = [f"t{number}" for number in range(random.randint(2, 5))]
        self.inputs_of = self._inputs(random, names)
        how = {name: random.choice(["", "", "keys", "classes"]) for name in self.inputs_of}
        self.unkeyed = {name for input, own in self.inputs_of.items() if not how[input] for name in own}
        self.operations = {name: self._operations(random, name not in self.unkeyed) for name in names}
        self.others = {name for name in names if random.random() < 0.3}
        classes = random.randint(1, 3)
        self.by_word: set[str] = set()
        tags: dict[str, Any] = {}
        for input, own in self.inputs_of.items():
            given = self._key(more, how[input], classes, len(own) == 1)
            if given.get("key") == "word":
                self.by_word.update(own)
            if len(own) == 1 and given:
                tags[input] = keyed(own[0], **given)
            else:
                tags[input] = own[0] if len(own) == 1 else by("op", own, **given)
        if ticks and random.random() < 0.4:
            tags["tick"] = every("7ms", offset=f"{random.randint(0, 6)}ms")
            self.operations["tick"] = [Operation("c0", "take"), Operation("c1", "read")]
            self.unkeyed.add("tick")
            if more.random() < 0.3:
                tags["tock"] = every("11ms")
                self.operations["tock"] = [Operation("c2", more.choice(["read", "take"]))]
                self.unkeyed.add("tock")
        self.tags = tags
        self._declare_states(random, more, names)
        only_add = [name for name in names if all(each.does == "add" for each in self.operations[name])]
        self.additive = [name for name in only_add if random.random() < 0.8]
        self.weights = more.choice([0, 0, 0, 3, 700])
        self._keys: dict[Tag, set[int]] = {}

    @staticmethod
    def _key(random: Random, how: str, classes: int, alone: bool) -> dict[str, Any]:
        """How the keys of an input's tags are told: listed, found by reading the input, or hashed."""
        if not how:
            return {}
        field = random.choice(["key", "key", "word"])
        if how == "keys":
            listed = [f"k{key}" for key in range(KEYS)] if field == "word" else range(KEYS)
            return {"key": field} if random.random() < 0.3 else {"key": field, "keys": listed}
        modulo = {"modulo": True} if alone and field == "key" and random.random() < 0.5 else {}
        return {"key": field, "classes": classes, **modulo}

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

    def _declare_states(self, random: Random, more: Random, names: list[str]) -> None:
        kinds = list(KINDS)
        if random.random() < 0.5:
            self.states, self.forks = {"State": everything}, {kinds[0]: KINDS[kinds[0]]}
            return
        part = random.sample(names, random.randint(1, len(names)))
        self.states = {"State": everything, "Part": part}
        chosen = random.sample(kinds[:3], 3)
        if more.random() < 0.6:
            self.states = {**self.states, "Piece": more.sample(part, more.randint(1, len(part)))}
            chosen = more.sample(kinds, len(kinds))
        self.forks = {types: KINDS[types] for types in chosen}

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
        self._weigh(state)
        for each in self.operations[tag.name]:
            cell = f"{each.cell}/{self._key_of(event, tag)}" if each.keyed else each.cell
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
            if cell.startswith("c0"):
                state.weights += sum(state.owned.get(cell, [])) - sum(found)

    def update_batch(self, state: Cells, batch: Batch, tag: Tag) -> Any:
        operations = self.operations[tag.name]
        if any(each.does != "add" or each.keyed or each.cell == "c2" for each in operations):
            return NotImplemented
        self._weigh(state)
        for each in operations:
            values = batch["value"]
            value = int(values.sum() if each.cell == "c0" else values.max())
            state.weights += value if each.cell == "c0" else 0
            state.owned[each.cell] = _add(each.cell, state.owned.get(each.cell, []), [value])
        return None

    def end(self, state: Cells) -> Iterator[Seen]:
        for cell, value in sorted(state.owned.items()):
            self.emit(Seen(0, "end", cell, _digest(value)), to="last")
        yield from ()

    def fork(self, state: Cells, left: Tags, right: Tags) -> tuple[State, State]:
        one, other = self._divide(state, left, right)
        return self.State(*one), self.State(*other)

    def join(self, left: State, right: State) -> State:
        return self.State(*_together(left, right))

    # -- inside ---------------------------------------------------------------------------------------------------------

    def _divide(self, state: Cells, left: Tags, right: Tags) -> tuple[Any, Any]:
        """Owned cells go to the side that must have them; half of a sum goes either way if both only add to it."""
        owned: tuple[dict[str, list[int]], ...] = ({}, {})
        copies = {cell: list(value) for cell, value in state.copies.items()}, dict(state.copies)
        for cell, value in state.owned.items():
            on_left, on_right = self.does(left, cell), self.does(right, cell)
            if on_left == on_right == {"add"} and cell.startswith("c0"):
                owned[0][cell], owned[1][cell] = [value[0] // 2], [value[0] - value[0] // 2]
            else:
                to_right = (bool(on_right - {"add"}) and not on_left - {"add"}) or (
                    bool(on_right) and not on_left
                )
                owned[to_right][cell] = value
                if "read" in (on_left if to_right else on_right):
                    copies[not to_right][cell] = list(value)
        one, other = (np.full(len(state.weights), _weight(cells), np.int64) for cells in owned)
        return (owned[0], copies[0], one), (owned[1], copies[1], other)

    def does(self, tags: Tags, cell: str) -> set[str]:
        """What events of these tags may do to a cell."""
        name, _, key = cell.partition("/")
        return {
            each.does
            for tag in tags
            for each in self.operations[tag.name]
            if each.cell == name and each.keyed == bool(key) and (not key or int(key) in self._keys_of(tag))
        }

    def _meet(self, one: Tag, other: Tag) -> bool:
        """Whether some key has both tags."""
        return not self._keys_of(one).isdisjoint(self._keys_of(other))

    def _keys_of(self, tag: Tag) -> set[int]:
        """The keys that have a tag."""
        if tag not in self._keys:
            word = "k" if tag.name in self.by_word else ""
            keys = {key: f"{word}{key}" if word else key for key in range(HASHED)}
            self._keys[tag] = {key for key, value in keys.items() if self.tag(tag.name, value) == tag}
        return self._keys[tag]

    def _key_of(self, event: Item | Tick, tag: Tag) -> int:
        """The key of an event of a tag that has one."""
        assert isinstance(event, Item)
        return int(event.word[1:]) if tag.name in self.by_word else event.key

    def _weigh(self, state: Cells) -> None:
        """Begins with the weights of an empty state; an error if a state's are not those of its cells."""
        if not len(state.weights) and self.weights:
            state.weights = np.zeros(self.weights, np.int64)
        if (state.weights != _weight(state.owned)).any():
            raise RuntimeError(f"the weights {state.weights} of a state are not those of {state.owned}")


def _fork_into(left: str, right: str) -> Any:
    def fork(self: SeededProgram, state: Cells, on_left: Tags, on_right: Tags) -> tuple[Any, Any]:
        one, other = self._divide(state, on_left, on_right)
        return getattr(self, left)(*one), getattr(self, right)(*other)

    return fork


def _join_to(whole: str) -> Any:
    def join(self: SeededProgram, left: Cells, right: Cells) -> Any:
        return getattr(self, whole)(*_together(left, right))

    return join


for types, (forks, joins) in list(KINDS.items())[1:]:
    setattr(SeededProgram, forks, _fork_into(*types[1:]))
    setattr(SeededProgram, joins, _join_to(types[0]))


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
                key = random.randrange(KEYS)
                items.append(Item(time, op, key, stream, random.randint(-50, 50), f"k{key}"))
            found.append(InputStream(name, items, f"{name}/{stream}"))
    return found


def _add(cell: str, found: list[int], more: list[int]) -> list[int]:
    if cell.startswith("c0"):
        return [sum(found) + sum(more)]
    if cell.startswith("c1"):
        return [max([*found, *more])]
    return sorted({*found, *more})


def _together(left: Cells, right: Cells) -> tuple[dict[str, list[int]], dict[str, list[int]], np.ndarray]:
    owned = dict(left.owned)
    for cell, value in right.owned.items():
        owned[cell] = _add(cell, owned[cell], value) if cell in owned else value
    copies = {cell: value for cell, value in {**left.copies, **right.copies}.items() if cell not in owned}
    if not len(left.weights) or not len(right.weights):
        return owned, copies, left.weights if len(left.weights) else right.weights
    return owned, copies, left.weights + right.weights


def _weight(owned: dict[str, list[int]]) -> int:
    return sum(sum(value) for cell, value in owned.items() if cell.startswith("c0"))


def _digest(value: list[int]) -> int:
    found = len(value)
    for each in value:
        found = (found * 1_000_003 + each) % (1 << 62)
    return found
