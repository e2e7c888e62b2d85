"""union passes on the rows of all its inputs, which have one schema."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream import Topology
from actorstream.errors import ConfigurationError
from actorstream.operators.union import Union
from tests.unit.operators.trades import DEPLOYMENTS, ROWS


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_the_rows_of_every_input_come_out_once(deploy: dict[str, Any]) -> None:
    topology = Topology("test")
    parts = [topology.source(ROWS[first::3], name=f"part{first}") for first in range(3)]
    found = parts[0].through("union", *parts[1:]).collect()
    topology.run(**deploy)
    assert sorted(found, key=lambda row: row.at) == ROWS


def test_inputs_of_another_schema_are_refused_with_what_differs() -> None:
    topology = Topology("test")
    rows = topology.source(ROWS[:3], name="rows")
    less = rows.through("map", name="less", select=["at", "price"])
    rows.through(Union, less, name="both").collect()
    with pytest.raises(
        ConfigurationError, match="has rows without 'quantity', without 'kind', without 'note'"
    ):
        topology.graph()
