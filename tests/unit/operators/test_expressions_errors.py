"""What is wrong with an expression is said before a run: where, what is allowed, which name is near."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import pytest

from actorstream import Batch, Event
from actorstream.errors import ConfigurationError
from actorstream.events.schema import Schema
from actorstream.operators.expressions import (
    ExpressionError,
    compile_call,
    compile_condition,
    compile_expression,
)


class Row(Event):
    price: float
    quantity: int
    limit: int | None
    event_type: Literal["view", "click", "buy"]
    name: str
    sold: bool
    at: datetime
    raw: bytes
    tags: list[int]


SCHEMA = Schema.of(Row)


def error(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as found:
        compile_expression(text, SCHEMA)
    return found.value


def underlined(text: str) -> str:
    found = error(text)
    return text[found.start : found.end]


@pytest.mark.parametrize(
    ("text", "part", "message", "hint"),
    [
        ("prise * 2 > 10", "prise", "there is no field 'prise'", "did you mean 'price'?"),
        ("event_type == view", "view", "there is no field 'view'", "text is written in quotes: 'view'"),
        ("length > 3", "length", "there is no field 'length'", "the function is called as length(text)"),
        ("lenght(name)", "lenght", "there is no function 'lenght'", "did you mean 'length'?"),
        ("sum(price) > 3", "sum", "there is no function 'sum'", "aggregates over rows"),
        (
            "event_type == 'viwe'",
            "'viwe'",
            "'viwe' is not one of the categories of event_type",
            "did you mean 'view'?",
        ),
        ("event_type in ('view', 'by')", "'by'", "'by' is not one of the categories", "did you mean 'buy'?"),
        ("name + 1", "name", "'+' of field 'name', which is string", "int(...) or float(...)"),
        ("sold * 2", "sold", "'*' of field 'sold', which is bool", "int(...) makes 1 or 0"),
        ("at + 1", "at", "'+' of field 'at', which is datetime", "epoch(...) is the time since 1970 in ms"),
        ("not quantity", "quantity", "'not' of field 'quantity', which is int64", "such as x != 0"),
        ("sold and quantity", "quantity", "'and' of field 'quantity'", "such as x != 0"),
        ("limit == null", "null", "comparison == with null is never true", "write 'x is null'"),
        ("limit != null", "null", "comparison != with null is never true", "write 'x is not null'"),
        ("name < 3", "name < 3", "which is string, is compared with 3", "converts"),
        ("at < 3", "at < 3", "which is datetime, is compared with 3", "'2024-05-17T12:00:00Z'"),
        ("sold < true", "sold < true", "'<' of bools", "int(...)"),
        ("tags == tags", "tags == tags", "which is msgpack", "only be tested for null"),
        ("at > '2024-13-01'", "'2024-13-01'", "'2024-13-01' is no time", ""),
        ("round(price, quantity)", "quantity", "the digits of round", ""),
        ("min(price)", "min(price)", "min has 1 arguments", ""),
        ("if(sold, price, name)", "name", "if has values of float64 and of string", "convert with"),
        ("coalesce(null, null)", "null", "every value of coalesce is null", ""),
        ("null", "null", "the value is always null", ""),
        ("year(name)", "name", "year of field 'name', which is string", ""),
        ("str(raw)", "raw", "str of field 'raw', which is bytes", ""),
        ("lower(quantity)", "quantity", "'lower' of field 'quantity', which is int64", "str(...)"),
        ("'a' in quantity", "quantity", "'in' field 'quantity'", "x in (1, 2, 3)"),
        ("quantity in ()", "quantity in ()", "'in' an empty list", ""),
        ("18446744073709551616", "18446744073709551616", "does not fit int64 or uint64", "for a float"),
        ("quantity + 9223372036854775808", "9223372036854775808", "does not fit int64", ""),
        ("1__0", "1__0", "an underscore that is not between two digits", ""),
        ("1_000_", "1_000_", "an underscore that is not between two digits", ""),
        ("0xff_", "0xff_", "an underscore that is not between two digits", ""),
        ("1_e5", "1_e5", "an underscore that is not between two digits", ""),
        ("if(sold, 1, 9 // 0)", "9 // 0", "integer division by zero", ""),
        ("sold or int('x') > 1", "int('x')", "no integer", ""),
        ("coalesce(price, float('x'))", "float('x')", "no number", ""),
        ("quantity // 0 == 9 // 0", "9 // 0", "integer division by zero", ""),
        ("1 + 9223372036854775807", "1 + 9223372036854775807", "int64 overflow", ""),
        ("int8(300)", "int8(300)", "does not fit int8", ""),
        ("int('x')", "int('x')", "no integer", ""),
        ("price = 1", "=", "there is no operator '='", "write '=='"),
        ("sold && sold", "&&", "there is no operator '&&'", "write 'and'"),
        ("sold || sold", "||", "there is no operator '||'", "write 'or'"),
        ("!sold", "!", "there is no operator '!'", "write 'not'"),
        ("price <> 1", "<>", "there is no operator '<>'", "write '!='"),
        ("sold AND sold", "AND", "unexpected 'AND'", "write 'and'"),
        ("price ** 2", "*", "unexpected '*'", "write x * x"),
        ("price # 2", "#", "unexpected character '#'", ""),
        ("name == 'abc", "'abc", "' is not closed", ""),
        (r"name == 'a\q'", r"\q", r"an unknown escape \q", ""),
        ("quantity is 3", "3", "unexpected 3", ""),
        ("007", "007", "a number with leading zeros", ""),
        ("price quantity", "quantity", "unexpected 'quantity'", ""),
        ("(price, quantity)", ",", "unexpected ','", ""),
        ("price in quantity price", "price", "unexpected 'price'", ""),
        ("__import__('os')", "__import__", "there is no function '__import__'", ""),
        ("name.upper()", ".", "unexpected character '.'", ""),
        ("lambda: 1", ":", "unexpected character ':'", ""),
    ],
)
def test_an_error_names_the_part_the_reason_and_the_way_out(
    text: str, part: str, message: str, hint: str
) -> None:
    found = error(text)
    assert message in found.message
    assert hint in found.hint
    assert text[found.start : found.end] == part


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("(price + 1", "')' for the '(' at character 1"),
        ("price +", "a value"),
        ("", "such as price * 2 > 10"),
        ("   ", "such as price * 2 > 10"),
        ("length(name", "')' for the '(' at character 7"),
        ("quantity in (1, 2", "')' for the '(' at character 13"),
        ("quantity not 3", "'in' after 'not'"),
        ("price == quantity is null == sold", "'and', 'or' or the end"),
        ("foo(1)", "abs, bool, ceil"),
        ("prise", "price, quantity, limit"),
    ],
)
def test_an_error_says_what_is_allowed(text: str, allowed: str) -> None:
    assert allowed in error(text).allowed


class Mixed(Event):
    word: Literal["a", "b"]
    level: Literal[1, 2]
    ok: bool
    tags: list[int]
    more: list[int] | None
    names: dict[str, int]


@pytest.mark.parametrize(
    ("text", "part", "message"),
    [
        ("if(ok, word, level)", "level", "if has values of one of ['a', 'b'] and of one of [1, 2]"),
        (
            "coalesce(null, level, word)",
            "word",
            "coalesce has values of one of [1, 2] and of one of ['a', 'b']",
        ),
        ("if(ok, tags, names)", "names", "if has values of list[int] and of dict[str, int]"),
        ("coalesce(more, null, names)", "names", "coalesce has values of list[int] and of dict[str, int]"),
    ],
)
def test_branches_of_types_that_do_not_go_together_are_named(text: str, part: str, message: str) -> None:
    with pytest.raises(ExpressionError) as found:
        compile_expression(text, Schema.of(Mixed))
    assert found.value.message == message and text[found.value.start : found.value.end] == part


def test_branches_may_be_structured_fields_of_one_type() -> None:
    rows = Batch.of_events(Mixed, [Mixed("a", 1, True, [1], None, {}), Mixed("a", 1, False, [2], [3], {})])
    for text, expected in {
        "if(ok, more, tags)": [None, [2]],
        "coalesce(more, tags)": [[1], [3]],
        "if(ok, null, tags)": [None, [2]],
        "if(ok, names, names)": [{}, {}],
    }.items():
        assert compile_expression(text, rows.schema).evaluate(rows).tolist() == expected


def test_the_message_points_at_the_part() -> None:
    assert str(error("price * 2 > 10 and evnt_type == 'view'")) == (
        "expression: there is no field 'evnt_type'\n"
        "  price * 2 > 10 and evnt_type == 'view'\n"
        "                     ^^^^^^^^^; allowed: price, quantity, limit, event_type, name, sold, at, raw, tags "
        "(did you mean 'event_type'?)"
    )


def test_of_a_long_expression_the_part_around_the_error_is_shown() -> None:
    text = " and ".join(["price > 1"] * 40) + " and prise > 1" + " and sold" * 40
    _message, line, caret = str(error(text)).split("; allowed")[0].split("\n")
    at = caret.index("^")
    assert line[at : at + 5] == "prise" and caret.strip() == "^^^^^"
    assert len(line) < 90 and line.strip().startswith("…") and line.endswith("…")


def test_line_breaks_in_an_expression_do_not_move_the_caret() -> None:
    assert underlined("price > 1\n  and prise > 2") == "prise"
    _message, line, caret = str(error("price > 1\n  and prise > 2")).split("; allowed")[0].split("\n")
    assert line[caret.index("^") :].startswith("prise")


def test_an_error_becomes_a_problem_of_the_key_it_was_written_in() -> None:
    problem = error("prise").problem("actors.hot.where")
    assert problem.where == "actors.hot.where"
    assert problem.hint == "did you mean 'price'?"
    assert isinstance(error("prise"), ConfigurationError)


def test_nesting_has_a_limit_that_is_said() -> None:
    assert "nested too deeply" in error("(" * 60 + "price" + ")" * 60).message
    assert "nested too deeply" in error(" + ".join(["price"] * 400)).message
    assert compile_expression(" or ".join(["price > 1"] * 1000), SCHEMA).fields == ("price",)


def test_a_text_that_is_too_long_is_refused() -> None:
    assert "characters" in error("price" + " " * 30_000).message


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="an expression is 5; allowed: text"):
        compile_expression(5, SCHEMA)  # type: ignore[arg-type]


def test_a_condition_must_be_a_bool() -> None:
    with pytest.raises(ExpressionError, match="is float64"):
        compile_condition("price * 2", SCHEMA)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("price", "is no aggregate"),
        ("summ(price)", "there is no aggregate 'summ'"),
        ("sum()", "sum has 0 arguments"),
        ("sum(prise)", "there is no field 'prise'"),
    ],
)
def test_a_call_of_an_aggregate_is_checked_alike(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as found:
        compile_call(text, SCHEMA, {"sum": (1, 1), "count": (0, 1)})
    assert message in found.value.message


def test_a_call_of_an_aggregate_gives_its_arguments() -> None:
    call = compile_call("quantile(price * quantity, 0.5)", SCHEMA, {"quantile": (2, 2)})
    assert call.name == "quantile"
    assert call.arguments[0].fields == ("price", "quantity")
    assert call.constant(1) == 0.5
    with pytest.raises(ExpressionError, match="is no constant"):
        call.constant(0)


def test_fields_with_any_name_are_written_in_back_quotes() -> None:
    schema = Schema.from_dict({"unit price": "float", "and": "bool", "größe": "int"})
    assert compile_expression("`unit price` > 1 and `and` and größe > 2", schema).fields == (
        "unit price",
        "and",
        "größe",
    )
