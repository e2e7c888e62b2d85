"""The ways between the ranks of a run beside the data path: control links, signs of life, sockets of control actors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.actors.peer_end import SocketEnd
from actorstream.control.pipe import ControlPipe
from actorstream.native.keepalive import PeerState
from actorstream.plan.fuse import takes_messages
from actorstream.transports.network.keepalives import silence

if TYPE_CHECKING:
    from actorstream.plan.job import Job
    from actorstream.transports.assembly import Assembly

CONTROL, ACTORS = "control", "actors"


class Ways:
    """The ways from one rank to the others.

    Attributes:
        links: rank -> the control link to it: to all others at the home rank, else to the home rank. signs: the signs of life
            on the same ways. peers: other rank -> the way to it, for control actors; none if no actor takes messages.
    """

    def __init__(self, assembly: Assembly, job: Job, limit_s: float) -> None:
        """ConfigurationError: a rank cannot be reached."""
        rank, home = assembly.rank, assembly.home
        others = [each for each in range(assembly.size) if each != rank]
        near = others if rank == home else [home]
        wanted = [(peer, CONTROL) for peer in near]
        if any(takes_messages(actor.cls) for actor in job.graph.actors.values()):
            wanted += [(peer, ACTORS) for peer in others]
        sockets = assembly.streams(wanted, limit_s)
        self.links = {peer: ControlPipe(sockets[peer, CONTROL]) for peer in near}
        self.peers = {peer: SocketEnd(sock) for (peer, purpose), sock in sockets.items() if purpose == ACTORS}
        vital = () if rank == home else (home,)
        away_s = job.deploy.network.peer_timeout.total_seconds()
        self.signs = assembly.signs_of_life(near, vital, limit_s=limit_s, away_s=away_s)

    def how_lost(self, state: PeerState) -> str:
        """Returns a phrase that says how a rank was lost."""
        if state is PeerState.SILENT:
            return silence(self.signs.limit_s)
        return "has ended without a word: its process was killed, or its host is gone"

    def close(self) -> None:
        """Lets go of all, in order."""
        self.signs.close()
        for link in self.links.values():
            link.close()
        for peer in self.peers.values():
            peer.close()
