"""TOML files (and --set) to `TopologySpec` and `DeploySpec`. Reads files; knows nothing of actor classes.

Every reader collects problems and goes on, so that one listing names them all; `load_*` raise that listing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.conversion import MismatchError, expanded, shown
from actorstream.topology.decode import decode_struct, decode_value, mismatched, unknown_key
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.modules import project_root
from actorstream.topology.overrides import apply_overrides, split_overrides
from actorstream.topology.spec import (
    ACTOR_NAME,
    NAME_ALLOWED,
    RESERVED,
    ActorSpec,
    InputSpec,
    OnError,
    Replicas,
    TopologySpec,
)
from actorstream.topology.suggestions import nearest
from actorstream.topology.tables import read_table
from actorstream.topology.written import Written

INPUT_ALLOWED = '"actor" or "actor.output"'


def load_topology(path: str | Path, sets: Iterable[str] = ()) -> TopologySpec:
    """The topology in a TOML file. ConfigurationError lists every problem with file and line."""
    problems: list[Problem] = []
    spec = read_topology(path, sets, problems)
    if problems or spec is None:
        raise ConfigurationError(problems)
    return spec


def load_deploy(path: str | Path | None = None, sets: Iterable[str] = (), **keys: Any) -> DeploySpec:
    """The deployment in a TOML file (None: the defaults), with `sets` and then `keys` laid over it."""
    problems: list[Problem] = []
    spec, _ = read_deploy(path, sets, problems, **keys)
    if problems:
        raise ConfigurationError(problems)
    return spec


def read_topology(path: str | Path, sets: Iterable[str], problems: list[Problem]) -> TopologySpec | None:
    """As `load_topology`, but adds to `problems` and answers what could be read; None if it is not TOML."""
    file = Path(path)
    table, written = read_table(file, "a topology", problems)
    if table is None:
        return None
    apply_overrides(table, split_overrides(list(sets), problems)[0], written, problems)
    return decode_topology(table, written, problems, default_name=file.resolve().parent.name, file=file)


def decode_topology(
    table: dict[str, Any], written: Written, problems: list[Problem], *, default_name: str, file: Path
) -> TopologySpec:
    """The topology that a parsed document describes."""
    for key in table:
        if key not in ("name", "actors"):
            problem = unknown_key(key, ("name", "actors"), (key,), written)
            deploy_keys = DeploySpec.__struct_fields__
            if key in ("deploy", *deploy_keys):
                hint = "give it with --deploy FILE or --set deploy.KEY=VALUE"
                problem = written.problem(
                    (key,), "belongs to a deployment, not to a topology", "name, actors", hint
                )
            problems.append(problem)
    name = table.get("name", default_name)
    if not isinstance(name, str) or not name:
        problems.append(written.problem(("name",), f"is {shown(name)}", "text"))
        name = default_name
    actors = table.get("actors")
    if not isinstance(actors, dict) or not actors:
        message = "has no actors" if actors in (None, {}) else f"is {shown(actors)}"
        problems.append(written.problem(("actors",), message, "one table [actors.NAME] for each actor"))
        actors = {}
    spec = TopologySpec(name=name, file=str(file), root=project_root(file), written=written)
    for actor_name, actor_table in actors.items():
        actor = _decode_actor(actor_name, actor_table, written, problems)
        if actor is not None:
            spec.actors[actor_name] = actor
    return spec


def _decode_actor(name: str, table: Any, written: Written, problems: list[Problem]) -> ActorSpec | None:
    path = ("actors", name)
    if not ACTOR_NAME.fullmatch(name):
        problems.append(written.problem(path, f"{name!r} is no name for an actor", NAME_ALLOWED))
    if not isinstance(table, dict):
        problems.append(written.problem(path, f"is {shown(table)}", "a table with at least the key type"))
        return None

    def field(key: str, annotation: Any, default: Any) -> Any:
        if key not in table:
            return default
        try:
            return decode_value(table[key], annotation, (*path, key), written)
        except MismatchError as mismatch:
            problems.append(mismatched(mismatch, (*path, key), written))
            return default

    kind = field("type", str, "")
    if table.get("type") == "":
        problems.append(
            written.problem((*path, "type"), "is ''", 'a built-in type or "package.module:Class"')
        )
    if "type" not in table:
        meant = nearest("type", [key for key in table if key not in RESERVED])
        hint = f"{meant!r} may be meant" if meant else ""
        problems.append(
            written.problem(path, "has no type", 'a built-in type or "package.module:Class"', hint)
        )
    return ActorSpec(
        name=name,
        type=kind,
        inputs=_decode_inputs(table.get("inputs", []), (*path, "inputs"), written, problems),
        replicas=field("replicas", Replicas, 1),
        outputs=field("outputs", dict[str, str | dict[str, str]], {}),
        on_error=field("on_error", OnError, "fail"),
        keys={key: value for key, value in table.items() if key not in RESERVED},
    )


def _decode_inputs(
    inputs: Any, path: tuple[str | int, ...], written: Written, problems: list[Problem]
) -> list[InputSpec]:
    if not isinstance(inputs, list):
        hint = f'write inputs = ["{inputs}"]' if isinstance(inputs, str) else ""
        problems.append(
            written.problem(
                path, f"is {shown(inputs)}", 'an array such as ["actor", { from = "actor" }]', hint
            )
        )
        return []
    found = []
    for number, each in enumerate(inputs):
        if isinstance(each, str):
            found.append(InputSpec(from_=each))
            if not each:
                problems.append(written.problem((*path, number), "is ''", INPUT_ALLOWED))
        elif isinstance(each, dict):
            decoded = decode_struct(InputSpec, each, (*path, number), written, problems)
            # a place is kept for one that cannot be read, so that numbers stay those of the file
            found.append(decoded or InputSpec(from_=""))
            if decoded is not None and not decoded.from_:
                problems.append(written.problem((*path, number, "from"), "is ''", INPUT_ALLOWED))
        else:
            problems.append(
                written.problem((*path, number), f"is {shown(each)}", '"actor" or { from = "actor", … }')
            )
            found.append(InputSpec(from_=""))
    return found


def read_deploy(
    path: str | Path | None, sets: Iterable[str], problems: list[Problem], **keys: Any
) -> tuple[DeploySpec, Written]:
    """As `load_deploy`, but adds to `problems`; wrong keys keep their defaults."""
    table: dict[str, Any] | None = {}
    written = Written()
    if path is not None:
        table, written = read_table(Path(path), "a deployment", problems)
    table = table or {}
    apply_overrides(table, split_overrides(list(sets), [])[1], written, problems)
    for key, value in keys.items():
        if value is not None:
            table[key] = _as_table(value)
            written.overrides[(key,)] = f"argument {key}={value!r}"
    spec = decode_struct(DeploySpec, table, (), written, problems) or DeploySpec()
    if spec.checkpoint is not None and "://" not in spec.checkpoint.path:
        base = written.base(("checkpoint", "path"))
        spec.checkpoint.path = str(base / expanded(spec.checkpoint.path))
    for key in ("profile", "machine"):
        if spec.rlas is not None and (value := getattr(spec.rlas, key)):
            setattr(spec.rlas, key, str(written.base(("rlas", key)) / expanded(value)))
    if spec.hosts and "workers" not in table:
        spec.workers = sum(host.slots for host in spec.hosts)
    network = spec.network
    for key in ("key", "discovery"):
        if value := getattr(network, key):
            path_given = written.base(("network", key)) / expanded(value)
            setattr(network, key, str(path_given))
    return spec, written


def _as_table(value: Any) -> Any:
    return msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else copy.deepcopy(value)
