"""Message classes on one connection: named `module:Class` once, numbered from then on, decoded typed.

Never imports: only Struct classes of modules that are loaded already, or that were registered, are decoded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from actorstream.errors import ActorError, BrokenError

PLAIN = 0
"""The number of plain msgpack values."""
REF = 1
"""The number of actor refs, which travel as their address."""
FIRST = 2
LAST = 0xFFFF

_PLAIN_CLASSES = frozenset(
    (
        type(None),
        bool,
        int,
        float,
        str,
        bytes,
        bytearray,
        memoryview,
        list,
        tuple,
        dict,
        set,
        frozenset,
        datetime,
    )
)
_CONTAINERS = frozenset((list, tuple, dict, set, frozenset))


def qualified_name(cls: type) -> str:
    """The name by which a class travels, `module:Class`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def loaded_class(name: str) -> Any:
    """What `module:Class` names in a loaded module, or None. Imports nothing, calls no module's `__getattr__`."""
    module_name, _, path = name.partition(":")
    found: Any = sys.modules.get(module_name)
    for part in path.split("."):
        if found is None:
            return None
        try:
            found = vars(found).get(part)
        except TypeError:
            return None
    return found


class OutboundTypes:
    """Numbers for the classes that this side sends."""

    __slots__ = ("_next", "numbers")

    def __init__(self, ref_class: type) -> None:
        self.numbers: dict[type, int] = {}
        self._next = FIRST
        self.numbers[ref_class] = REF

    def introduce(self, message: Any) -> tuple[int, str]:
        """The number for a class that has none yet, and the name to define it by ("": none is needed).

        Raises ActorError for what cannot travel."""
        cls = type(message)
        if cls in _PLAIN_CLASSES:
            if cls in _CONTAINERS:
                _refuse_structs_within(message)
            else:
                self.numbers[cls] = PLAIN
            return PLAIN, ""
        if not isinstance(message, msgspec.Struct):
            for known, number in self.numbers.items():
                if number == REF and isinstance(message, known):
                    self.numbers[cls] = REF
                    return REF, ""
            raise ActorError(
                f"a {qualified_name(cls)} cannot be sent to another process; allowed: msgspec Structs (Events are), "
                "plain msgpack values and actor refs"
            )
        if self._next > LAST:
            raise ActorError(f"more than {LAST - FIRST + 1} message classes on one connection: reuse classes")
        number = self.numbers[cls] = self._next
        self._next += 1
        return number, qualified_name(cls)


def _refuse_structs_within(message: Any) -> None:
    items = message.values() if isinstance(message, dict) else message
    for item in items:
        if isinstance(item, msgspec.Struct):
            raise ActorError(
                f"a {type(message).__name__} that holds a {type(item).__name__} would arrive as plain maps; make it "
                "a typed field of a Struct and send that"
            )


class InboundTypes:
    """Decoders for the numbers that the other side uses."""

    __slots__ = ("_decoders", "_reasons", "_ref", "_registered")

    def __init__(self, registered: dict[str, type], ref: Callable[[str], Any]) -> None:
        self._registered = registered
        self._ref = ref
        self._reasons: dict[int, str] = {}
        plain: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder()
        address: msgspec.msgpack.Decoder[str] = msgspec.msgpack.Decoder(str)
        self._decoders: dict[int, Callable[[Any], Any]] = {
            PLAIN: plain.decode,
            REF: lambda body: ref(address.decode(body)),
        }

    def define(self, number: int, name: str) -> None:
        if number in self._decoders or number in self._reasons or not FIRST <= number <= LAST:
            raise BrokenError(
                f"the peer defined message class {number} ({name!r}) a second time or out of range"
            )
        cls = self._registered.get(name)
        if cls is None:
            cls = loaded_class(name)
        if not isinstance(cls, type) or not issubclass(cls, msgspec.Struct):
            self._reasons[number] = (
                f"message class {name!r} is not known at the receiver: import its module there, or "
                "`system.register(Class)`"
            )
            return
        try:
            self._decoders[number] = msgspec.msgpack.Decoder(cls, dec_hook=self._hook).decode
        except Exception as error:
            self._reasons[number] = f"message class {name!r} cannot be decoded: {error}"

    def decode(self, number: int, body: bytes | memoryview) -> Any:
        """Raises ActorError for an unknown class or a body that does not fit it."""
        decoder = self._decoders.get(number)
        if decoder is None:
            raise ActorError(self._reasons.get(number) or f"message class {number} was never defined")
        try:
            return decoder(body)
        except Exception as error:
            raise ActorError(f"a message from another process does not decode: {error}") from error

    def _hook(self, cls: type, value: Any) -> Any:
        found = self._ref(value) if isinstance(value, str) else None
        if isinstance(found, cls):
            return found
        raise NotImplementedError(f"objects of type {cls.__name__} do not travel between processes")
