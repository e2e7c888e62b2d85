"""The error of a hook shows the lines of the user's code, and none of this package's where the user has none."""

from __future__ import annotations

import pytest

from actorstream import Actor, Event, Topology
from actorstream.errors import OperatorError
from actorstream.events.schema import Schema


class Row(Event):
    number: int


class Wrong(Actor):
    def on_event(self, event: Row) -> Row:
        Schema.from_dict({"field": "no type"})
        return event


def test_an_error_of_a_built_in_type_says_all_without_lines_of_this_package() -> None:
    topology = Topology("small")
    topology.source([Row(1)]).through("map", name="half", set={"number": "1 // (number - 1)"}).collect("out")
    with pytest.raises(OperatorError) as caught:
        topology.run()
    assert str(caught.value).splitlines() == [
        "operator 'half' (replica 0) failed: integer division by zero (or -2**63 // -1): 1 // (number - 1) (number = 1)",
        "  input event: Row(number=1)",
    ]


def test_an_error_of_this_package_that_the_users_code_causes_shows_the_users_line() -> None:
    topology = Topology("small")
    topology.source([Row(1)]).through(Wrong).collect("out")
    with pytest.raises(OperatorError, match=r"in on_event\n.*Schema\.from_dict"):
        topology.run()
