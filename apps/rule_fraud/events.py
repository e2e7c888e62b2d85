"""What flows through fraud detection. Times in any unit, as long as it is one."""

from __future__ import annotations

from actorstream import Event


class Transaction(Event, event_time="ts"):
    """A bank transaction of one of the streams."""

    stream: str
    ts: int
    value: int


class Rule(Event, event_time="ts"):
    """Asks for the aggregate, and changes what a fraud is."""

    ts: int
    value: int


class Aggregate(Event):
    """The sum of the transactions at or after the rule before this one, and before this one."""

    rule_ts: int
    aggregate: int


class Fraud(Event):
    """A transaction that is fraudulent."""

    stream: str
    ts: int
    value: int
