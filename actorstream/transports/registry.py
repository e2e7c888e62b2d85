"""Finds transports by their entry points, so that a plugin needs no change here.

It names and loads classes; it never makes a fabric or opens anything.
"""

from __future__ import annotations

import functools
import sys
from importlib.metadata import EntryPoint, entry_points

from actorstream.errors import ConfigurationError, NotInstalledError, Problem
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.transports.base import Transport

GROUP = "actorstream.transports"
HOME = "actorstream"
"""The distribution whose optional transports have an extra of the same name."""


def installed_transports() -> list[str]:
    """Names of all transports that an installed package registers, in name order."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load_transport(name: str, *, where: str = "deploy.transport") -> type[Transport]:
    """The transport class registered as `name`.

    `where` is the key path that errors name. Raises ConfigurationError for a name that nothing registers, or a plugin
    that does not import or is no Transport; NotInstalledError for one of ours whose extra is missing.
    """
    try:
        point = _registered(name, tuple(sys.path))
    except LookupError:
        raise ConfigurationError(_unknown(name, where)) from None
    try:
        loaded = point.load()
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == HOME:  # our own tree is broken: a defect, not a missing extra
            raise
        raise _missing(point, error, where) from error
    if not (isinstance(loaded, type) and issubclass(loaded, Transport)):
        raise ConfigurationError(
            Problem(
                where,
                f"transport {name!r} is {point.value}, which is {loaded!r}",
                allowed="a subclass of actorstream.transports.base.Transport",
                hint=f"correct the entry point of {_distribution(point)}",
            )
        )
    return loaded


@functools.lru_cache
def _registered(name: str, path: tuple[str, ...]) -> EntryPoint:
    """What is installed in the folders of `path` as `name`. To look for it reads a file of each installed package, so it is
    done once; a name that is not found is looked for again, as it may be installed in the meantime."""
    points = entry_points(group=GROUP, name=name)
    if not points:
        raise LookupError(name)
    return next(iter(points))


def _unknown(name: str, where: str) -> Problem:
    names = installed_transports()
    hint = did_you_mean(name, names) or f"a plugin registers one by an entry point of group {GROUP}"
    return Problem(where, f"unknown transport {name!r}", allowed=listed(names), hint=hint)


def _missing(point: EntryPoint, error: ModuleNotFoundError, where: str) -> Exception:
    distribution = _distribution(point)
    if distribution == HOME:
        extra = point.extras[0] if point.extras else point.name
        return NotInstalledError(f"transport {point.name!r} ({error.name} is not installed)", extra)
    return ConfigurationError(
        Problem(
            where,
            f"transport {point.name!r} of {distribution} does not import: no module named {error.name!r}",
            hint=f"pip install {error.name}, or whatever {distribution} says it needs",
        )
    )


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module.split(".")[0]
