"""Every error that actorstream raises on purpose. Each says what, where, the value, what is allowed, the next step.

Classes tell apart whose fault it is: the input (`ConfigurationError`, `SchemaError`, `DataError`), the user's operator
(`OperatorError`), this side's misuse (`ClosedError`), the other side (`BrokenError`, `ActorDeadError`), and the machine
(`ResourceError`, `NotInstalledError`).
"""

from __future__ import annotations

import msgspec

LONGEST_LINE = 1000
MOST_LINES = 400


def shortened(text: str) -> str:
    """A text that can be read: of a line of more than LONGEST_LINE characters, and of more than MOST_LINES lines, the
    beginning and the end, where an error names the place and what is allowed."""
    if len(text) <= LONGEST_LINE:
        return text
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        lines[150:-50] = [f"... ({len(lines) - 200} lines) ..."]
    return "\n".join(
        line if len(line) <= LONGEST_LINE else f"{line[:600]} ... ({len(line)} characters) ... {line[-300:]}"
        for line in lines
    )


class ActorstreamError(Exception):
    """Base of all errors of this package. Its text is short, however long the values are that it tells."""

    def __str__(self) -> str:
        return shortened(super().__str__())


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a topology or deployment.

    `where` is a path such as ``actors.split.replicas``; `file` and `line` (1-based, 0: unknown) say where it was
    written; `message` says what, with the actual value; `allowed` what would be right; `hint` the next step.
    """

    where: str
    message: str
    allowed: str = ""
    hint: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = (
            f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        )
        text = f"{place}{self.where}: {self.message}"
        if self.allowed:
            text += f"; allowed: {self.allowed}"
        if self.hint:
            text += f" ({self.hint})"
        return text


class ConfigurationError(ActorstreamError):
    """A topology, deployment or command line is wrong; `problems` lists everything that is. Exit code 2."""

    def __init__(self, problems: list[Problem] | Problem | str) -> None:
        if isinstance(problems, str):
            problems = [Problem("configuration", problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems: list[Problem] = problems
        count = len(problems)
        head = f"{count} problems:\n" if count > 1 else ""
        super().__init__(head + "\n".join(str(problem) for problem in problems))


class SchemaError(ActorstreamError):
    """An Event class or schema cannot be used, or two ends of a channel disagree about it."""


class DataError(ActorstreamError):
    """A row of the input does not parse. `file`, `line` (1-based) and `column` say where, as far as known."""

    def __init__(self, message: str, *, file: str = "", line: int = 0, column: str = "") -> None:
        place = ", ".join(
            part
            for part in (file, f"line {line}" if line else "", f"column {column!r}" if column else "")
            if part
        )
        super().__init__(f"{place}: {message}" if place else message)
        self.message, self.file, self.line, self.column = message, file, line, column

    def __reduce__(self) -> tuple[object, ...]:
        return (_data_error, (self.message, self.file, self.line, self.column))


def _data_error(message: str, file: str, line: int, column: str) -> DataError:
    return DataError(message, file=file, line=line, column=column)


class RunError(ActorstreamError):
    """The run failed. Exit code 1."""


class OperatorError(RunError):
    """User code of an actor raised. Names the operator, the input event and the traceback."""

    def __init__(self, actor: str, replica: int, error: str, event: str = "", traceback: str = "") -> None:
        text = f"operator {actor!r} (replica {replica}) failed: {error}"
        if event:
            text += f"\n  input event: {event}"
        if traceback:
            text += "\n" + "\n".join("  " + line for line in traceback.rstrip().splitlines())
        super().__init__(text)
        self.actor, self.replica, self.error, self.event, self.traceback = (
            actor,
            replica,
            error,
            event,
            traceback,
        )


class WorkerDiedError(RunError):
    """A worker process ended without saying why (killed, crashed in C, out of memory)."""


class ResourceError(ActorstreamError):
    """The machine's limits are too small for the plan. Exit code 2."""


class NotInstalledError(ActorstreamError):
    """An optional dependency is missing; the message ends with the exact pip command."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'actorstream[{extra}]'")


class ChannelError(ActorstreamError):
    """Base of what a channel, mailbox or ring can answer."""


class ClosedError(ChannelError):
    """This side has closed it already."""


class BrokenError(ChannelError):
    """The other side is lost, or sent what it must not."""


class ActorError(ActorstreamError):
    """Base of what can go wrong between control actors. Every message names the actor."""


class ActorDeadError(ActorError):
    """The actor has stopped, so a message to it cannot be delivered or an ask not answered."""


class AskTimeoutError(ActorError):
    """An ask was not answered in time."""


class MailboxFullError(ActorError):
    """The mailbox has no credit left; wait with `await ref.send(...)`, or drop the message."""
