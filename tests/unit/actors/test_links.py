from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from actorstream.actors import Actor, System
from actorstream.errors import ActorDeadError, BrokenError, ClosedError, ConfigurationError


class Echo(Actor):
    def on_message(self, message: Any) -> Any:
        return f"{self.context.ref(self.name).address} {message}"


def addresses(tmp_path: Path) -> list[str]:
    return [f"unix:{tmp_path}/town.sock", f"unix:@{tmp_path}", "tcp:127.0.0.1:0", "tcp:[::1]:0"]


@pytest.mark.parametrize("kind", range(4))
async def test_systems_talk_over_every_kind_of_address(kind: int, tmp_path: Path) -> None:
    try:
        async with System("town", listen=addresses(tmp_path)[kind]) as town, System("village") as village:
            await town.spawn(Echo, name="echo")
            await village.spawn(Echo, name="echo")
            assert await village.connect(town.address) == "town"
            await town.wait_peer("village")
            assert (village.peers, town.peers) == (["town"], ["village"])
            assert await village.ref("town/echo").ask(1) == "town/echo 1"
            assert await town.ref("village/echo").ask(2) == "village/echo 2"
    except BrokenError as error:
        if kind == 3 and "cannot listen" in str(error):
            pytest.skip("no IPv6 here")
        raise


async def test_adopted_sockets_connect_their_systems() -> None:
    one, other = socket.socketpair()
    async with System("a") as a, System("b") as b:
        await asyncio.gather(a.adopt(one, peer="b"), b.adopt(other, peer="a"))
        await b.spawn(Echo, name="echo")
        assert await a.ref("b/echo").ask("x") == "b/echo x"


async def test_the_wrong_peer_is_refused_on_both_sides() -> None:
    one, other = socket.socketpair()
    async with System("a") as a, System("b") as b:
        results = await asyncio.gather(a.adopt(one, peer="c"), b.adopt(other), return_exceptions=True)
        assert all(isinstance(result, BrokenError) and "expects 'c'" in str(result) for result in results)
        assert a.peers == b.peers == []


async def test_two_systems_of_one_name_are_not_both_connected(tmp_path: Path) -> None:
    async with System("town", listen=f"unix:{tmp_path}/s") as town:
        async with System("twin") as first, System("twin") as second:
            await first.connect(town.address)
            with pytest.raises(BrokenError, match="another system named 'twin'"):
                await second.connect(town.address)
            assert town.peers == ["twin"]
        async with System("town") as namesake:
            with pytest.raises(BrokenError, match="both ends are named"):
                await namesake.connect(town.address)


async def test_a_name_is_free_again_when_its_system_is_gone(tmp_path: Path) -> None:
    async with System("town", listen=f"unix:{tmp_path}/s") as town:
        for _ in range(3):
            async with System("visitor") as visitor:
                await visitor.connect(town.address)
                await town.wait_peer("visitor")
                await visitor.spawn(Echo, name="echo")
                assert await town.ref("visitor/echo").ask("x") == "visitor/echo x"
            await town.wait_peer_lost("visitor")
            with pytest.raises(ActorDeadError):
                town.ref("visitor/echo")


async def test_a_ref_works_again_when_its_system_is_back(tmp_path: Path) -> None:
    async with System("town", listen=f"unix:{tmp_path}/s") as town:
        refs = []
        for _ in range(2):
            async with System("visitor") as visitor:
                await visitor.spawn(Echo, name="echo")
                await visitor.connect(town.address)
                await town.wait_peer("visitor")
                refs.append(town.ref("visitor/echo"))
                for ref in refs:
                    assert await ref.ask("x") == "visitor/echo x"
            await town.wait_peer_lost("visitor")
            with pytest.raises(BrokenError, match="not connected to system 'visitor'"):
                await refs[0].ask("x")


async def test_systems_that_connect_to_each_other_at_once_are_connected(tmp_path: Path) -> None:
    async with System("a", listen=f"unix:{tmp_path}/a") as a, System("b", listen=f"unix:{tmp_path}/b") as b:
        assert await asyncio.gather(a.connect(b.address), b.connect(a.address)) == ["b", "a"]
        await a.spawn(Echo, name="echo")
        await b.spawn(Echo, name="echo")
        assert await a.ref("b/echo").ask(1) == "b/echo 1"
        assert await b.ref("a/echo").ask(2) == "a/echo 2"


async def test_connecting_to_nobody_is_an_error_that_helps(tmp_path: Path) -> None:
    async with System("a") as a:
        for address in (f"unix:{tmp_path}/nobody", "tcp:127.0.0.1:1"):
            with pytest.raises(BrokenError, match="is a System listening"):
                await a.connect(address)
        with pytest.raises(ConfigurationError, match="unix:/path"):
            await a.connect("somewhere")


async def test_an_address_in_use_keeps_a_system_from_starting(tmp_path: Path) -> None:
    async with System("a", listen=f"unix:{tmp_path}/a"):
        with pytest.raises(BrokenError, match="cannot listen"):
            async with System("b", listen=f"unix:{tmp_path}/a"):
                pass
        async with System("c") as c:
            assert await c.connect(f"unix:{tmp_path}/a") == "a"


async def test_a_stopped_system_leaves_no_socket_file_and_connects_no_more(tmp_path: Path) -> None:
    async with System("a", listen=f"unix:{tmp_path}/a") as a:
        waiting = asyncio.ensure_future(a.wait_peer("never"))
        await asyncio.sleep(0)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ClosedError):
        await waiting
    one, other = socket.socketpair()
    with other, pytest.raises(ClosedError):
        await a.adopt(one)


async def test_who_waits_for_a_lost_peer_learns_why(tmp_path: Path) -> None:
    async with System("town", listen=f"unix:{tmp_path}/s") as town:
        async with System("visitor") as visitor:
            await visitor.connect(town.address)
            await town.wait_peer("visitor")
            lost = asyncio.ensure_future(town.wait_peer_lost("visitor"))
            await asyncio.sleep(0)
        assert "has stopped" in await lost
        assert "not connected" in await town.wait_peer_lost("visitor")
