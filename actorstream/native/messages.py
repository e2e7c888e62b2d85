"""Messages of ZeroMQ without a Python object for each part. It opens no socket: `transports/zmq` does, by pyzmq.

`message_socket(library, socket, small, most)` is the socket that libzmq has at address `socket`. A part of at most `small` bytes
comes as bytes, a larger one as a view of where it lies; of the parts behind the first one at most `most` are given. `library` is
the file of any library that is linked with libzmq. What is sent by reference is let go by a later call, on the caller's thread:
pyzmq has a thread of Python for that, which takes the interpreter's lock once a message.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import cffi

if TYPE_CHECKING:
    from collections.abc import Sequence

    class MessageSocket:
        def __init__(self, socket: int, functions: tuple[int, ...], small: int, most: int, /) -> None: ...
        def send(self, packet: bytes, bodies: Sequence[Any], /) -> bool: ...
        def receive(self) -> tuple[Any, list[Any]] | None: ...
        @staticmethod
        def free_sent() -> None: ...

else:
    from actorstream.native._objects import MessageSocket

__all__ = ["MessageSocket", "message_socket"]
_FUNCTIONS = (
    *("zmq_msg_init", "zmq_msg_init_data", "zmq_msg_recv", "zmq_msg_send", "zmq_send", "zmq_msg_close"),
    *("zmq_msg_move", "zmq_msg_data", "zmq_msg_size", "zmq_msg_more"),
)
"""In the order of native/objects/messages.c."""


def message_socket(library: str, socket: int, small: int, most: int) -> MessageSocket:
    """To be used as long as the socket is open. OSError: `library` cannot be loaded; AttributeError: it has no libzmq."""
    return MessageSocket(socket, _addresses(library), small, most)


@cache
def _addresses(library: str) -> tuple[int, ...]:
    ffi = cffi.FFI()
    ffi.cdef("".join(f"void {name}(void);" for name in _FUNCTIONS))  # only where they are is asked for
    loaded = ffi.dlopen(library)
    return tuple(int(ffi.cast("uintptr_t", ffi.addressof(loaded, name))) for name in _FUNCTIONS)
