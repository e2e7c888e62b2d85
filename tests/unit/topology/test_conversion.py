from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, TypeVar

import msgspec
import pytest

from actorstream.topology.conversion import MismatchError, allowed_by, convert, shown

BASE = Path("/base")
T = TypeVar("T")
Name = NewType("Name", str)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Window(TypedDict, total=False):
    size: int


class Point(msgspec.Struct):
    x: int
    y: int = 0


@pytest.mark.parametrize(
    ("value", "annotation", "converted"),
    [
        (5, int, 5),
        (5, float, 5.0),
        (0.5, float, 0.5),
        (True, bool, True),
        ("a", str, "a"),
        ("a", bytes, b"a"),
        ("data/x.csv", Path, BASE / "data/x.csv"),
        ("/abs", Path, Path("/abs")),
        (Path("rel"), Path, BASE / "rel"),
        ("data", str | Path, BASE / "data"),
        (5, int | str, 5),
        ("5", int | str, "5"),
        ("10s", datetime.timedelta, datetime.timedelta(seconds=10)),
        ("10s", str | datetime.timedelta, datetime.timedelta(seconds=10)),
        (datetime.timedelta(1), datetime.timedelta, datetime.timedelta(1)),
        ("10s", datetime.timedelta | None, datetime.timedelta(seconds=10)),
        (None, int | None, None),
        ("b", Literal["a", "b"], "b"),
        (2, Literal[1, 2], 2),
        ("red", Colour, Colour.RED),
        ("BLUE", Colour, Colour.BLUE),
        ([1, 2], list[float], [1.0, 2.0]),
        ([1, 2], Sequence[int], [1, 2]),
        ([1, 2], Iterable, [1, 2]),
        ([1, 2], tuple[int, ...], (1, 2)),
        ([1, "a"], tuple[int, str], (1, "a")),
        (["a", "a"], set[str], {"a"}),
        (["a"], frozenset, frozenset({"a"})),
        ({"a": 1}, dict[str, float], {"a": 1.0}),
        ({"a": "1s"}, Mapping[str, datetime.timedelta], {"a": datetime.timedelta(seconds=1)}),
        ({"size": 1}, Window, {"size": 1}),
        ({"x": 1}, Point, Point(1)),
        (Point(1), Point, Point(1)),
        ([{"x": 1}], list[Point], [Point(1)]),
        ("x", Any, "x"),
        ([1], object, [1]),
        ("x", T, "x"),
        ("x", Name, "x"),
        (datetime.datetime(2024, 1, 1), datetime.datetime, datetime.datetime(2024, 1, 1)),
        (datetime.date(2024, 1, 1), datetime.date, datetime.date(2024, 1, 1)),
        ("pathlib:Path", type, Path),
        ("pathlib:PurePath", type[object], __import__("pathlib").PurePath),
        ("json:dumps", Callable[..., str], __import__("json").dumps),
        (5, Annotated[int, msgspec.Meta(ge=1)], 5),
        (5, Annotated[int, "documented elsewhere"], 5),
        ("a", Optional[str], "a"),  # noqa: UP045
    ],
)
def test_values_become_what_the_annotation_asks_for(value: Any, annotation: Any, converted: Any) -> None:
    found = convert(value, annotation, BASE)
    assert found == converted
    assert type(found) is type(converted)


@pytest.mark.parametrize(
    ("value", "annotation", "message", "allowed"),
    [
        ("5", int, "is '5'", "an integer"),
        (True, int, "is true", "an integer"),
        (1.5, int, "is 1.5", "an integer"),
        (False, float, "is false", "a number"),
        (1, bool, "is 1", "true or false"),
        (1, str, "is 1", "text"),
        (1, Path, "is 1", "a path as text"),
        ("", Path, "is ''", "a path as text"),
        ("a\0b", Path, "is 'a\\x00b'", "a path without the character NUL"),
        (
            "é" * 128,
            Path,
            "is '" + "é" * 76 + "...",
            "a path of at most 4095 bytes, 255 each name in it",
        ),
        (
            "10",
            datetime.timedelta,
            "is '10'",
            'a duration such as "10s", "50ms" or "1h30m" (units d, h, m, s, ms, us), in whole microseconds',
        ),
        (
            10,
            datetime.timedelta,
            "is 10",
            'a duration such as "10s", "50ms" or "1h30m" (units d, h, m, s, ms, us), in whole microseconds',
        ),
        ("c", Literal["a", "b"], "is 'c'", "'a', 'b'"),
        ("green", Colour, "is 'green'", "'red', 'blue'"),
        ("a", list[str], "is 'a'", "an array of text"),
        (1, list, "is 1", "an array"),
        ([1], dict, "is [1]", "a table"),
        ([1], tuple[int, int], "is [1]", "an array of 2 values"),
        ("a", int | None, "is 'a'", "an integer"),
        ([], int | str, "is []", "an integer or text"),
        (datetime.datetime(2024, 1, 1), datetime.date, "is datetime.datetime(2024, 1, 1, 0, 0)", "a date"),
        (0, Annotated[int, msgspec.Meta(ge=1)], "is 0", "an integer"),
        (0, Annotated[int, msgspec.Meta(ge=1, description="at least 1")], "is 0", "at least 1"),
        ("pathlib:Nothing", type, "is 'pathlib:Nothing'", 'a class as "package.module:Name"'),
        ("json:dumps", type, "is 'json:dumps'", 'a class as "package.module:Name"'),
        (1, BytesWarning, "is 1", "an object of BytesWarning, given in Python"),
    ],
)
def test_what_does_not_fit_says_what_is_allowed(
    value: Any, annotation: Any, message: str, allowed: str
) -> None:
    with pytest.raises(MismatchError) as caught:
        convert(value, annotation, BASE)
    assert caught.value.message == message
    assert caught.value.allowed == allowed


def test_a_mismatch_inside_a_value_says_where() -> None:
    with pytest.raises(MismatchError) as caught:
        convert({"a": [1, "x"]}, dict[str, list[int]], BASE)
    assert caught.value.path == ("a", 1)
    with pytest.raises(MismatchError) as caught:
        convert(["x"], list[int] | str, BASE)
    assert caught.value.path == (0,)


def test_near_misses_of_choices_are_proposed() -> None:
    with pytest.raises(MismatchError) as caught:
        convert("inenr", Literal["inner", "left"], BASE)
    assert caught.value.hint == "did you mean 'inner'?"


def test_a_subclass_is_demanded_where_the_annotation_names_one() -> None:
    with pytest.raises(MismatchError) as caught:
        convert("pathlib:Path", type[Exception], BASE)
    assert caught.value.allowed == 'a class as "package.module:Name", a Exception'


def test_long_values_are_cut_in_messages() -> None:
    assert len(shown("x" * 500)) == 80


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (list[int], "an array of an integer"),
        (dict[str, Path], "a table of a path as text"),
        (int | str | None, "an integer or text"),
        (Literal["a", True], "'a', true"),
        (type[Exception], 'a class as "package.module:Name"'),
        (Callable[[int], int], 'a function as "package.module:name"'),
        (Any, "any value"),
        (Point, "Point"),
    ],
)
def test_annotations_are_put_into_words(annotation: Any, words: str) -> None:
    assert allowed_by(annotation) == words


@pytest.mark.parametrize("name", ["~nobody-of-this-name/in.csv", "~tmp.csv"])
def test_a_tilde_before_what_is_no_user_is_part_of_the_name(name: str) -> None:
    assert convert(name, Path, BASE) == BASE / name
    assert convert("~/in.csv", Path, BASE) == Path.home() / "in.csv"
