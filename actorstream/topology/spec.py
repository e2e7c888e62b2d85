"""A topology as the user wrote it: actors, their inputs and keys. Data only; `validate` judges it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from actorstream.topology.modules import qualified
from actorstream.topology.written import Written

RESERVED = ("type", "inputs", "replicas", "outputs", "on_error")
"""Keys of an actor's table that are not its constructor's."""
ROUTES = ("forward", "shuffle", "key", "range", "broadcast", "global")
ORDERS = ("none", "serial", "timestamp", "dependency")
ACTOR_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
NAME_ALLOWED = "letters, digits, _ and -, beginning with a letter or _"

Replicas = Annotated[
    Annotated[int, Meta(ge=1, le=65535)] | Literal["auto"],
    Meta(description='a whole number from 1 to 65535, or "auto" (placement decides)'),
]
OnError = Annotated[
    Literal["fail", "skip", "dead-letter"],
    Meta(description='"fail", "skip" or "dead-letter" (to the output .dead)'),
]


class InputSpec(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One entry of `inputs`: whose output, how its rows spread over the replicas, in which order."""

    from_: Annotated[str, Meta(description='"actor" or "actor.output"')] = msgspec.field(name="from")
    route: Annotated[str, Meta(description='a route\'s name or "package.module:function"')] | Any = ""
    """``""``: decided by rule, see `validate`. From Python also a function."""
    key: Annotated[str | list[str], Meta(description="a field's name, or a list of them")] = []
    order: Annotated[str, Meta(description="none, serial, timestamp or dependency")] = "none"
    name: Annotated[str, Meta(description="text, made of letters, digits and _")] = ""
    """What `self.input` says, and the NAME of `on_NAME`; ``""``: as `from`, without ``.default``."""
    bounds: Annotated[list[Any], Meta(description="an array of ascending values")] = []
    """For route "range": replica i gets bounds[i-1] <= key < bounds[i]."""

    @property
    def actor(self) -> str:
        return self.from_.partition(".")[0]

    @property
    def output(self) -> str:
        return self.from_.partition(".")[2] or "default"

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,) if isinstance(self.key, str) else tuple(self.key)

    @property
    def label(self) -> str:
        """The input's name."""
        return self.name or self.from_.removesuffix(".default")


class ActorSpec(msgspec.Struct, kw_only=True):
    """One table `[actors.NAME]`. `keys` are the constructor's keywords, not yet checked against it."""

    name: str
    type: Any
    """A built-in's name or "package.module:Class"; from Python also the class."""
    inputs: list[InputSpec] = []
    replicas: int | Literal["auto"] = 1
    outputs: dict[str, Any] = {}
    """Output -> "package.module:Event" or {field = "type"}; from Python also Event classes."""
    on_error: Literal["fail", "skip", "dead-letter"] = "fail"
    keys: dict[str, Any] = {}

    @property
    def type_name(self) -> str:
        return self.type if isinstance(self.type, str) else qualified(self.type)


class TopologySpec(msgspec.Struct, kw_only=True):
    """A whole topology. `file` is "" when it was built in Python; `root` is where its modules are found."""

    name: str
    actors: dict[str, ActorSpec] = {}
    file: str = ""
    root: Path = msgspec.field(default_factory=Path.cwd)
    written: Written = msgspec.field(default_factory=Written)

    def plain(self) -> dict[str, Any]:
        """The topology as plain values, shaped like its TOML: the same wherever it was written."""
        return {
            "name": self.name,
            "actors": {name: _plain_actor(actor) for name, actor in self.actors.items()},
        }


def _plain_actor(actor: ActorSpec) -> dict[str, Any]:
    table: dict[str, Any] = {"type": actor.type_name}
    if actor.inputs:
        table["inputs"] = [
            {
                "from": each.from_.removesuffix(".default"),
                "route": each.route if isinstance(each.route, str) else qualified(each.route),
                "key": list(each.keys),
                "order": each.order,
                "name": each.label,
                "bounds": each.bounds,
            }
            for each in actor.inputs
        ]
    table["replicas"] = actor.replicas
    if actor.outputs:
        table["outputs"] = {name: _plain_value(kind) for name, kind in actor.outputs.items()}
    table["on_error"] = actor.on_error
    table.update({name: _plain_value(value) for name, value in actor.keys.items()})
    return table


def _plain_value(value: Any) -> Any:
    if isinstance(value, type) or callable(value):
        return qualified(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain_value(item) for key, item in value.items()}
    return [_plain_value(item) for item in value] if isinstance(value, (list, tuple)) else value
