"""What the checks of actors found on one host of several, and the schemas that other hosts have found. Reads no files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from actorstream.errors import Problem
from actorstream.events.fields import Field, Kind
from actorstream.events.schema import Schema
from actorstream.topology.graph import GraphActor


class PlainSchema(msgspec.Struct, frozen=True):
    """The schema of an input file, as it is sent from rank to rank. `fields`: name, kind, nullable, categories."""

    name: str
    fields: list[tuple[str, str, bool, list[Any]]]
    event_time: str | None
    time_unit: str

    @classmethod
    def of(cls, schema: Schema) -> PlainSchema:
        user = schema.user
        fields = [(each.name, each.kind.value, each.nullable, list(each.labels)) for each in user.fields]
        return cls(user.name, fields, user.event_time, user.time_unit)

    def schema(self) -> Schema:
        fields = [
            Field(name, Kind(kind), nullable, tuple(labels)) for name, kind, nullable, labels in self.fields
        ]
        return Schema(self.name, tuple(fields), self.event_time, self.time_unit)


PlainOutputs = dict[str, dict[str, PlainSchema]]
"""Actor -> its outputs."""


class HostFindings(msgspec.Struct):
    """Keeps what the checks of actors have found on one host.

    Attributes:
        outputs: actor -> its outputs, where no check on this host found a problem with the actor.
        given: the same of all hosts together; None: they were not asked, and every problem counts.
        problems: actor -> the problems of its files that matter only if one of its replicas runs on this host.
    """

    outputs: dict[str, dict[str, Schema]] = {}
    given: dict[str, dict[str, Schema]] | None = None
    problems: dict[str, list[Problem]] = {}

    def plain(self) -> PlainOutputs:
        """The outputs that this host has found, to be sent."""
        return {
            name: {output: PlainSchema.of(schema) for output, schema in outputs.items()}
            for name, outputs in self.outputs.items()
        }

    def give(self, told: Iterable[PlainOutputs]) -> bool:
        """Takes the outputs that all hosts have found; of an actor that several have found, the first host's. Returns whether
        there is an actor among them that was not given before."""
        before, self.given = self.given or {}, {}
        for outputs in told:
            for name, found in outputs.items():
                if name not in self.given:
                    self.given[name] = {output: plain.schema() for output, plain in found.items()}
        return self.given.keys() > before.keys()

    def given_to(self, actor: GraphActor) -> Mapping[str, Schema] | None:
        """The outputs of an actor whose files are on another host; None: no host has found them."""
        return (self.given or {}).get(actor.name) if _uses_files(actor) else None

    def judge(self, actor: GraphActor, problems: list[Problem], before: int) -> None:
        """Takes note of an actor that was checked. Its problems, those from number `before` on, are taken away where only a
        host that runs one of its replicas must have its files."""
        if len(problems) == before:
            self.outputs[actor.name] = actor.outputs
        elif self.given is not None and actor.outputs and _uses_files(actor):
            self.problems.setdefault(actor.name, []).extend(problems[before:])
            del problems[before:]


def _uses_files(actor: GraphActor) -> bool:
    return actor.role != "operator" or hasattr(actor.cls, "files_read")
