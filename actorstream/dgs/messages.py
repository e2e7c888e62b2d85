"""What the workers of a synchronization plan say to each other (dgs-flumina section 3.2). Says nothing about how it travels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from actorstream.dgs.mailbox import NOTHING, Times


class Request(NamedTuple):
    """Parent to child: give me your state as of these events of mine. It orders in mailboxes like the events would."""

    tag: Any
    """None: as of the end of all input."""
    times: Times
    """Ascending."""
    places: np.ndarray | None = None
    """Of the events in their stream."""


LAST = Request(None, np.empty(0, np.int64))
"""The request as of the end of all input."""


class StateUp(NamedTuple):
    """Child to parent: my state, with nothing of mine left to come before event `covered` of your request."""

    state: Any
    covered: int


class StateDown(NamedTuple):
    """Parent to child: your share of the state behind event `done` of my request. If more were requested, they stay so."""

    state: Any
    done: int


class Promise(NamedTuple):
    """Parent to child: no request for events of this tag before `bound`, and none at it before `place` in its stream,
    will follow. ENDED: none at all."""

    tag: Any
    bound: int
    place: int = NOTHING


ToChild = Request | StateDown | Promise


class Mark(NamedTuple):
    """To a neighbour: the messages sent before belong to the checkpoint of this barrier, those that follow do not."""

    barrier: int


Message = StateUp | ToChild | Mark
