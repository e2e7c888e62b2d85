"""A system of control actors inside one asyncio program: names, spawning, stopping, and links to other systems.

`async with System("name") as system:` uses whatever event loop runs; nothing touches a loop before that.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import socket
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.actors.actor import Actor
from actorstream.actors.cell import Cell
from actorstream.actors.family import Family
from actorstream.actors.lifecycle import start
from actorstream.actors.links import Links
from actorstream.actors.peer_end import PeerEnd, SocketEnd
from actorstream.actors.ref import ActorRef, LocalRef
from actorstream.actors.remote import RemoteRef
from actorstream.actors.supervision import GROUPINGS, Grouping, Supervision, Supervisor, as_supervision
from actorstream.actors.turns import RunQueue
from actorstream.errors import ActorDeadError, ActorError, ClosedError

if TYPE_CHECKING:
    from actorstream.actors.clock import TimeSource
    from actorstream.actors.link import PeerLink

log = logging.getLogger("actorstream.actors")

MAILBOX_BYTES = 1 << 20
MAX_FRAME = 64 << 20


class SystemStatistics(msgspec.Struct, frozen=True):
    """What `System.statistics()` answers."""

    actors: int
    messages: int
    """Messages that wait in mailboxes."""
    bytes: int
    """Credit in use in mailboxes, of messages of this process."""
    peers: list[str]
    """Names of connected systems."""


class System:
    """Runs control actors.

    name: how other systems address it; no "/" in it.
    listen: where other systems may connect: "unix:/path", "unix:@abstract" or "tcp:127.0.0.1:0"; `address` tells the
        real one. Whoever can connect can tell any actor here: a unix socket takes only its own user and root, TCP has
        no such check, so bind it to loopback or a trusted network.
    mailbox_bytes: credit of a mailbox unless spawn says otherwise; each connected system has as much again.
    max_frame: largest message from another system, in bytes.
    ask_timeout: seconds before an ask without a timeout of its own fails; None: it may wait for ever.
    stop_timeout: seconds that an actor may take to stop before the hook it awaits is cancelled.
    grouping: what a restart of one actor that the system holds means for the others it holds.
    clock: of timers, timeouts and backoff; the event loop's unless given.
    """

    def __init__(
        self,
        name: str = "main",
        *,
        listen: str | None = None,
        mailbox_bytes: int = MAILBOX_BYTES,
        max_frame: int = MAX_FRAME,
        ask_timeout: float | None = 60.0,
        stop_timeout: float = 10.0,
        grouping: Grouping = "one_for_one",
        clock: TimeSource | None = None,
    ) -> None:
        if not name or "/" in name:
            raise ActorError(f"system name {name!r}: allowed is a name without '/'")
        self.name = name
        self.mailbox_bytes = mailbox_bytes
        self.max_frame = max_frame
        self.ask_timeout = ask_timeout
        self.stop_timeout = stop_timeout
        self.loop: asyncio.AbstractEventLoop
        self.clock: TimeSource
        self.turns: RunQueue
        self._given_clock = clock
        self._listen = listen
        self._cells: dict[str, Cell] = {}
        self._family = Family(self, None, _grouping(grouping, name))
        self._links = Links(self)
        self._numbers: dict[str, int] = {}
        self._owner: asyncio.Task[Any] | None = None
        self._owner_cancelled = False
        self._fatal: BaseException | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._started = False

    # -- life -----------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> System:
        await self.start()
        self._owner = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        owner, self._owner = self._owner, None
        try:
            await self.stop()
        except asyncio.CancelledError:
            if not self._owner_cancelled:
                raise
            await self.stop()  # the cancellation was `fatal`'s, and came late
        finally:
            if self._owner_cancelled and owner is not None and owner.cancelling():
                owner.uncancel()

    async def start(self) -> None:
        """Takes the running event loop, and listens. Only needed without `async with`."""
        if self._started:
            raise ClosedError(f"system {self.name!r} has been started before; make a new one")
        self._started = True
        self.loop = asyncio.get_running_loop()
        self.clock = self.loop if self._given_clock is None else self._given_clock
        self.turns = RunQueue(self.loop)
        if self._listen is not None:
            await self._links.listen(self._listen)

    async def stop(self, *, patience: float | None = None) -> None:
        """Stops all actors, the last started first, each after the messages it has; then closes the links.

        patience: seconds. If given, actors stop at once: messages are dropped, and a hook that awaits is cancelled, and
            abandoned if it has not ended after twice as long.

        Raises what stopped the system, if an actor did: an error that escalated, or a BaseException of a hook."""
        self._require_started()
        if patience is not None:
            self.stop_timeout = patience
            for cell in list(self._cells.values()):
                cell.kin.abort(cell)
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._stop(graceful=True))
        await asyncio.shield(self._stopping)
        if self._fatal is not None:
            raise self._fatal

    def fatal(self, error: BaseException, actor: str) -> None:
        """Something that no parent can heal: every actor stops now, and `async with` raises `error`."""
        if self._fatal is not None:
            return
        self._fatal = error
        log.critical("system %r stops: actor %r raised %r", self.name, actor, error)
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._stop(graceful=False))
        if self._owner is not None:
            self._owner_cancelled = True
            self._owner.cancel()

    async def _stop(self, graceful: bool) -> None:
        await self._family.stop_all(graceful)
        await self._links.close()

    # -- actors ---------------------------------------------------------------------------------------------------

    async def spawn(
        self,
        actor: Callable[..., Actor],
        /,
        *,
        name: str | None = None,
        supervision: Supervision | str | None = None,
        mailbox_bytes: int | None = None,
        grouping: Grouping = "one_for_one",
        **keywords: Any,
    ) -> ActorRef:
        """Makes `actor(**keywords)`, calls its on_start and returns its ref. What either raises is raised here.

        actor: an Actor class, or a function that returns an Actor; called again at every restart.
        name: unique in the system; made from the class's name unless given.
        supervision: a Supervision, or just its strategy; "stop" unless given.
        mailbox_bytes: credit of its mailbox.
        grouping: what a restart of one of its children means for the others.
        """
        return await self.spawn_into(
            self._family, actor, name, supervision, mailbox_bytes, grouping, keywords
        )

    async def spawn_into(
        self,
        family: Family,
        actor: Callable[..., Actor],
        name: str | None,
        supervision: Supervision | str | None,
        mailbox_bytes: int | None,
        grouping: Grouping,
        keywords: dict[str, Any],
    ) -> ActorRef:
        self._require_started()
        name = self._free_name(actor, name, family.parent)
        if family.closed or self._stopping is not None:
            raise ActorDeadError(f"actor {name!r} cannot be spawned: what would hold it is stopping")
        make = partial(actor, **keywords)
        instance = make()
        if not isinstance(instance, Actor):
            raise ActorError(
                f"actor {name!r}: spawned from a {type(instance).__name__}; allowed: subclasses of Actor"
            )
        credit = self.mailbox_bytes if mailbox_bytes is None else mailbox_bytes
        if credit <= 0:
            raise ActorError(f"actor {name!r}: mailbox_bytes is {credit}, must be at least 1")
        cell = Cell(self, name, make, Supervisor(as_supervision(supervision)), credit)
        cell.actor = instance
        cell.family = Family(self, cell, _grouping(grouping, name))
        cell.ref = LocalRef(cell)
        family.join(cell)
        self._cells[name] = cell
        self._links.actor_spawned(cell)
        await start(cell)
        return cell.ref

    def ref(self, name: str) -> ActorRef:
        """The ref of an actor by its name: one of this system, or `"othersystem/actor"` of a connected one.

        Raises ActorDeadError if this system has no such actor and is connected to no such system."""
        found = self.find(name)
        if found is None:
            near = difflib.get_close_matches(name, self._cells, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            peers = ", ".join(self.peers) or "no other system"
            raise ActorDeadError(
                f"system {self.name!r} has no actor {name!r} among its {len(self._cells)}, "
                f"and is connected to {peers}{hint}"
            )
        return found

    def find(self, name: str) -> ActorRef | None:
        """Like `ref`; None if there is no such actor here and no such peer."""
        cell = self._cells.get(name)
        if cell is not None:
            return cell.ref
        system, slash, rest = name.partition("/")
        if slash and system == self.name:
            cell = self._cells.get(rest)
            return None if cell is None else cell.ref
        if slash and system in self._links.peers:
            return RemoteRef(self, system, rest)
        return None

    def link(self, peer: str) -> PeerLink:
        """The link to a connected system; raises BrokenError if there is none."""
        return self._links.link(peer)

    def cell(self, name: str) -> Cell | None:
        """The running actor of that name; for links."""
        return self._cells.get(name)

    def forget(self, cell: Cell) -> None:
        """The actor is dead: its name is free."""
        if self._cells.get(cell.name) is cell:
            del self._cells[cell.name]
        cell.kin.leave(cell)
        self._links.actor_died(cell)

    @property
    def names(self) -> list[str]:
        """Names of the actors, in start order."""
        return list(self._cells)

    def statistics(self) -> SystemStatistics:
        mailboxes = [cell.mailbox for cell in self._cells.values()]
        return SystemStatistics(
            len(mailboxes),
            sum(len(mailbox.queue) for mailbox in mailboxes),
            sum(mailbox.used for mailbox in mailboxes),
            self.peers,
        )

    def _free_name(self, actor: Any, name: str | None, parent: Cell | None) -> str:
        before = f"{parent.name}/" if parent is not None else ""
        if name is None:
            stem = before + getattr(actor, "__name__", type(actor).__name__).strip("<>").lower()
            while True:
                number = self._numbers[stem] = self._numbers.get(stem, 0) + 1
                if f"{stem}-{number}" not in self._cells:
                    return f"{stem}-{number}"
        if not name:
            raise ActorError("an actor's name is empty: give it one, or none")
        if before + name in self._cells:
            raise ActorError(
                f"system {self.name!r} has an actor {before + name!r} already: choose another name"
            )
        return before + name

    def _require_started(self) -> None:
        if not self._started:
            raise ClosedError(f"system {self.name!r} is not running: use it in `async with System(...)`")

    # -- other systems --------------------------------------------------------------------------------------------

    async def connect(self, address: str, *, timeout: float = 10.0) -> str:
        """Connects to a listening system and returns its name. Raises BrokenError if that fails."""
        self._require_started()
        return await self._links.connect(address, timeout)

    async def adopt(
        self, end: socket.socket | PeerEnd, *, peer: str | None = None, timeout: float = 10.0
    ) -> str:
        """Takes over one end of a way to another system, which adopts the other end: a connected stream socket, such as one
        of a socketpair, or anything that carries bytes in order.

        peer: the name that the other system must have. Returns its name."""
        self._require_started()
        joined = SocketEnd(end) if isinstance(end, socket.socket) else end
        return await self._links.adopt(joined, peer, timeout)

    async def wait_peer(self, name: str) -> None:
        """Waits until a system of that name is connected."""
        self._require_started()
        await self._links.wait_peer(name)

    async def wait_peer_lost(self, name: str) -> str:
        """Waits until the connected system of that name is gone, and returns how."""
        self._require_started()
        return await self._links.wait_peer_lost(name)

    @property
    def peers(self) -> list[str]:
        """Names of the connected systems."""
        return sorted(self._links.peers)

    @property
    def address(self) -> str:
        """Where it listens, as `connect` takes it; empty if it does not."""
        return self._links.address

    def register(self, *messages: type[msgspec.Struct]) -> None:
        """Makes message classes known that other systems cannot find as `module:Class` in a loaded module."""
        self._links.register(messages)


def _grouping(grouping: Grouping, name: str) -> Grouping:
    if grouping not in GROUPINGS:
        raise ActorError(f"{name!r}: grouping is {grouping!r}; allowed: {', '.join(GROUPINGS)}")
    return grouping
