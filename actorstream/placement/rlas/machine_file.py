"""Machine models in TOML files: reading with every problem listed, and writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.placement.rlas.machine_model import MachineModel, check_machine_model
from actorstream.placement.rlas.toml_text import toml_text
from actorstream.topology.decode import decode_struct
from actorstream.topology.tables import read_table


def load_machine_model(path: str | Path) -> MachineModel:
    """The model in a TOML file. ConfigurationError: it cannot be read, or is no complete, symmetric model."""
    problems: list[Problem] = []
    table, written = read_table(Path(path), "a machine model", problems)
    model = decode_struct(MachineModel, table, (), written, problems) if table is not None else None
    if problems or model is None:
        raise ConfigurationError(problems)
    return check_machine_model(model, str(path))


def machine_text(model: MachineModel) -> str:
    """The TOML text that `load_machine_model` reads back as the same model."""
    table: dict[str, Any] = msgspec.to_builtins(model)
    table["sockets"] = [
        {name: value for name, value in each.items() if value not in ([], "", -1)}
        for each in table["sockets"]
    ]
    if not model.core_ns:
        del table["core_ns"]
    return toml_text(table)
