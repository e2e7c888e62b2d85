"""Expressions to syntax trees. Never runs anything: this grammar is all there is.

expression  = conjunction { "or" conjunction }
conjunction = negation { "and" negation }
negation    = "not" negation | comparison
comparison  = sum { ("==" | "!=" | "<" | "<=" | ">" | ">=") sum }
            | sum ["not"] "in" ( list | sum ) | sum "is" ["not"] "null"
sum         = product { ("+" | "-") product }
product     = signed { ("*" | "/" | "//" | "%") signed }
signed      = ("-" | "+") signed | literal | name | name "(" [expression { "," expression }] ")"
            | "(" expression ")"
list        = "(" expression "," ... ")" | "[" expression, ... "]"
"""

from __future__ import annotations

from msgspec.structs import replace

from actorstream.errors import ConfigurationError
from actorstream.operators.expressions.errors import ExpressionError
from actorstream.operators.expressions.tokens import Token, tokens_of
from actorstream.operators.expressions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Literal,
    Logic,
    Membership,
    Name,
    Negative,
    Not,
    NullTest,
    Syntax,
)

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
DEEPEST = 40
LONGEST = 20_000
_UPPER = {"AND", "OR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE"}


def parse(text: str) -> Syntax:
    """The tree of an expression. ExpressionError says what is wrong, where, and what is allowed there."""
    if not isinstance(text, str):
        raise ConfigurationError(f"an expression is {text!r}; allowed: text")
    if len(text) > LONGEST:
        raise ExpressionError(text, 0, 1, f"{len(text)} characters", f"at most {LONGEST}")
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0
        self.depth = 0

    # -- tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.token
        self.at += 1
        return token

    def sees(self, *spellings: str) -> bool:
        return self.token.kind in ("op", "word") and self.token.value in spellings

    def accept(self, *spellings: str) -> Token | None:
        return self.take() if self.sees(*spellings) else None

    def expect(self, spelling: str, after: Token) -> Token:
        found = self.accept(spelling)
        if found is None:
            raise self.unexpected(f"{spelling!r} for the {after.value!r} at character {after.start + 1}")
        return found

    def unexpected(self, allowed: str) -> ExpressionError:
        token = self.token
        hint = ""
        if token.kind == "name" and token.value in _UPPER:
            hint = f"write {token.value.lower()!r}"
        elif token.kind == "op" and token.value in "*/" and self.at and self.tokens[self.at - 1].value == "*":
            hint = "there is no power operator: write x * x"
        message = "ends too soon" if token.kind == "end" else f"unexpected {token}"
        return ExpressionError(self.text, token.start, token.end, message, allowed, hint)

    # -- grammar

    def whole(self) -> Syntax:
        if self.token.kind == "end":
            raise ExpressionError(self.text, 0, 1, "the expression is empty", "such as price * 2 > 10")
        found = self.expression()
        if self.token.kind != "end":
            raise self.unexpected("an operator, or the end")
        return found

    def expression(self) -> Syntax:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(
                self.text,
                self.token.start,
                self.token.end,
                "nested too deeply",
                f"{DEEPEST} levels of parentheses",
            )
        found = self.logic("or")
        self.depth -= 1
        return found

    def logic(self, word: str) -> Syntax:
        parts = [self.logic("and") if word == "or" else self.negation()]
        while self.accept(word):
            parts.append(self.logic("and") if word == "or" else self.negation())
        return parts[0] if len(parts) == 1 else Logic(parts[0].start, parts[-1].end, word, tuple(parts))

    def negation(self) -> Syntax:
        negations = []
        while found := self.accept("not"):
            negations.append(found)
        operand = self.comparison()
        for found in reversed(negations):
            operand = Not(found.start, operand.end, operand)
        return operand

    def comparison(self) -> Syntax:
        left = self.sum()
        operands, operators = [left], []
        while found := self.accept(*COMPARISONS):
            operators.append(str(found.value))
            operands.append(self.sum())
        if operators:
            left = Comparison(left.start, operands[-1].end, tuple(operators), tuple(operands))
        while self.sees("in", "not", "is"):
            left = self.null_test(left) if self.sees("is") else self.membership(left)
        if self.sees(*COMPARISONS):
            raise self.unexpected("'and', 'or' or the end (parentheses around what is compared)")
        return left

    def null_test(self, operand: Syntax) -> Syntax:
        self.take()
        negated = self.accept("not") is not None
        found = self.accept("null")
        if found is None:
            raise self.unexpected("'null' or 'not null' after 'is'")
        return NullTest(operand.start, found.end, operand, negated)

    def membership(self, item: Syntax) -> Syntax:
        negated = self.accept("not") is not None
        if not self.accept("in"):
            raise self.unexpected("'in' after 'not'")
        opening = self.token
        if opening.kind == "op" and opening.value in "([":
            self.take()
            closing = ")" if opening.value == "(" else "]"
            among = self.arguments(closing)
            end = self.expect(closing, opening).end
            return Membership(item.start, end, item, tuple(among), True, negated)
        container = self.sum()
        return Membership(item.start, container.end, item, (container,), False, negated)

    def arguments(self, closing: str) -> list[Syntax]:
        """Expressions with commas between them, and one more if you like, up to before `closing`."""
        found: list[Syntax] = []
        while not self.sees(closing):
            found.append(self.expression())
            if not self.accept(","):
                break
        return found

    def sum(self) -> Syntax:
        left = self.product()
        while found := self.accept("+", "-"):
            right = self.product()
            left = Arithmetic(left.start, right.end, str(found.value), left, right)
        return left

    def product(self) -> Syntax:
        left = self.signed()
        while found := self.accept("*", "/", "//", "%"):
            right = self.signed()
            left = Arithmetic(left.start, right.end, str(found.value), left, right)
        return left

    def signed(self) -> Syntax:
        signs = []
        while found := self.accept("-", "+"):
            signs.append(found)
        operand = self.atom()
        for sign in reversed(signs):
            if sign.value == "+":
                continue
            if isinstance(operand, Literal) and type(operand.value) in (int, float):
                operand = Literal(sign.start, operand.end, -operand.value)
            else:
                operand = Negative(sign.start, operand.end, operand)
        return operand

    def atom(self) -> Syntax:
        token = self.token
        if token.kind in ("int", "float", "text", "bytes"):
            self.take()
            return Literal(token.start, token.end, token.value)
        if token.kind == "word" and token.value in ("true", "false", "null"):
            self.take()
            return Literal(token.start, token.end, {"true": True, "false": False}.get(token.value))
        if token.kind == "name":
            self.take()
            return self.call(token) if self.sees("(") else Name(token.start, token.end, token.value)
        if self.accept("("):
            found = self.expression()
            if self.sees(","):
                raise self.unexpected("one value in parentheses; a list only after 'in'")
            closing = self.expect(")", token)
            return replace(found, start=token.start, end=closing.end)
        raise self.unexpected("a value: a field, a number, 'text', a function, (")

    def call(self, name: Token) -> Syntax:
        opening = self.take()
        arguments = self.arguments(")")
        if not self.sees(")") and self.token.kind != "end":
            raise self.unexpected("',' or ')'")
        closing = self.expect(")", opening)
        return Call(name.start, closing.end, name.value, name.end, tuple(arguments))
