"""What the sinks of one worker have prepared and not yet committed. Decides nothing: the worker says when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.actors.operator_errors import operator_error
from actorstream.connectors.sink import END

if TYPE_CHECKING:
    from actorstream.connectors.sink import Sink
    from actorstream.runtime.replica import Replica


class TwoPhase:
    """The tokens of a worker's sinks, by replica and barrier. Errors of sinks become OperatorErrors that name them."""

    def __init__(self) -> None:
        self._tokens: dict[Replica, dict[int, Any]] = {}

    def prepare(self, replica: Replica, barrier: int) -> Any:
        """Makes what the sink received so far safe; returns its token."""
        token = _called(replica, _sink(replica).prepare, barrier)
        self._tokens.setdefault(replica, {})[barrier] = token
        return token

    def prepare_end(self, replicas: Iterable[Replica], *, encoded: bool) -> dict[int, bytes]:
        """All input has ended: every sink prepares. Returns the tokens by replica as msgpack, if they are to be `encoded`."""
        tokens: dict[int, bytes] = {}
        for replica in replicas:
            if replica.is_sink:
                token = self.prepare(replica, END)
                if encoded:
                    tokens[replica.id] = _called(replica, msgspec.msgpack.encode, token)
        return tokens

    def commit(self, barrier: int) -> None:
        """Makes visible what was prepared up to `barrier`, oldest first: a barrier that never came in everywhere is
        part of the next one that did."""
        for replica, tokens in self._tokens.items():
            for each in sorted(number for number in tokens if number <= barrier):
                token = tokens.pop(each)
                if token is not None:
                    _called(replica, _sink(replica).commit, token)

    def abort(self, replica: Replica) -> None:
        """Undoes what the sink prepared and did not commit, and drops what it received since. OperatorError: the first
        that failed; the rest was done nevertheless."""
        tokens = self._tokens.pop(replica, {})
        failed: BaseException | None = None
        for token in [*(tokens[each] for each in sorted(tokens, reverse=True)), None]:
            try:
                _called(replica, _sink(replica).abort, token)
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise failed


def _sink(replica: Replica) -> Sink:
    return replica.actor  # type: ignore[return-value]


def _called(replica: Replica, method: Any, argument: Any) -> Any:
    try:
        return method(argument)
    except BaseException as error:  # a panic of Rust is no Exception
        raise operator_error(replica.name, replica.replica, None, error) from error
