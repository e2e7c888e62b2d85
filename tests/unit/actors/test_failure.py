from __future__ import annotations

import msgspec
import pytest

from actorstream.actors.failure import Failure, RemoteError, describe, rebuild
from actorstream.errors import DataError, MailboxFullError, OperatorError


class PickyError(Exception):
    def __init__(self, number: int, *, reason: str) -> None:
        raise_on_negative = number
        super().__init__(f"{raise_on_negative}: {reason}")
        self.number, self.reason = number, reason


def travelled(error: BaseException) -> Exception:
    """What the other side raises."""
    failure = describe(error, "other/actor")
    return rebuild(msgspec.msgpack.decode(msgspec.msgpack.encode(failure), type=Failure))


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    "error",
    [
        ValueError("wrong", 7),
        KeyError("a"),
        ZeroDivisionError(),
        MailboxFullError("full"),
        FileNotFoundError(2, "no", "f"),
    ],
)
def test_an_exception_arrives_as_its_own_class_with_its_arguments(error: Exception) -> None:
    got = travelled(error)
    assert (type(got), got.args, str(got)) == (type(error), error.args, str(error))


def test_attributes_arrive_and_no_constructor_is_called() -> None:
    got = travelled(PickyError(-3, reason="no"))
    assert isinstance(got, PickyError)
    assert (got.number, got.reason, str(got)) == (-3, "no", "-3: no")
    data = travelled(DataError("bad row", file="a.csv", line=3))
    assert isinstance(data, DataError)
    assert (data.file, data.line) == ("a.csv", 3)
    operator = travelled(OperatorError("split", 0, "boom"))
    assert isinstance(operator, OperatorError)
    assert operator.actor == "split"


def test_a_text_with_half_a_surrogate_pair_arrives_with_its_number() -> None:
    error = ValueError("caf\udce9")
    error.file = "caf\udce9.csv"  # type: ignore[attr-defined]
    vars(error)["caf\udce9"] = 1
    got = travelled(raised(error))
    assert (type(got), str(got)) == (ValueError, r"caf\udce9")
    assert r"caf\udce9" in got.remote_traceback  # type: ignore[attr-defined]


class MissingError(OSError):
    def __init__(self, path: str) -> None:
        super().__init__(2, "no such thing", path)


@pytest.mark.parametrize(
    "error",
    [
        UnicodeDecodeError("utf-8", b"caf\xe9", 3, 4, "unexpected end of data"),
        UnicodeEncodeError("ascii", "café", 3, 4, "ordinal not in range(128)"),
        SyntaxError("invalid syntax", ("a.py", 3, 1, "x y")),
        MissingError("a.csv"),
    ],
)
def test_an_exception_whose_text_is_made_outside_of_its_arguments_keeps_its_text(error: Exception) -> None:
    got = travelled(error)
    assert (type(got), str(got)) == (type(error), str(error))


def test_the_traceback_arrives_as_text() -> None:
    got = travelled(raised(ValueError("wrong")))
    assert "raise error" in got.remote_traceback  # type: ignore[attr-defined]
    assert any("other/actor" in note for note in got.__notes__)


def test_an_exception_of_an_unknown_class_arrives_as_a_remote_error_that_names_it() -> None:
    got = rebuild(Failure("no_such_module:Odd", "boom", ["boom"], {}, "the traceback", "other/actor"))
    assert isinstance(got, RemoteError)
    assert got.type_name == "no_such_module:Odd"
    assert "boom" in str(got)
    assert got.remote_traceback == "the traceback"


@pytest.mark.parametrize(
    "name", ["builtins:KeyboardInterrupt", "builtins:SystemExit", "builtins:StopIteration", "os:system"]
)
def test_a_peer_cannot_choose_a_class_that_would_do_more_than_fail(name: str) -> None:
    assert isinstance(rebuild(Failure(name, "x", [], {}, "", "other/actor")), RemoteError)


def test_what_msgpack_cannot_carry_is_left_out() -> None:
    error = ValueError(object())
    error.handle = object()  # type: ignore[attr-defined]
    got = travelled(error)
    assert isinstance(got, ValueError)
    assert "object object" in str(got)
    assert not hasattr(got, "handle")


def test_an_exception_whose_text_cannot_be_made_still_travels() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert isinstance(travelled(Mute()), RemoteError)


def test_an_exception_that_hides_its_arguments_still_travels() -> None:
    class Closed(Exception):
        args = None  # type: ignore[assignment]

    assert "shut" in str(travelled(Closed("shut")))
