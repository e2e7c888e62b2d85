"""What a program's `init`, `fork` and `join` have to answer: states of the classes that it declares. Decides nothing else.

A state of another class would be taken for one of the declared class wherever it travels as bytes.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from actorstream.errors import SchemaError

if TYPE_CHECKING:
    from actorstream.dgs.program import Program
    from actorstream.dgs.states import Fork


class StateClasses:
    """The classes of a program's states, by the name of the type, for what its hooks answer.

    Raises, by all methods: SchemaError: a hook has answered something else; names the hook and what is allowed.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._classes: dict[str, Any] = {}

    def of(self, name: str) -> Any:
        """What a state of a type is an instance of."""
        found = self._classes.get(name)
        if found is None:
            declared = self.program.state_class(name)
            found = self._classes[name] = typing.get_origin(declared) or declared
        return found

    def first(self, state: Any) -> Any:
        """What `init` has answered."""
        name = self.program.state_types().initial
        self._check(state, name, "init()", _named(self.of(name)))
        return state

    def forked(self, fork: Fork, answer: Any) -> tuple[Any, Any]:
        """What the method of a fork has answered."""
        left, right = self.of(fork.left), self.of(fork.right)
        if type(answer) is tuple and len(answer) == 2:
            one, other = answer
            if isinstance(one, left) and isinstance(other, right):
                return answer
        hook = f"{self.program.fork_methods()[fork][0]}(state, left, right)"
        allowed = f"two states, a {_named(left)} and a {_named(right)}"
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise self._strange(answer, hook, allowed)
        for state, name in zip(answer, fork[1:]):
            self._check(state, name, hook, allowed)
        return answer[0], answer[1]

    def joined(self, fork: Fork, state: Any) -> Any:
        """What the method of its join has answered."""
        hook = f"{self.program.fork_methods()[fork][1]}(left, right)"
        self._check(
            state, fork.whole, hook, f"a {_named(self.of(fork.whole))}, the state that both make together"
        )
        return state

    def _check(self, state: Any, name: str, hook: str, allowed: str) -> None:
        if not isinstance(state, self.of(name)):
            raise self._strange(state, hook, allowed)

    def _strange(self, answer: Any, hook: str, allowed: str) -> SchemaError:
        text = repr(answer)
        shown = text if len(text) <= 80 else f"{text[:80]}..."
        return SchemaError(f"{type(self.program).__name__}.{hook} answered {shown}; allowed: {allowed}")


def _named(cls: Any) -> str:
    return str(getattr(cls, "__name__", cls))
