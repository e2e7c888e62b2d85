"""Mutates the text of topologies and deployments, by a seed: what a user can get wrong, and what nobody would write."""

from __future__ import annotations

import copy
import datetime
import json
import math
import random
import tomllib
from collections.abc import Callable
from typing import Any

from tests.integration.toml_text import dumped

Place = tuple[Any, Any]
"""A table or array, and the key or index of a value in it."""

NAMES = [
    "type",
    "inputs",
    "from",
    "key",
    "route",
    "order",
    "replicas",
    "path",
    "name",
    "window",
    "where",
    "on",
]
NAMES += [
    "event",
    "schema",
    "outputs",
    "workers",
    "transport",
    "batch_size",
    "x",
    "",
    "é",
    "a b",
    'q"u',
    "__class__",
]
SCALARS: list[Any] = [
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    65535,
    65536,
    2**31,
    2**63,
    -(2**63) - 1,
    10**30,
    0.0,
    -0.5,
]
SCALARS += [
    1e308,
    math.nan,
    math.inf,
    "",
    " ",
    "0",
    "none",
    "auto",
    "é\u202e\U0001f600",
    "\x00",
    "a\nb",
    "." * 50,
]
SCALARS += [
    "x" * 100_000,
    "..",
    "/",
    "~",
    "a.b.c",
    ":",
    "a:b",
    "os:path",
    "builtins:int",
    "json:loads",
    "1 +",
    "(((",
]
SCALARS += [
    "serial",
    "timestamp",
    "dependency",
    "key",
    "forward",
    "range",
    "10s",
    "-1s",
    "1e30d",
    "n > 0",
    "sum(n)",
]
SCALARS += [
    "csv-source",
    "filter",
    "map",
    "join",
    "aggregate",
    "null-sink",
    "generator-source",
    "local",
    "99999999 d",
]
SCALARS += [datetime.datetime(2026, 1, 2, 3, 4, 5), datetime.date(1, 1, 1), datetime.time(23, 59)]
BYTES = [
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\r\n",
    b'"',
    b"'''",
    b"[",
    b"]]",
    b"{",
    b"=",
    b"#",
    b"\\",
    b"\xe2\x80\xa8",
]


def places(table: Any) -> list[Place]:
    """Every value of a document, however deep."""
    found: list[Place] = []
    items = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in items:
        found.append((table, key))
        if isinstance(value, (dict, list)):
            found += places(value)
    return found


class Mutations:
    """Draws mutations; the same seed draws the same."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def mutated(self, topology: str, deploy: str) -> tuple[bytes, bytes]:
        """Both files, of which one or both are wrong, or none by chance."""
        if self.draw.random() < 0.01:
            return deploy.encode(), topology.encode()
        tables = [tomllib.loads(topology), tomllib.loads(deploy)]
        texts = [topology.encode(), deploy.encode()]
        for number in {self.draw.choice([0, 0, 0, 1]), self.draw.choice([0, 1])}:
            if self.draw.random() < 0.75:
                for _ in range(self.draw.choice([1, 1, 1, 2, 5])):
                    self.draw.choice(TREES)(self, tables[number], tables[1 - number])
                texts[number] = dumped(tables[number]).encode("utf-8", "surrogatepass")
            else:
                for _ in range(self.draw.choice([1, 1, 3])):
                    texts[number] = self.draw.choice(TEXTS)(self, texts[number])
        return texts[0], texts[1]

    def mutated_plan(self, plan: str) -> bytes:
        """A plan file that is wrong, or right by chance."""
        if self.draw.random() < 0.3:
            return self.draw.choice(TEXTS)(self, plan.encode())
        table = json.loads(plan)
        for _ in range(self.draw.choice([1, 1, 2])):
            self.draw.choice(TREES[: TREES.index(Mutations.lead_back)])(self, table, {})
        return json.dumps(table, default=str).encode("utf-8", "surrogatepass")

    # -- of the values

    def place(self, table: dict[str, Any]) -> Place:
        return self.draw.choice(places(table) or [({"x": 1}, "x")])

    def value(self, table: dict[str, Any]) -> Any:
        kind = self.draw.randrange(8)
        if kind == 0:
            where, key = self.place(table)
            return copy.deepcopy(where[key])
        if kind == 1:
            return [self.draw.choice(SCALARS) for _ in range(self.draw.randrange(4))]
        if kind == 2:
            return {self.draw.choice(NAMES): self.draw.choice(SCALARS) for _ in range(self.draw.randrange(3))}
        if kind == 3:
            nested: Any = self.draw.choice(SCALARS[:20])
            for _ in range(self.draw.choice([2, 30, 90])):
                nested = [nested] if self.draw.random() < 0.5 else {"a": nested}
            return nested
        return self.draw.choice(SCALARS)

    def replace(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        where, key = self.place(table)
        where[key] = self.value(table)

    def remove(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        where, key = self.place(table)
        del where[key]

    def add(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        where, _ = self.place(table)
        if isinstance(where, dict):
            where[self.draw.choice(NAMES)] = self.value(table)
        else:
            where.append(self.value(table))

    def misspell(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        where, key = self.place(table)
        if isinstance(where, dict):
            where[self.garbled(key)] = where.pop(key)
        elif isinstance(where[key], str):
            where[key] = self.garbled(where[key])

    def misspell_text(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        texts = [(where, key) for where, key in places(table) if isinstance(where[key], str)]
        if texts:
            where, key = self.draw.choice(texts)
            where[key] = self.garbled(where[key])

    def garbled(self, text: str) -> str:
        at = self.draw.randrange(len(text) + 1)
        kind = self.draw.randrange(4)
        if kind == 0:
            return text[:at] + text[at + 1 :]
        if kind == 1:
            return text[:at] + self.draw.choice("aZ_- .:()\"'\\éß\u200b+*/%<>=\x01,0") + text[at:]
        if kind == 2:
            return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]
        return text * self.draw.choice([0, 2, 3])

    def swap(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        (one, key), (two, name) = self.place(table), self.place(table)
        first, second = copy.deepcopy(one[key]), copy.deepcopy(two[name])
        one[key] = second
        if one is two or not (isinstance(two, list) and name >= len(two)):
            two[name] = first

    def wrap(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        where, key = self.place(table)
        where[key] = [where[key]] if self.draw.random() < 0.5 else {self.draw.choice(NAMES): where[key]}

    def unwrap(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        where, key = self.place(table)
        value = where[key]
        if isinstance(value, dict) and value:
            where[key] = next(iter(value.values()))
        elif isinstance(value, list) and value:
            where[key] = value[0]

    def repeat(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        lists = [where[key] for where, key in places(table) if isinstance(where[key], list) and where[key]]
        if lists:
            found = self.draw.choice(lists)
            found.append(copy.deepcopy(self.draw.choice(found)))

    def lead_back(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        """Gives an actor a further input: any, itself too."""
        actors = table.get("actors")
        tables = (
            [each for each in actors.values() if isinstance(each, dict)] if isinstance(actors, dict) else []
        )
        if tables:
            actor = self.draw.choice(tables)
            name = self.draw.choice(list(actors))
            inputs = actor.setdefault("inputs", [])
            if isinstance(inputs, list):
                order = self.draw.choice(["none", "serial", "timestamp", "dependency"])
                inputs.append(self.draw.choice([name, {"from": name, "order": order}, f"{name}.late"]))

    def order_all(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        actors = table.get("actors")
        order = self.draw.choice(["serial", "timestamp", "dependency"])
        for actor in actors.values() if isinstance(actors, dict) else ():
            if isinstance(actor, dict) and isinstance(actor.get("inputs"), list) and self.draw.random() < 0.7:
                froms = [
                    each if isinstance(each, str) else dict(each).get("from", "")
                    for each in actor["inputs"]
                    if isinstance(each, (str, dict))
                ]
                actor["inputs"] = [{"from": each, "order": order} for each in froms]

    def actor(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        """Copies, renames, or changes the type of an actor."""
        actors = table.get("actors")
        if not isinstance(actors, dict) or not actors:
            return
        name = self.draw.choice(list(actors))
        kind = self.draw.randrange(3)
        if kind == 0:
            actors[self.garbled(name)] = copy.deepcopy(actors[name])
        elif kind == 1:
            actors[self.garbled(name)] = actors.pop(name)
        else:
            another = actors[self.draw.choice(list(actors))]
            if isinstance(actors[name], dict) and isinstance(another, dict):
                actors[name]["type"] = another.get("type", self.draw.choice(SCALARS))

    def mix(self, table: dict[str, Any], other: dict[str, Any]) -> None:
        """Puts a part of one file into the other."""
        if other:
            key = self.draw.choice(list(other))
            where, _ = self.place(table)
            (where if isinstance(where, dict) and self.draw.random() < 0.3 else table)[key] = copy.deepcopy(
                other[key]
            )

    # -- of the text

    def bytes_in(self, text: bytes) -> bytes:
        for _ in range(self.draw.choice([1, 1, 4, 50])):
            at = self.draw.randrange(len(text) + 1)
            drawn = self.draw.choice([*BYTES, self.draw.randbytes(1), self.draw.randbytes(3)])
            text = text[:at] + drawn + text[at + self.draw.randrange(3) :]
        return text

    def lines(self, text: bytes) -> bytes:
        lines = text.split(b"\n")
        for _ in range(self.draw.choice([1, 1, 3])):
            at, to = self.draw.randrange(len(lines)), self.draw.randrange(len(lines))
            kind = self.draw.randrange(3)
            if kind == 0:
                lines.insert(to, lines[at])
            elif kind == 1:
                lines[at], lines[to] = lines[to], lines[at]
            elif len(lines) > 1:
                del lines[at]
        return b"\n".join(lines)

    def sections(self, text: bytes) -> bytes:
        parts = text.split(b"\n\n")
        self.draw.shuffle(parts)
        return b"\n\n".join(parts + parts[: self.draw.randrange(2)])

    def cut(self, text: bytes) -> bytes:
        at = self.draw.randrange(len(text) + 1)
        return text[:at] if self.draw.random() < 0.5 else text[at:]

    def noise(self, text: bytes) -> bytes:
        return self.draw.randbytes(self.draw.choice([0, 1, 10, 1000]))

    def deep(self, text: bytes) -> bytes:
        """Brackets, braces or dots that no reader of a call a level survives."""
        levels = self.draw.choice([50, 500, 5000])
        opened, closed = self.draw.choice([(b"[", b"]"), (b"{a=", b"}"), (b"a.", b"b=1")])
        nested = (
            opened * levels
            + (b"1" if opened == b"{a=" else b"")
            + closed * (1 if opened == b"a." else levels)
        )
        head = b"\n" if opened == b"a." else b"\nx = "
        at = self.draw.choice([0, len(text)])
        return text[:at] + head + nested + b"\n" + text[at:]

    def digits(self, text: bytes) -> bytes:
        """A number of more digits than Python reads."""
        figures = [at for at, each in enumerate(text) if chr(each).isdigit()]
        at = self.draw.choice(figures) if figures else 0
        return text[:at] + b"9" * self.draw.choice([19, 400, 5000]) + text[at:]


TREES: list[Callable[[Mutations, dict[str, Any], dict[str, Any]], None]] = [
    Mutations.replace,
    Mutations.replace,
    Mutations.replace,
    Mutations.remove,
    Mutations.remove,
    Mutations.add,
    Mutations.misspell,
    Mutations.misspell_text,
    Mutations.swap,
    Mutations.wrap,
    Mutations.unwrap,
    Mutations.repeat,
    Mutations.lead_back,
    Mutations.order_all,
    Mutations.actor,
    Mutations.mix,
]
TEXTS: list[Callable[[Mutations, bytes], bytes]] = [
    Mutations.bytes_in,
    Mutations.bytes_in,
    Mutations.lines,
    Mutations.sections,
    Mutations.cut,
    Mutations.noise,
    Mutations.deep,
    Mutations.digits,
]
