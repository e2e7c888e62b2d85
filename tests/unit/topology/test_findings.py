"""A host knows an actor's outputs by the files that it has, or is given them by one that has the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actorstream.errors import ConfigurationError, Problem
from actorstream.events.fields import Field, Kind
from actorstream.events.schema import Schema
from actorstream.plan.registry import registry
from actorstream.topology.findings import HostFindings, PlainOutputs, PlainSchema
from actorstream.topology.inputs import read_inputs

TOPOLOGY = """
name = "files"
[actors.people]
type = "csv-source"
path = "people.csv"
event_time = "born"
time_unit = "s"
[actors.rows]
type = "csv-sink"
inputs = ["people"]
path = "rows.csv"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "topology.toml").write_text(TOPOLOGY)
    (tmp_path / "people.csv").write_text("name,born\nAda,1815\n")
    return tmp_path / "topology.toml"


def sent(findings: HostFindings) -> PlainOutputs:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(findings.plain()), type=PlainOutputs)


def fingerprint(file: Path, findings: HostFindings, *sets: str) -> int:
    return read_inputs(file, sets=sets, registry=registry(), findings=findings).graph.fingerprint


def test_a_graph_is_the_same_with_outputs_that_another_host_has_found(file: Path) -> None:
    here, there = HostFindings(), HostFindings()
    expected = fingerprint(file, there)
    missing = "actors.people.path=none.csv"
    with pytest.raises(ConfigurationError, match="does not exist"):
        fingerprint(file, here, missing)
    assert here.give([sent(here), sent(there)])
    assert fingerprint(file, here, missing) == expected
    assert [each.where for each in here.problems["people"]] == ["actors.people.path"]
    assert not here.give([sent(here), sent(there)]), "nothing that was not known"


def test_the_outputs_of_the_first_host_that_has_found_an_actor_are_given() -> None:
    first, second = ({"a": {"default": PlainSchema(name, [], None, "ms")}} for name in ("First", "Second"))
    findings = HostFindings()
    findings.give([{}, first, second])
    assert findings.given is not None and findings.given["a"]["default"].name == "First"


def test_a_problem_that_no_host_settles_stays_one(file: Path) -> None:
    here = HostFindings()
    here.give([{}])
    with pytest.raises(ConfigurationError, match="does not exist"):
        fingerprint(file, here, "actors.people.path=none.csv")


def test_a_sink_whose_folder_cannot_be_is_set_aside_once_hosts_were_asked(file: Path) -> None:
    here, wrong = HostFindings(), f"actors.rows.path={file}/rows.csv"
    with pytest.raises(ConfigurationError, match="is a file"):
        fingerprint(file, here, wrong)
    here.give([])
    fingerprint(file, here, wrong)
    assert [type(each) for each in here.problems["rows"]] == [Problem]


@pytest.mark.parametrize(
    ("fields", "time"),
    [
        ([Field("a", Kind.INT64), Field("b", Kind.STRING, True)], {"event_time": "a", "time_unit": "us"}),
        ([Field("a", Kind.DICTIONARY, False, ("x", "y")), Field("b", Kind.DICTIONARY, True, (1, 2))], {}),
        ([Field("at", Kind.DATETIME)], {"event_time": "at"}),
    ],
)
def test_a_schema_is_the_same_after_it_was_sent(fields: list[Field], time: dict[str, Any]) -> None:
    schema = Schema("Row", tuple(fields), **time)
    plain = msgspec.msgpack.decode(msgspec.msgpack.encode(PlainSchema.of(schema)), type=PlainSchema)
    assert (plain.schema(), plain.schema().name) == (schema, "Row")
