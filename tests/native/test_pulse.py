"""Signs of life between two ends of a connection, while Python keeps its interpreter lock or does nothing."""

from __future__ import annotations

import select
import socket
import subprocess
import sys

from actorstream.native.pulse import Pulse, Sign


def news(pulse: Pulse) -> list[tuple[int, Sign]]:
    assert select.select([pulse.eventfd], [], [], 20)[0]
    return pulse.news()


def test_a_call_that_keeps_the_interpreter_lock_is_no_death() -> None:
    near, far = socket.socketpair()
    one = Pulse({1: near}, every_s=0.02, limit_s=0.3)
    two = Pulse({0: far}, every_s=0.02, limit_s=0.3)
    sum(range(3 * 10**7))
    assert (one.news(), two.news()) == ([], [])
    one.close()
    assert not select.select([two.eventfd], [], [], 0.5)[0], "one that leaves in order is not missed"
    two.close()


def test_silence_and_an_end_are_told_apart_and_once() -> None:
    silent, gone = socket.socketpair(), socket.socketpair()
    pulse = Pulse({3: silent[0], 5: gone[0]}, every_s=0.02, limit_s=0.5)
    gone[1].close()
    assert news(pulse) == [(5, Sign.CLOSED)]
    assert news(pulse) == [(3, Sign.SILENT)]
    assert pulse.news() == []
    pulse.close()


TOLD = """
import socket, sys
from actorstream.native.pulse import Pulse
pulse = Pulse({0: socket.socket(fileno=int(sys.argv[1]))}, [0], every_s=0.02, limit_s=30.0, grace_s=0.1)
print("here", flush=True)
sum(range(10**12))
"""


def test_a_process_that_is_told_to_end_exits_amid_a_call_that_keeps_the_lock() -> None:
    near, far = socket.socketpair()
    command = [sys.executable, "-c", TOLD, str(far.fileno())]
    with subprocess.Popen(command, pass_fds=[far.fileno()], stdout=subprocess.PIPE, text=True) as told:
        far.close()
        assert told.stdout is not None and told.stdout.readline() == "here\n"
        pulse = Pulse({1: near}, every_s=0.02, limit_s=30.0)
        pulse.end(1)
        assert told.wait(20) == 137
    pulse.close()
