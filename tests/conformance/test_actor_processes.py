"""Control actors between real processes: order, credit, typed errors, and every way of losing a peer."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from actorstream.actors import Actor, System, Terminated
from actorstream.errors import BrokenError, MailboxFullError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "unit" / "actors"


@pytest.fixture
def peer_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(FOLDER))
    import actor_peer

    yield actor_peer
    sys.modules.pop("actor_peer", None)


@asynccontextmanager
async def processes(
    *names: str, loop: str = "uvloop"
) -> AsyncIterator[tuple[System, dict[str, subprocess.Popen[bytes]]]]:
    """A system "test" here and one process for each name, every pair joined by a socketpair made before they
    start. Begins when all are connected."""
    everybody = ("test", *names)
    sockets: dict[str, dict[str, socket.socket]] = {name: {} for name in everybody}
    for one, other in itertools.combinations(everybody, 2):
        sockets[one][other], sockets[other][one] = socket.socketpair()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(FOLDER), str(ROOT)])}
    children = {}
    for name in names:
        fds = {peer: sock.fileno() for peer, sock in sockets[name].items()}
        children[name] = subprocess.Popen(
            [sys.executable, "-c", "import actor_peer; actor_peer.main()", name, loop]
            + [f"{peer}={fd}" for peer, fd in fds.items()],
            pass_fds=tuple(fds.values()),
            env=environment,
        )
        for sock in sockets[name].values():
            sock.close()
    try:
        async with System("test") as system:
            adopted = (system.adopt(sock, peer=peer, timeout=60) for peer, sock in sockets["test"].items())
            await asyncio.gather(*adopted)
            for name in names:
                await system.ref(f"{name}/speaker").ask([[other for other in names if other != name], 0])
            yield system, children
        for child in children.values():
            child.wait(30)
    finally:
        for child in children.values():
            child.kill()
            child.wait()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_messages_of_one_sender_arrive_in_order_and_none_is_lost(
    peer_module: ModuleType, loop: str
) -> None:
    async with processes("far", loop=loop) as (system, _):
        ref = system.ref("far/recorder")
        sent = [peer_module.Item("test", number) for number in range(20_000)]
        for item in sent:
            try:
                ref.tell(item)
            except MailboxFullError:
                await ref.send(item)
        assert await ref.ask("count") == len(sent)
        assert await ref.ask("seen") == [["test", number] for number in range(20_000)]


async def test_an_answer_is_typed_and_comes_from_another_process(peer_module: ModuleType) -> None:
    async with processes("far") as (system, children):
        ref = system.ref("far/recorder")
        assert await ref.ask("pid") == children["far"].pid
        item = peer_module.Item("test", 1)
        assert await ref.ask(item) == item


async def test_an_exception_of_another_process_is_raised_here_with_its_traceback(
    peer_module: ModuleType,
) -> None:
    async with processes("far") as (system, _):
        with pytest.raises(peer_module.OddError) as caught:
            await system.ref("far/recorder").ask("raise")
        assert caught.value.args == ("from afar", 7)
        assert 'raise OddError("from afar", 7)' in caught.value.remote_traceback
        assert await system.ref("far/recorder").ask("count") == 0


async def test_workers_talk_to_each_other_without_a_master(peer_module: ModuleType) -> None:
    names = ["worker-0", "worker-1", "worker-2"]
    async with processes(*names) as (system, _):
        sent = await asyncio.gather(
            *(
                system.ref(f"{name}/speaker").ask([[other for other in names if other != name], 500])
                for name in names
            )
        )
        assert sent == [1000] * 3
        for name in names:
            ref = system.ref(f"{name}/recorder")
            while await ref.ask("count") < 1000:
                await asyncio.sleep(0)
            seen = await ref.ask("seen")
            for other in names:
                numbers = [number for sender, number in seen if sender == f"{other}/speaker"]
                assert numbers == ([] if other == name else list(range(500)))


class Watcher(Actor):
    def on_start(self) -> None:
        self.deaths: list[Terminated] = []
        self.told = asyncio.Event()

    async def on_message(self, message: Any) -> Any:
        if isinstance(message, Terminated):
            self.deaths.append(message)
            return None
        if message == "deaths":
            return self.deaths
        for _ in range(2):
            self.watch(self.ref(message))
        return None


@pytest.mark.parametrize("how", ["kills itself", "is killed"])
async def test_a_killed_process_fails_its_asks_and_is_told_to_watchers_once(how: str) -> None:
    async with processes("far", "other") as (system, children):
        ref = system.ref("far/recorder")
        watcher = await system.spawn(Watcher)
        await watcher.ask("far/recorder")
        asks = [asyncio.ensure_future(ref.ask("for ever")) for _ in range(10)]
        waiting = asyncio.ensure_future(ref.wait_stopped())
        await system.ref("other/recorder").ask("pid")
        if how == "is killed":
            children["far"].send_signal(signal.SIGKILL)
        else:
            system.ref("far/speaker").tell("die")
        for ask in asks:
            with pytest.raises(BrokenError, match="'far' is lost"):
                await ask
        assert "lost" in await waiting
        (death,) = await watcher.ask("deaths")
        assert death.name == "far/recorder"
        assert system.peers == ["other"]
        assert await system.ref("other/recorder").ask("pid") == children["other"].pid


async def test_a_process_that_stands_still_takes_no_more_than_its_credit(peer_module: ModuleType) -> None:
    async with processes("far") as (system, children):
        ref = system.ref("far/recorder")
        await ref.ask("pid")
        children["far"].send_signal(signal.SIGSTOP)
        told = 0
        try:
            with pytest.raises(MailboxFullError):
                while True:
                    ref.tell(peer_module.Item("x" * 1000, told))
                    told += 1
            assert told * 1000 <= system.mailbox_bytes
        finally:
            children["far"].send_signal(signal.SIGCONT)
        await ref.send(peer_module.Item("last", told))
        assert await ref.ask("count") == told + 1


async def test_a_system_that_ends_says_goodbye_and_its_peers_end_too() -> None:
    async with processes("far") as (system, children):
        await system.ref("far/recorder").ask("pid")
    assert children["far"].returncode == 0
