"""A rank waits until what it has said was read, before it ends those who read it."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

from actorstream.transports.mpi.output import unread, wait_until_read


def test_what_nobody_has_read_is_waited_for_until_it_is() -> None:
    for reader, writer in (os.pipe(), [each.detach() for each in socket.socketpair()]):
        os.write(writer, b"why the run ends")
        assert unread(writer) > 0
        assert not wait_until_read(0.01, (writer,))
        reads = threading.Thread(target=os.read, args=(reader, 100))
        reads.start()
        assert wait_until_read(20.0, (writer,))
        reads.join()
        assert unread(writer) == 0
        os.close(reader)
        os.close(writer)


def test_a_file_is_read_by_nobody_and_not_waited_for(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb", buffering=0) as log:
        log.write(b"why the run ends")
        assert wait_until_read(0.0, (log.fileno(),))
