"""`--set path=value`: parsing one, and laying it over the tables of a file. Pure."""

from __future__ import annotations

import tomllib
from typing import Any

from actorstream.errors import Problem
from actorstream.topology.positions import Path as KeyPath
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.topology.written import Written, dotted

ROOTS = ("name", "actors", "deploy")
ALLOWED = "actors.ACTOR.KEY=VALUE or deploy.KEY=VALUE (a value is TOML, else text)"


def parse_override(text: str) -> tuple[KeyPath, Any]:
    """``"actors.split.replicas=2"`` -> path and value; ValueError if it is not PATH=VALUE.

    The value is read as TOML, and as text where it is not TOML: ``path=data/a.csv`` needs no quotes."""
    key, equals, value = text.partition("=")
    path = _key_path(key.strip())
    if not equals or not path:
        raise ValueError(f"--set {text} is not PATH=VALUE")
    try:
        parsed = tomllib.loads(f"value = {value.strip()}")
    except (ValueError, RecursionError):  # no TOML, or a number or nesting that Python does not read
        return path, value
    return path, parsed["value"] if parsed.keys() == {"value"} else value


def _key_path(key: str) -> KeyPath:
    try:
        table: Any = tomllib.loads(f"{key} = true")
    except (ValueError, RecursionError):
        return ()
    path: list[str | int] = []
    while isinstance(table, dict):
        if len(table) != 1:
            return ()
        step, table = next(iter(table.items()))
        path.append(step)
    return tuple(path)


def split_overrides(sets: list[str], problems: list[Problem]) -> tuple[list[tuple[KeyPath, Any, str]], ...]:
    """The overrides of the topology and those of the deployment (without their leading "deploy")."""
    topology: list[tuple[KeyPath, Any, str]] = []
    deployment: list[tuple[KeyPath, Any, str]] = []
    for text in sets:
        try:
            path, value = parse_override(text)
        except ValueError:
            problems.append(Problem(f"--set {text}", "is not PATH=VALUE", ALLOWED))
            continue
        root = str(path[0])
        if root == "deploy" and len(path) > 1:
            deployment.append((path[1:], value, text))
        elif (root == "name" and len(path) == 1) or (root == "actors" and len(path) > 2):
            topology.append((path, value, text))
        else:
            problems.append(
                Problem(f"--set {text}", f"{dotted(path)} is no key", ALLOWED, did_you_mean(root, ROOTS))
            )
    return topology, deployment


def apply_overrides(
    table: dict[str, Any],
    overrides: list[tuple[KeyPath, Any, str]],
    written: Written,
    problems: list[Problem],
) -> None:
    """Lays each override over `table` in order, and notes in `written` where the value comes from now."""
    for path, value, text in overrides:
        steps = _apply(table, path, value, text, problems)
        if steps:
            written.overrides[steps] = f"--set {text}"


def _apply(table: dict[str, Any], path: KeyPath, value: Any, text: str, problems: list[Problem]) -> KeyPath:
    inside: Any = table
    steps: list[str | int] = []
    for number, step in enumerate(path):
        last = number == len(path) - 1
        if isinstance(inside, list):
            if not str(step).isdecimal() or int(step) >= len(inside):
                allowed = f"0 to {len(inside) - 1}" if inside else "nothing, the array is empty"
                problems.append(
                    Problem(f"--set {text}", f"{dotted(tuple(steps))} has no element {step}", allowed)
                )
                return ()
            step = int(step)
        elif not isinstance(inside, dict):
            problems.append(
                Problem(f"--set {text}", f"{dotted(tuple(steps))} is a value and has no keys", ALLOWED)
            )
            return ()
        elif steps == ["actors"] and step not in inside:
            hint = did_you_mean(str(step), inside)
            problems.append(
                Problem(f"--set {text}", f"there is no actor {str(step)!r}", listed(inside), hint)
            )
            return ()
        steps.append(step)
        if last:
            inside[step] = value
        elif isinstance(inside, dict):
            inside = inside.setdefault(step, {})
        else:
            if isinstance(inside[step], str):  # the short form of an input
                inside[step] = {"from": inside[step]}
            inside = inside[step]
    return tuple(steps)
