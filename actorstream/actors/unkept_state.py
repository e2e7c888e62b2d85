"""Finds what the methods of an actor change beside `self.state`: no checkpoint keeps it. Reads source code; for notes."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType

from actorstream.actors.actor import Actor

NOT_IN_A_RUN = {"__init__", "on_start", "on_stop", "on_failure", "snapshot", "restore"}
"""Methods that change nothing that a resumed run would miss."""
CHANGES = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft"),
    *("remove", "setdefault", "sort", "update"),
}
"""Methods of Python's containers that change them."""


def unkept(cls: type) -> dict[str, str]:
    """Attribute of an actor -> the method that changes it, in alphabetical order: those that begin anew in a run that resumes.

    Empty for a class that overrides `snapshot`, and where there is no source code to read. An attribute that is changed in a way
    that the source does not show (through another name, by a call of its own method) is not found."""
    if not issubclass(cls, Actor) or cls.role == "source" or cls.snapshot is not Actor.snapshot:
        return {}
    found: dict[str, str] = {}
    for base in cls.__mro__:
        if base.__module__.split(".")[0] in ("actorstream", "builtins"):
            continue
        for name, method in vars(base).items():
            if inspect.isfunction(method) and name not in NOT_IN_A_RUN and getattr(cls, name) is method:
                for attribute in _changed(method):
                    found.setdefault(attribute, name)
    return dict(sorted(found.items()))


def _changed(method: FunctionType) -> Iterator[str]:
    """The attributes of its first argument that a method changes."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, SyntaxError, TypeError):
        return
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or not function.args.args:
        return
    own = function.args.args[0].arg
    for node in ast.walk(function):
        target: ast.AST | None = None
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            target = node
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES
        ):
            target = node.func.value
        while isinstance(target, ast.Attribute | ast.Subscript):
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                if target.value.id == own and target.attr != "state":
                    yield target.attr
                break
            target = target.value
