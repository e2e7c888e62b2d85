"""Names of actor types to classes: built-in names passed in, plugins' entry points, "package.module:Class".

It imports only the class that is asked for, and knows no type itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any

from actorstream.topology.modules import NotFoundError, load_object
from actorstream.topology.suggestions import did_you_mean, listed

GROUP = "actorstream.types"
HOOKS = {"source": "partitions", "operator": "contract_of", "sink": "prepare"}
"""Role -> a method that every class of it has."""


class TypeRegistry:
    """What `type = …` may say.

    Args:
        types: built-in name -> "module:Class", or the class itself.
        plugins: whether entry points of the group "actorstream.types" count too.
    """

    def __init__(self, types: Mapping[str, str | type], *, plugins: bool = True) -> None:
        self._own: dict[str, Any] = dict(types)
        self._plugins = plugins

    @cached_property
    def _types(self) -> dict[str, Any]:
        """With those of plugins, which are looked for once somebody asks for a name that is not our own."""
        points = entry_points(group=GROUP) if self._plugins else ()
        return {point.name: point.value for point in points} | self._own

    def names(self) -> list[str]:
        """Names that can be resolved, in name order; besides them, any "package.module:Class"."""
        return sorted(self._types)

    def resolve(self, name: str | type) -> type:
        """The class of a type; NotFoundError says what is wrong and which names there are."""
        if isinstance(name, str):
            known = self._own.get(name)
            if known is None and ":" not in name and (known := self._types.get(name)) is None:
                raise self._unknown(name)
            found = load_object(known or name, noun="class") if isinstance(known or name, str) else known
        else:
            found = name
        role = getattr(found, "role", None)
        if not isinstance(found, type) or role not in HOOKS or not hasattr(found, "contract_of"):
            raise NotFoundError(f"{name!r} is {found!r}", "a subclass of actorstream.Actor, Source or Sink")
        if not hasattr(found, HOOKS[role]):
            base = role.capitalize()
            message = f"{name!r} has the role {role!r} and no method {HOOKS[role]!r}, which {base} gives it"
            raise NotFoundError(message, f"a subclass of actorstream.{base}")
        return found

    def _unknown(self, name: str) -> NotFoundError:
        allowed = f'{listed(self.names())}, or "package.module:Class"'
        return NotFoundError(f"there is no type {name!r}", allowed, did_you_mean(name, self.names()))
