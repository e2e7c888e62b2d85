from __future__ import annotations

import decimal
import sys
import types
from datetime import datetime
from typing import Any

import msgspec
import pytest

from actorstream.actors.typetable import PLAIN, InboundTypes, OutboundTypes, loaded_class, qualified_name
from actorstream.errors import ActorError, BrokenError


class Order(msgspec.Struct):
    number: int


class Outer:
    class Inner(msgspec.Struct):
        text: str


class NoRef:
    pass


def outbound() -> OutboundTypes:
    return OutboundTypes(NoRef)


def inbound(*registered: type) -> InboundTypes:
    return InboundTypes({qualified_name(cls): cls for cls in registered}, lambda address: None)


def body(message: Any) -> bytes:
    return msgspec.msgpack.encode(message)


def test_a_class_is_named_once_and_numbered_from_then_on() -> None:
    types_out = outbound()
    number, name = types_out.introduce(Order(1))
    assert name.endswith(":Order")
    assert types_out.numbers[Order] == number != PLAIN


@pytest.mark.parametrize("message", [None, 1, 1.5, True, "a", b"a", [1], {"a": 1}, datetime(2026, 1, 2)])
def test_plain_values_need_no_name(message: Any) -> None:
    assert outbound().introduce(message) == (PLAIN, "")


@pytest.mark.parametrize("message", [decimal.Decimal("1.5"), object(), Order, 3j])
def test_what_would_arrive_as_something_else_is_refused(message: Any) -> None:
    with pytest.raises(ActorError, match="Structs"):
        outbound().introduce(message)


@pytest.mark.parametrize("message", [[Order(1)], (1, Order(1)), {"order": Order(1)}])
def test_structs_in_a_plain_container_are_refused_every_time(message: Any) -> None:
    types_out = outbound()
    types_out.introduce(type(message)())
    with pytest.raises(ActorError, match="typed field"):
        types_out.introduce(message)


def test_classes_of_loaded_modules_are_decoded_typed_also_nested_ones() -> None:
    types_in = inbound()
    types_in.define(2, qualified_name(Order))
    types_in.define(3, qualified_name(Outer.Inner))
    assert types_in.decode(2, body(Order(7))) == Order(7)
    assert types_in.decode(3, body(Outer.Inner("x"))) == Outer.Inner("x")


def test_a_body_that_does_not_fit_its_class_is_an_error() -> None:
    types_in = inbound()
    types_in.define(2, qualified_name(Order))
    for wrong in (body({"number": "seven"}), body([1]), b"\xc1"):
        with pytest.raises(ActorError, match="decode"):
            types_in.decode(2, wrong)


def test_no_module_is_imported_for_a_peer() -> None:
    name = "this:that"
    sys.modules.pop("this", None)
    types_in = inbound()
    types_in.define(2, name)
    with pytest.raises(ActorError, match="register"):
        types_in.decode(2, b"\xc0")
    assert "this" not in sys.modules


def test_no_lazy_attribute_of_a_module_is_touched_for_a_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[str] = []
    module = types.ModuleType("lazy_module_of_a_test")
    module.__getattr__ = touched.append  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert loaded_class("lazy_module_of_a_test:Anything") is None
    assert touched == []


@pytest.mark.parametrize(
    "name", ["os:system", "builtins:int", "msgspec:Struct.__init__", "no colon", "sys:modules"]
)
def test_what_is_no_struct_class_is_not_decoded(name: str) -> None:
    types_in = inbound()
    types_in.define(2, name)
    with pytest.raises(ActorError, match="not known"):
        types_in.decode(2, b"\xc0")


def test_a_class_inside_a_function_is_found_once_it_is_registered() -> None:
    class Local(msgspec.Struct):
        text: str

    types_in = inbound(Local)
    types_in.define(2, qualified_name(Local))
    assert types_in.decode(2, body(Local("x"))) == Local("x")


def test_a_number_means_one_class_only() -> None:
    types_in = inbound()
    types_in.define(2, qualified_name(Order))
    with pytest.raises(BrokenError):
        types_in.define(2, qualified_name(Outer.Inner))
    with pytest.raises(BrokenError):
        types_in.define(0, qualified_name(Order))
