"""How large what a fabric makes must be, from the plan's channels alone. It reads no limits and takes no memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.transports.base import Channel

SPARE_BITS = 1024
"""Doorbell bits beyond the plan's, for the runtime's own use and for channels that are opened while running."""


def doorbell_bits(channels: Iterable[Channel]) -> int:
    """Bits that each worker's doorbell needs."""
    return (
        max((max(channel.send_bit, channel.receive_bit) for channel in channels), default=0) + 1 + SPARE_BITS
    )


def refuse_options(transport: str, options: dict[str, Any], allowed: Iterable[str] = ()) -> None:
    """ConfigurationError that lists every option which `transport` does not know."""
    names = sorted(allowed)
    problems = [
        Problem(
            f"fabric options of transport {transport!r}",
            f"unknown option {option!r}",
            allowed=listed(names) or "none",
            hint=did_you_mean(option, names),
        )
        for option in options
        if option not in names
    ]
    if problems:
        raise ConfigurationError(problems)
