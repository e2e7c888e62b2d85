"""Lets a metaclass written in Python call its classes as fast as the C metaclass it derives from.

CPython 3.12 does this by itself. In 3.11 a class statement does not inherit the flag that says "I take vectorcalls", so
that each `Event(...)` first packs its arguments into a tuple: 47 ns instead of 29 (benchmark `python-map`, twice an
event). Where anything is not laid out as expected nothing is changed.
"""

from __future__ import annotations

import ctypes
import sys

_HAVE_VECTORCALL = 1 << 11
# where PyTypeObject has tp_vectorcall_offset and tp_flags: words behind the variable object's head
_OFFSET_AT = object.__basicsize__ + 8 + 4 * 8
_FLAGS_AT = object.__basicsize__ + 8 + 18 * 8


def inherit_vectorcall(metaclass: type) -> bool:
    """Marks `metaclass` as taking vectorcalls if its base does and it calls its classes like the base; whether it does
    now. To be called before the metaclass has classes."""
    base = metaclass.__base__
    if metaclass.__flags__ & _HAVE_VECTORCALL:
        return True
    if (
        sys.implementation.name != "cpython"
        or sys.version_info[:2] != (3, 11)
        or base is None
        or not base.__flags__ & _HAVE_VECTORCALL
        or metaclass.__call__ is not base.__call__
    ):
        return False
    own, given = (ctypes.c_ulong.from_address(id(each) + _FLAGS_AT) for each in (metaclass, base))
    offsets = [ctypes.c_ssize_t.from_address(id(each) + _OFFSET_AT).value for each in (metaclass, base)]
    if own.value != metaclass.__flags__ or given.value != base.__flags__ or offsets[0] != offsets[1]:
        return False
    own.value |= _HAVE_VECTORCALL
    return bool(metaclass.__flags__ & _HAVE_VECTORCALL)
