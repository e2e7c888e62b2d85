"""Profiles in TOML files: reading with every problem listed, and writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.placement.rlas.profile import LARGEST, Measured, OperatorProfile, OutputProfile, Profile
from actorstream.placement.rlas.toml_text import toml_text
from actorstream.topology.conversion import shown
from actorstream.topology.decode import decode_struct
from actorstream.topology.positions import Path as KeyPath
from actorstream.topology.tables import read_table
from actorstream.topology.written import Written


def load_profile(path: str | Path, topology: int = 0) -> Profile:
    """The profile in a TOML file. ConfigurationError: it cannot be read, is no profile, or is another topology's.

    `topology`: the `profile_fingerprint` of the graph that it must have been measured on; 0: any."""
    problems: list[Problem] = []
    table, written = read_table(Path(path), "a profile", problems)
    if table is None:
        raise ConfigurationError(problems)
    fingerprint = _fingerprint(table.get("topology", 0), written, problems)
    operators = _tables(table.get("operators", {}), ("operators",), written, problems)
    plain = {key: value for key, value in table.items() if key != "operators"} | {"topology": fingerprint}
    profile = decode_struct(Profile, plain, (), written, problems)
    found = {
        name: _operator(each, ("operators", name), written, problems) for name, each in operators.items()
    }
    if not operators and not problems:
        message = "has no operators"
        problems.append(written.problem(("operators",), message, "one table [operators.NAME] for each actor"))
    if profile is not None and topology and profile.topology not in (0, topology):
        message = f"is {profile.topology:016x}, so the profile was measured on another topology"
        hint = "measure again with actorstream profile TOPOLOGY"
        problems.append(written.problem(("topology",), message, f"{topology:016x}", hint))
    if problems or profile is None:
        raise ConfigurationError(problems)
    return msgspec.structs.replace(
        profile, operators={name: each for name, each in found.items() if each is not None}
    )


def profile_text(profile: Profile) -> str:
    """The TOML text that `load_profile` reads back as the same profile."""
    table: dict[str, Any] = msgspec.to_builtins(profile)
    table["topology"] = f"{profile.topology:016x}"
    for each in table["operators"].values():
        for key, usual in (
            ("members", []),
            ("outputs", {}),
            ("in_run", 1.0),
            ("apart", 1.0),
            ("hand_over_ns", 0.0),
            ("halved_ns", 0.0),
            ("beside_ns", 0.0),
        ):
            if each[key] == usual:
                del each[key]
        for output in each.get("outputs", {}).values():
            for key in ("by_input", "route_ns"):
                if not output[key]:
                    del output[key]
    return toml_text(table)


def _fingerprint(value: Any, written: Written, problems: list[Problem]) -> int:
    try:
        return int(value, 16) if isinstance(value, str) else int(value)
    except (ValueError, TypeError, OverflowError):
        problems.append(written.problem(("topology",), f"is {shown(value)}", "16 hexadecimal digits"))
        return 0


def _operator(
    table: dict[str, Any], path: KeyPath, written: Written, problems: list[Problem]
) -> OperatorProfile | None:
    before = len(problems)
    outputs = _tables(table.get("outputs", {}), (*path, "outputs"), written, problems)
    streams = {
        name: decode_struct(OutputProfile, each, (*path, "outputs", name), written, problems)
        for name, each in outputs.items()
    }
    plain = {key: value for key, value in table.items() if key != "outputs"}
    found = decode_struct(OperatorProfile, plain, path, written, problems)
    if found is None or len(problems) > before:
        return None
    _check_batches(found.batches, path, written, problems)
    known = {name: each for name, each in streams.items() if each is not None}
    return msgspec.structs.replace(found, outputs=known)


def _check_batches(batches: list[Measured], path: KeyPath, written: Written, problems: list[Problem]) -> None:
    if not batches:
        problems.append(written.problem((*path, "batches"), "is empty", "at least one measured batch size"))
    for number, each in enumerate(batches):
        where = (*path, "batches", number)
        if "p50" not in each.execute_ns:
            problems.append(written.problem((*where, "execute_ns"), "has no p50", "percentiles with p50"))
        for name, value in each.execute_ns.items():
            if not 0 <= value <= LARGEST:
                place = (*where, "execute_ns", name)
                problems.append(written.problem(place, f"is {value:g}", "a number from 0 to 1e15"))
        if number and each.rows <= batches[number - 1].rows:
            problems.append(written.problem((*where, "rows"), f"is {each.rows}", "ascending batch sizes"))


def _tables(
    value: Any, path: KeyPath, written: Written, problems: list[Problem]
) -> dict[str, dict[str, Any]]:
    if isinstance(value, dict) and all(isinstance(each, dict) for each in value.values()):
        return value
    problems.append(written.problem(path, f"is {shown(value)}", "one table for each name"))
    return {}
