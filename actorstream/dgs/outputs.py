"""What a hook of a program put out: events it returned or yielded, and those it emitted. Gathers them, sends nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from actorstream.dgs.program import Program
from actorstream.errors import SchemaError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.topology.suggestions import no_output


class OutputError(SchemaError):
    """A program put out what its class does not allow, whatever the event was."""


class Output(NamedTuple):
    """One event, and the output of the program that it goes to."""

    to: str
    event: Event


def declared_outputs(cls: type[Program]) -> frozenset[str] | None:
    """Names of a program's outputs; None: its own `output_types` tells them by its keys and inputs."""
    own = cls.output_types.__func__ is not Program.output_types.__func__  # type: ignore[attr-defined]
    return None if own else frozenset(("default", *cls.outputs))


class Gathering:
    """Takes the place of a runtime for a program that is run in plain Python: keeps what it emits."""

    def __init__(self, program: Program, name: str = "") -> None:
        self.name = name or type(program).__name__
        self.replica, self.replicas, self.input = 0, 1, ""
        self.inputs: dict[str, Any] = {}
        self._found: list[Output] = []
        self._outputs = declared_outputs(type(program))
        program._bind(self)  # type: ignore[arg-type]

    def emit(self, item: Any, to: str) -> None:
        """Keeps an event, or a batch of them, for the output `to`. OutputError: the program has no such output."""
        if self._outputs is not None and to not in self._outputs:
            raise OutputError(no_output(self.name, to, self._outputs))
        self._add(item, to)

    def take(self, returned: Any = None) -> list[Output]:
        """Everything since the last call, with what the hook returned (a generator is run); events in their order.

        Raises:
            OutputError: it returned what is neither an event, a batch, nor several of them.
        """
        self._add(returned, "default")
        found, self._found = self._found, []
        return found

    def _add(self, item: Any, to: str) -> None:
        if item is None:
            return
        if isinstance(item, Event):
            self._found.append(Output(to, item))
        elif isinstance(item, Batch):
            self._found += [Output(to, event) for event in item.events()]
        elif isinstance(item, Iterable) and not isinstance(item, str | bytes | dict):
            for each in item:
                self._add(each, to)
        else:
            raise OutputError(
                f"{self.name} put out {item!r}; allowed: an event, a batch, several of them, or None (a state is changed "
                "in place, not returned)"
            )
