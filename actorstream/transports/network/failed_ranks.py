"""How a rank that has failed says so in whatever gather the others are in, so that all ranks stay in step. Bytes only."""

from __future__ import annotations

from collections.abc import Sequence

from actorstream.errors import ConfigurationError

_MARK = b"\xc1"
"""No message in msgpack begins so."""


class FailedRanksError(ConfigurationError):
    """Other ranks have failed before this gather. It is the last one of all ranks, and `told` is what each has given in it."""

    def __init__(self, told: list[bytes]) -> None:
        super().__init__("another rank has failed")
        self.told = told


def as_failure(said: bytes) -> bytes:
    """What a rank that has failed gives; `said`: its error."""
    return _MARK + said


def failures(told: Sequence[bytes]) -> list[bytes]:
    """The errors in what all ranks have given."""
    return [each[len(_MARK) :] for each in told if each.startswith(_MARK)]


def none_failed(told: list[bytes]) -> list[bytes]:
    """Returns what all ranks have given. FailedRanksError: some give that they have failed."""
    if failures(told):
        raise FailedRanksError(told)
    return told
