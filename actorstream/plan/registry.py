"""The actor types that `type = ...` may name: built-in connectors and operators, plugins, and users' own classes."""

from __future__ import annotations

from functools import cache

from actorstream.connectors import BUILTIN as CONNECTORS
from actorstream.operators import BUILTIN as OPERATORS
from actorstream.topology.registry import TypeRegistry


@cache
def registry() -> TypeRegistry:
    """The registry of this installation; entry points of the group "actorstream.types" included."""
    return TypeRegistry({**CONNECTORS, **OPERATORS})
