"""What is wrong with the methods of a program, as far as their names and arguments tell. Calls none of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from actorstream.errors import Problem

if TYPE_CHECKING:
    from actorstream.dgs.program import Program

NEEDED = {"depends": ("one", "other"), "update": ("state", "event", "tag")}
"""Methods that each program defines, and what they are called with."""
OPTIONAL = {
    "init": (),
    "update_batch": ("state", "batch", "tag"),
    "end": ("state",),
    "checkpoint": ("state", "joins", "elapsed"),
}
FORK, JOIN = ("state", "left", "right"), ("left", "right")


def problems_of_methods(program: Program, base: type) -> Iterator[Problem]:
    """`base`: the class whose `depends` and `update` are none."""
    kind = type(program)
    for name, arguments in NEEDED.items():
        if getattr(kind, name) is getattr(base, name):
            yield Problem("", f"it does not define {_call(name, arguments)}", "a program that does")
        else:
            yield from _method(program, name, arguments)
    for name, arguments in OPTIONAL.items():
        if hasattr(program, name):
            yield from _method(program, name, arguments)
    for forking, joining in _forks(program):
        yield from _method(program, forking, FORK)
        yield from _method(program, joining, JOIN)


def _forks(program: Program) -> list[tuple[str, str]]:
    """Pairs of names of methods, each pair once; those that are no methods are told elsewhere."""
    forks = program.forks if isinstance(program.forks, Mapping) else {}
    names = forks.values() if forks else [("fork", "join")]
    return [
        pair for pair in dict.fromkeys(names) if all(callable(getattr(program, each, None)) for each in pair)
    ]


def _method(program: Program, name: str, arguments: tuple[str, ...]) -> Iterator[Problem]:
    method: Any = getattr(program, name)
    if not callable(method):
        yield Problem("", f"its {name} is {method!r}", f"a method {_call(name, arguments)}")
        return
    if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
        hint = "let a source or an actor before or behind the program wait for what takes time"
        yield Problem("", f"its {name} is an `async def`", f"a plain `def` of {_call(name, arguments)}", hint)
        return
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError as error:
        takes = _call(name, tuple(inspect.signature(method).parameters))
        yield Problem("", f"it defines {takes}: {error}", f"what can be called as {_call(name, arguments)}")
    except ValueError:  # of a compiled function, which does not tell
        return


def _call(name: str, arguments: tuple[str, ...]) -> str:
    return f"{name}({', '.join(arguments)})"
