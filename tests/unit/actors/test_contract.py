"""What a class declares: defaults that hold for every class, and errors where the class is defined."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from actorstream import Actor, Batch, Contract, Event, Sink, Topology
from actorstream.actors.contract import MOVED, has_kernel
from actorstream.errors import ConfigurationError
from actorstream.operators.filter import Filter
from actorstream.operators.map_async import MapAsync


class Row(Event):
    value: int


class Passes(Actor):
    def on_batch(self, batch: Batch) -> Batch:
        return batch


def test_a_class_that_declares_nothing_promises_nothing() -> None:
    assert Passes.contract == Contract()
    assert not Contract().stateless and Contract().fusible and Contract().pool_limit == 0


def test_a_subclass_inherits_the_contract_and_one_of_its_own_replaces_it() -> None:
    class Inherits(Sink):
        pass

    class Own(Sink):
        contract = Contract(stateless=True)

    class Changed(Sink):
        contract = replace(Sink.contract, stateless=True)

    assert Inherits.contract is Sink.contract
    assert Sink.contract.one_stream and not Own.contract.one_stream
    assert Changed.contract.one_stream and Changed.contract.stateless


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"stateless": 1}, "contract.stateless: is 1; allowed: `bool`"),
        ({"order_sensitive": "no"}, "contract.order_sensitive: is 'no'; allowed: `bool | null`"),
        ({"pool_limit": 2}, "contract.pool_limit: is 2; allowed: 0, 1 or math.inf"),
        ({"pool_limit": "1"}, "contract.pool_limit: is '1'; allowed: `float`"),
        ({"destination": "file"}, "contract.destination: is 'file'"),
        ({"varied": {"plan": "fast"}}, "contract.varied: is {'plan': 'fast'}; allowed: `array`"),
        ({"varied": {"plan": ()}}, "contract.varied: is {'plan': ()}; allowed: values for each key"),
    ],
)
def test_a_value_that_a_field_cannot_have_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Contract(**fields)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", MOVED)
def test_an_attribute_of_old_names_its_new_place(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        type("Old", (Actor,), {name: True})
    field = MOVED[name] or name
    assert (
        f"Old.{name}: is no attribute of an actor's class; allowed: contract = Contract({field}=...)"
        in str(caught.value)
    )
    assert hasattr(Contract(), field)


def test_a_contract_that_is_none_and_steps_that_are_missing_are_refused_where_the_class_is_defined() -> None:
    with pytest.raises(ConfigurationError, match=r"contract: is True; allowed: an actorstream\.Contract"):
        type("Wrong", (Actor,), {"contract": True})
    with pytest.raises(ConfigurationError, match="class methods local_stage and second_stage"):
        type("OneStep", (Actor,), {"contract": Contract(two_steps=True)})


class Raises(Passes):
    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        raise ValueError("not today")


class Returns(Passes):
    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Any:
        return {"stateless": True}


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Raises, "its contract_of raised ValueError('not today'); allowed: an actorstream.Contract"),
        (Returns, "its contract_of returned {'stateless': True}; allowed: an actorstream.Contract"),
    ],
)
def test_check_says_what_is_wrong_with_the_contract_for_the_keys_of_an_actor(kind: type, said: str) -> None:
    topology = Topology("one")
    topology.source([Row(1)]).through(kind, name="it").collect("out")
    with pytest.raises(ConfigurationError) as caught:
        topology.graph()
    assert said in str(caught.value)


def test_a_contract_may_depend_on_the_keys() -> None:
    assert Filter.contract_of({"where": "value > 1"}).pool_limit == math.inf
    assert Filter.contract_of({"function": bool}).pool_limit == 0
    assert MapAsync.contract_of({"ordered": False}).order_sensitive
    assert not MapAsync.contract_of({}).order_sensitive


class Other(Filter):
    def on_batch(self, batch: Batch) -> Batch | None:
        return batch


def test_a_class_with_another_hook_does_not_have_the_kernel_of_its_base() -> None:
    assert has_kernel(Filter) and not has_kernel(Other) and not has_kernel(Passes)
