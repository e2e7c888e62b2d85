"""The text of an expression as tokens. Knows spelling, not grammar."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from actorstream.operators.expressions.errors import ExpressionError

WORDS = ("and", "or", "not", "in", "is", "null", "true", "false")
"""Names that are no fields; a field called so is written in back quotes."""
_SPELT = {"True": "true", "False": "false", "None": "null"}
_INSTEAD = {
    "&&": "and",
    "||": "or",
    "!": "not",
    "=": "==",
    "<>": "!=",
    "===": "==",
    "&": "and",
    "|": "or",
}

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<float>(?:\d[\d_]*\.(?:\d[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+)
      | (?P<int>0[xX][0-9a-fA-F_]+|\d[\d_]*)
      | (?P<text>b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*")
      | (?P<name>[^\W\d]\w*)
      | (?P<quoted>`[^`]*`)
      | (?P<none><>|===)
      | (?P<op>//|==|!=|<=|>=|[<>+\-*/%()\[\],])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class Token(msgspec.Struct, frozen=True):
    """`kind`: "int", "float", "text", "bytes", "name", "word", "op" or "end"; `value`: what it stands for."""

    kind: str
    value: Any
    start: int
    end: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.value)


def tokens_of(text: str) -> list[Token]:
    """All tokens, then one of kind "end". ExpressionError for what is none."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup == "none":
            raise _unknown(text, at)
        kind, end = str(match.lastgroup), match.end()
        if kind != "space":
            found.append(_token(text, kind, match.group(), at, end))
        at = end
    found.append(Token("end", "", len(text), len(text)))
    return found


def _token(text: str, kind: str, spelling: str, start: int, end: int) -> Token:
    match kind:
        case "int" if not _is_int(spelling):
            return _bad(text, start, end, "a number with leading zeros", "17 or 0x11")
        case "int" | "float":
            try:  # Python's rule of underscores is ours
                value = int(spelling, 0) if kind == "int" else float(spelling)
            except ValueError:
                return _bad(text, start, end, "an underscore that is not between two digits", "1_000")
            return Token(kind, value, start, end)
        case "text":
            return _string(text, spelling, start, end)
        case "name":
            word = _SPELT.get(spelling, spelling)
            return Token("word" if word in WORDS else kind, word, start, end)
        case "quoted":
            return Token("name", spelling[1:-1], start, end)
    return Token(kind, spelling, start, end)


def _is_int(spelling: str) -> bool:
    return spelling[:2].lower() == "0x" or not (spelling[0] == "0" and spelling.strip("0_"))


def _string(text: str, spelling: str, start: int, end: int) -> Token:
    body = spelling.lstrip("b")[1:-1]

    def meant(match: re.Match[str]) -> str:
        short, longer, longest, plain = match.groups()
        code = short or longer or longest
        if code is not None and int(code, 16) <= 0x10FFFF:
            return chr(int(code, 16))
        if plain not in _ESCAPED:
            at = start + len(spelling) - len(body) - 1 + match.start()
            _bad(
                text,
                at,
                at + len(match.group()),
                f"an unknown escape {match.group()}",
                r"\\ \' \" \n \t \r \0 \xhh \uhhhh",
            )
        return _ESCAPED[plain]

    value = _ESCAPE.sub(meant, body)
    if not spelling.startswith("b"):
        return Token("text", value, start, end)
    try:
        return Token("bytes", value.encode("latin-1"), start, end)
    except UnicodeEncodeError:
        return _bad(text, start, end, "bytes with a character above \\xff", "b'...' of ASCII and \\xhh")


def _unknown(text: str, at: int) -> ExpressionError:
    for spelling in sorted(_INSTEAD, key=len, reverse=True):
        if text.startswith(spelling, at):
            return ExpressionError(
                text,
                at,
                at + len(spelling),
                f"there is no operator {spelling!r}",
                hint=f"write {_INSTEAD[spelling]!r}",
            )
    if text[at] in "'\"`":
        return ExpressionError(text, at, len(text), f"{text[at]} is not closed")
    return ExpressionError(text, at, at + 1, f"unexpected character {text[at]!r}")


def _bad(text: str, start: int, end: int, message: str, allowed: str) -> Token:
    raise ExpressionError(text, start, end, message, allowed)
