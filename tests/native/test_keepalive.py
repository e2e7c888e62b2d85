"""Processes that tell each other that they live: silence is noticed, clocks are compared, strangers are dropped."""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from actorstream.native.keepalive import STATUS, KeepaliveThread, PeerState, tag_of
from actorstream.transports.network.keepalives import Keepalives

KEYS = [bytes([number]) * 16 for number in range(2)]
"""Of what worker 0 and worker 1 send."""
DEADLINE_S = 20.0


class End:
    """One end of a pair, over Unix datagrams."""

    def __init__(self, own: int, run: str, *, limit_s: float, grace_s: float = 60.0) -> None:
        self.peer = 1 - own
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(name(run, own))
        self.thread = KeepaliveThread(
            self.sock.fileno(), own, 1, every_s=0.01, limit_s=limit_s, grace_s=grace_s
        )
        self.thread.add(
            self.peer, struct.pack("H", socket.AF_UNIX) + name(run, self.peer), KEYS[own], KEYS[self.peer]
        )
        self.thread.start()

    def wait(self, condition: Callable[[PeerState], bool]) -> None:
        """Waits until the state of the peer is as wished."""
        while not condition(self.thread.state(self.peer)):
            assert select.select([self.thread.eventfd], [], [], DEADLINE_S)[0], "the state never changed"
            self.thread.settle()

    def close(self, *, leaves: bool = False) -> None:
        self.thread.close(leaves=leaves)
        self.sock.close()


def name(run: str, number: int) -> bytes:
    return f"\0actorstream-alive-{run}-{number}".encode()


def other(run: str, *, limit_s: float, grace_s: float = 60.0, needs: bool = False) -> subprocess.Popen[bytes]:
    """Worker 1 in a process of its own, whose Python does nothing. `needs`: it cannot go on without worker 0."""
    code = (
        "import signal; from tests.native.test_keepalive import End\n"
        f"end = End(1, {run!r}, limit_s={limit_s}, grace_s={grace_s})\n"
        f"{needs} and end.thread.need(0)\n"
        "signal.pause()\n"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)


@pytest.fixture
def run() -> str:
    return secrets.token_hex(8)


@pytest.fixture
def ends(run: str) -> Iterator[list[End]]:
    made = [End(number, run, limit_s=0.5) for number in range(2)]
    yield made
    for each in made:
        each.close()


def is_alive(state: PeerState) -> bool:
    return state == PeerState.ALIVE


def clock_of(end: End) -> tuple[int, int]:
    """The offset, once a pair of datagrams has told it."""
    while (found := end.thread.clock(end.peer)) is None:
        select.select([], [], [], 0.001)
    return found


def test_two_that_live_hear_each_other_and_agree_on_the_clock(ends: list[End]) -> None:
    for end in ends:
        end.wait(is_alive)
        ahead, error = clock_of(end)
        assert abs(ahead) <= error, "both have the same clock"


def test_a_process_that_is_stopped_is_silent(run: str) -> None:
    end = End(0, run, limit_s=0.3)
    child = other(run, limit_s=60.0)
    try:
        end.wait(is_alive)
        child.send_signal(signal.SIGSTOP)
        end.wait(lambda state: state == PeerState.SILENT)
    finally:
        child.kill()
        child.communicate()
        end.close()


def test_a_peer_that_leaves_is_not_silent(ends: list[End]) -> None:
    first, second = ends
    first.wait(is_alive)
    second.close(leaves=True)
    first.wait(lambda state: state == PeerState.LEFT)
    first.thread.forget(1)
    assert first.thread.state(1) == PeerState.LEFT
    ends.pop()


def test_datagrams_without_the_right_tag_are_dropped(ends: list[End], run: str) -> None:
    end = ends[0]
    end.wait(is_alive)
    whole = struct.pack("<IHHIIqqq", 0x766C4153, 1, 4, 1, 0, 2**62, 1, 1)  # END of worker 1
    wrong = [
        b"",
        b"x",
        bytes(48),
        whole + bytes(8),
        whole + struct.pack("<Q", tag_of(KEYS[0], whole)),  # the other direction's key
        whole + struct.pack("<Q", tag_of(KEYS[1], whole)) + b"more",
        bytes([whole[0] ^ 1]) + whole[1:] + struct.pack("<Q", tag_of(KEYS[1], whole)),
        os.urandom(1500),
    ]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        for each in wrong:
            stranger.sendto(each, name(run, 0))
    while end.thread.refused < len(wrong):
        select.select([], [], [], 0.001)
    assert end.thread.refused == len(wrong)
    assert end.thread.state(1) == PeerState.ALIVE


def test_the_tag_is_that_of_the_published_vector() -> None:
    """SipHash-2-4 of the paper's appendix A: key 00..0f, message 00..0e."""
    assert tag_of(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5


@pytest.mark.parametrize("how", ["told", "left alone"])
def test_a_process_that_python_does_not_end_in_time_is_ended(run: str, how: str) -> None:
    end = End(0, run, limit_s=60.0)
    child = other(run, limit_s=0.3, grace_s=0.1, needs=how == "left alone")
    try:
        end.wait(is_alive)
        clock_of(end)  # it has heard this end
        if how == "told":
            end.thread.end(1)
        else:
            end.close()
        _, said = child.communicate(timeout=DEADLINE_S)
    finally:
        end.close()
        child.kill()
    assert child.returncode == STATUS
    assert b"worker 1: the run has ended elsewhere" in said


# -- over streams


def over(stream: socket.socket, own: int, *, limit_s: float, vital: tuple[int, ...] = ()) -> Keepalives:
    return Keepalives.over({1 - own: stream}, own, limit_s=limit_s, vital=vital, grace_s=0.1)


def news(signs: Keepalives) -> list[tuple[int, PeerState]]:
    """What is told next; a sign of life may be nothing to tell."""
    while not (found := signs.news()):
        assert select.select([signs.eventfd], [], [], DEADLINE_S)[0], "nothing was ever told"
    return found


def test_a_call_that_keeps_the_interpreter_lock_is_no_death() -> None:
    near, far = socket.socketpair()
    with over(far, 1, limit_s=0.3) as two:
        with over(near, 0, limit_s=0.3) as one:
            sum(range(3 * 10**7))
            assert (one.news(), two.news()) == ([], [])
            while (found := one.clock(1)) is None:
                select.select([], [], [], 0.001)
            assert abs(found.ahead) <= found.error, "both have the same clock"
        while two.thread.state(0) is not PeerState.LEFT:
            select.select([two.eventfd], [], [], DEADLINE_S)
        assert two.news() == [], "one that leaves in order is not missed"


def test_silence_and_an_end_are_told_apart_and_once() -> None:
    silent, gone = socket.socketpair(), socket.socketpair()
    with Keepalives.over({3: silent[0], 5: gone[0]}, 0, limit_s=0.5) as signs:
        heard = struct.pack("<IHHIIqqq", 0x766C4153, 1, 1, 3, 0, 1, 0, 0)
        heard += struct.pack("<Q", tag_of(bytes(16), heard))
        for part in (heard[:7], heard[7:]):
            silent[1].sendall(part)
        gone[1].close()
        assert news(signs) == [(5, PeerState.CLOSED)]
        assert news(signs) == [(3, PeerState.SILENT)]
        assert signs.news() == []
    silent[1].close()


TOLD = """
import socket, sys
from tests.native.test_keepalive import over
signs = over(socket.socket(fileno=int(sys.argv[1])), 1, limit_s=30.0, vital=(0,))
print("here", flush=True)
sum(range(10**12))
"""


@pytest.mark.parametrize("how", ["told", "left alone"])
def test_a_process_that_is_told_to_end_exits_amid_a_call_that_keeps_the_lock(how: str) -> None:
    near, far = socket.socketpair()
    command = [sys.executable, "-c", TOLD, str(far.fileno())]
    with subprocess.Popen(command, pass_fds=[far.fileno()], stdout=subprocess.PIPE, text=True) as child:
        far.close()
        assert child.stdout is not None and child.stdout.readline() == "here\n"
        with over(near, 0, limit_s=30.0) as signs:
            if how == "told":
                signs.end(1)
            else:
                near.shutdown(socket.SHUT_RDWR)
            assert child.wait(20) == STATUS
