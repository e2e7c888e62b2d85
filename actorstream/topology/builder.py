"""Topologies in Python that read like their TOML, for notebooks and tests. Builds a `TopologySpec`; checks nothing.

t = Topology("word-count")
lines = t.source("text-source", name="lines", path="data/corpus.txt")
counts = lines.through(Split, replicas=2).by("word").through(Count)["final"].collect()
t.run(workers=2)
print(counts[0])
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.decode import MismatchError, decode_value, mismatched
from actorstream.topology.spec import (
    ACTOR_NAME,
    NAME_ALLOWED,
    ActorSpec,
    InputSpec,
    OnError,
    Replicas,
    TopologySpec,
)
from actorstream.topology.stream import Collected, Stream
from actorstream.topology.suggestions import listed
from actorstream.topology.written import Written

if TYPE_CHECKING:
    from actorstream.launch.run import RunResult
    from actorstream.topology.graph import Graph


class Topology:
    """A topology that grows by `source`, `Stream.through` and `Stream.into`, or by `actor`: a table of the TOML.

    Relative paths start at the current directory. Where an actor was added is remembered for error messages."""

    def __init__(self, name: str = "topology") -> None:
        self.name = name
        self.actors: dict[str, ActorSpec] = {}
        self._collected: dict[str, Collected] = {}
        self._written = Written()

    def source(
        self,
        source: str | type | Iterable[Any] | Mapping[str, Iterable[Any]],
        *,
        name: str | None = None,
        replicas: int | Literal["auto"] = 1,
        on_error: OnError = "fail",
        outputs: dict[str, Any] | None = None,
        **keys: Any,
    ) -> Stream:
        """A source: a built-in's name, a class, or the rows themselves: an iterable of events, dicts or batches, or
        a mapping of partition names to such iterables; read at once.

        `keys` are the constructor's keywords, as in the actor's table."""
        if isinstance(source, (str, type)):
            kind: str | type = source
        else:
            kind, keys = "memory-source", {"items": _items(source), **keys}
        return self._add(kind, (), name, replicas, on_error, outputs, keys)

    def actor(
        self,
        name: str,
        type: str | type,
        inputs: Sequence[Any] | Any = (),
        *,
        replicas: int | Literal["auto"] = 1,
        on_error: OnError = "fail",
        outputs: dict[str, Any] | None = None,
        **keys: Any,
    ) -> Stream:
        """One table `[actors.NAME]`: the same keys, and streams or "actor.output" as inputs."""
        return self._add(type, inputs, name, replicas, on_error, outputs, keys)

    def __getitem__(self, name: str) -> Stream:
        """The default output of an actor that was added; ``topology["count.final"]`` another one."""
        actor, _, output = name.partition(".")
        if actor not in self.actors:
            raise KeyError(f"topology {self.name!r} has no actor {actor!r}; it has {listed(self.actors)}")
        return Stream(self, actor, output or "default")

    def __iter__(self) -> Iterator[str]:
        return iter(self.actors)

    def __contains__(self, name: object) -> bool:
        return name in self.actors

    # -- what it becomes

    def spec(self) -> TopologySpec:
        """The same as `load_topology` answers for the TOML."""
        return TopologySpec(name=self.name, actors=dict(self.actors), written=self._written)

    def graph(self, **deploy: Any) -> Graph:
        """The checked `Graph`; ConfigurationError lists every problem, with the place in the Python code."""
        from actorstream.topology.load import load_deploy
        from actorstream.topology.validate import build_graph

        # layers above: found at run time
        registry = importlib.import_module("actorstream.plan.registry").registry()
        available = importlib.import_module("actorstream.plan.compile").available()
        return build_graph(self.spec(), registry, load_deploy(None, (), **deploy), available)

    def run(self, **deploy: Any) -> RunResult:
        """Runs to the end of the input and answers a `RunResult`; `deploy`: keys of a deployment (`workers=2`).

        What `collect()` answered then holds its events."""
        return self._collect(importlib.import_module("actorstream.launch.run").run_topology(self, **deploy))

    async def run_async(self, **deploy: Any) -> RunResult:
        """`run` for a program that has an event loop."""
        return self._collect(
            await importlib.import_module("actorstream.launch.run").run_topology_async(self, **deploy)
        )

    def _repr_svg_(self) -> str:
        """The drawing that a notebook shows; of the topology as written where it is not right yet."""
        drawing = "actorstream.drawing"  # a layer above: found at run time
        picture_of_spec = importlib.import_module(f"{drawing}.picture").picture_of_spec
        return str(importlib.import_module(f"{drawing}.svg").svg(picture_of_spec(self.spec())))

    def __repr__(self) -> str:
        return f"<Topology {self.name!r}: {listed(self.actors) or 'no actors yet'}>"

    # -- building

    def _add(
        self,
        kind: str | type,
        inputs: Any,
        name: str | None,
        replicas: int | Literal["auto"],
        on_error: OnError,
        outputs: dict[str, Any] | None,
        keys: dict[str, Any],
    ) -> Stream:
        name = name if name is not None else self._free_name(kind)
        if not ACTOR_NAME.fullmatch(name):
            raise ConfigurationError(Problem("actors", f"{name!r} is no name for an actor", NAME_ALLOWED))
        if name in self.actors:
            hint = f"the topology has {listed(self.actors)}"
            raise ConfigurationError(
                Problem(f"actors.{name}", f"actor {name!r} is there already", "a new name", hint)
            )
        self._written.places["actors", name] = _place_of_caller()
        for key, value, annotation in (("replicas", replicas, Replicas), ("on_error", on_error, OnError)):
            path = ("actors", name, key)
            try:
                decode_value(value, annotation, path, self._written)
            except MismatchError as mismatch:
                raise ConfigurationError(mismatched(mismatch, path, self._written)) from None
        keys = {key: each.source if isinstance(each, Stream) else each for key, each in keys.items()}
        listed_inputs = [inputs] if isinstance(inputs, (str, dict, Stream, InputSpec)) else list(inputs)
        self.actors[name] = ActorSpec(
            name=name,
            type=kind,
            inputs=[input_of(each, self) for each in listed_inputs],
            replicas=replicas,
            outputs=dict(outputs or {}),
            on_error=on_error,
            keys=keys,
        )
        return Stream(self, name)

    def _free_name(self, kind: str | type) -> str:
        """`Split` -> "split", "csv-sink" -> "csv-sink"; with a number where that is taken."""
        last = kind.rpartition(":")[2] if isinstance(kind, str) else kind.__name__
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).lower()
        base = re.sub(r"[^a-z0-9_-]", "_", words).lstrip("-0123456789") or "actor"
        number, name = 1, base
        while name in self.actors:
            number += 1
            name = f"{base}_{number}"
        return name

    def _collect(self, result: RunResult) -> RunResult:
        for name, collected in self._collected.items():
            collected.fill(result.collected.get(name, ()))
        return result


def _items(source: Any) -> Any:
    """Rows given in Python as lists, by partition where they were given so."""
    return (
        {name: list(rows) for name, rows in source.items()} if isinstance(source, Mapping) else list(source)
    )


def input_of(each: Any, topology: Topology) -> InputSpec:
    """An input in any form that `actor` takes, as the InputSpec it means."""
    if isinstance(each, InputSpec):
        return each
    if isinstance(each, str):
        return InputSpec(from_=each)
    if isinstance(each, dict):
        fields = {("from_" if key == "from" else key): value for key, value in each.items()}
        try:
            return InputSpec(**fields)
        except TypeError as error:
            allowed = listed(key.rstrip("_") for key in InputSpec.__struct_fields__)
            raise ConfigurationError(Problem("inputs", f"{each!r}: {error}", allowed)) from None
    if isinstance(each, Stream):
        if each.topology is not topology:
            message = f"{each.source!r} is a stream of topology {each.topology.name!r}"
            raise ConfigurationError(Problem("inputs", message, f"streams of {topology.name!r}"))
        return each.input()
    raise ConfigurationError(Problem("inputs", f"is {each!r}", 'streams, or "actor.output"'))


def _place_of_caller() -> tuple[str, int]:
    """File and line of the first caller outside this package's builder."""
    own = {__file__, sys.modules[Stream.__module__].__file__}
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename in own:
        frame = frame.f_back
    file = frame.f_code.co_filename
    try:
        shown = str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        shown = file
    return shown, frame.f_lineno
