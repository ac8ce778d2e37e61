"""A calculator that reads a small grammar itself: exact, and bounded in size and time. Nothing is evaluated as code.

::

    sum     = product (("+" | "-") product)*
    product = signed (("*" | "/" | "%") signed)*
    signed  = ("+" | "-") signed | power
    power   = atom ("**" signed)?              right to left; the exponent is a whole number
    atom    = number | "(" sum ")"
    number  = digits, optionally grouped by commas (1,234,567), with a fraction (.5) and an exponent (1e6)

``×``, ``·``, ``÷``, ``−`` and ``^`` are read as models mean them. Values are fractions, so no digit is lost; ``%`` has
the sign of its right side. Bounds: 500 characters, 50 levels of brackets and signs, exponents up to 1000, and
numbers up to 4096 bits above and below the line.

>>> calculate("83,200,000 / 1000")
'83200'
>>> calculate("1 / 3")
'about 0.333333333333 (exactly 1/3)'
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated

from spanseal.errors import ModelFaultError
from spanseal.tools.tool import tool

MAX_CHARS, MAX_DEPTH, MAX_EXPONENT, MAX_BITS = 500, 50, 1000, 4096
MAX_DIGITS_SHOWN = 40
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?"
    r"|\.[0-9]+)|(?P<sign>\*\*|[-+*/%()]))"
)
_MEANT = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "^": "\x00"})


class CalculatorError(ModelFaultError):
    """The expression cannot be calculated; the text tells the model what is wrong with it."""


Expression = Annotated[str, "what to calculate, such as (17 + 4) * 2.5; numbers and + - * / % ** ( )"]


@tool
def calculator(expression: Expression) -> str:
    """Calculate an arithmetic expression exactly."""
    return calculate(expression)


def calculate(expression: str) -> str:
    """The value as a text for people and models. Raises :class:`CalculatorError` with what is wrong."""
    return shown(evaluate(expression))


def evaluate(expression: str) -> Fraction:
    """The exact value. Raises :class:`CalculatorError` with what is wrong.

    >>> evaluate("-2 ** 2 + 0.5")
    Fraction(-7, 2)
    """
    return _Reader(_tokens(expression)).whole()


def shown(value: Fraction) -> str:
    """A whole number or a short decimal as it is, anything else as a rounded decimal and the exact fraction.

    >>> shown(Fraction(5, 4)), shown(Fraction(-3))
    ('1.25', '-3')
    """
    if value.denominator == 1:
        return str(value.numerator)
    exact = _decimal(value)
    if exact is not None:
        return exact
    fraction = f"{value.numerator}/{value.denominator}"
    note = f" (exactly {fraction})" if len(fraction) <= MAX_DIGITS_SHOWN else ""
    return f"about {_rounded(value)}{note}"


def _decimal(value: Fraction) -> str | None:
    """The decimal with no digit lost, where there is one that is short enough."""
    for places in range(1, MAX_DIGITS_SHOWN):
        scaled = value * 10**places
        if scaled.denominator == 1:
            digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
            return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
    return None


def _rounded(value: Fraction, significant: int = 12) -> str:
    """Twelve significant digits, half to even, by whole numbers alone (a float would overflow)."""
    size = len(str(abs(value.numerator))) - len(str(value.denominator))
    places = significant - size if abs(value) < Fraction(10) ** size else significant - size - 1
    whole = round(abs(value) * Fraction(10) ** places)
    if len(str(whole)) > significant:
        whole, places = whole // 10, places - 1
    sign, digits, exponent = "-" if value < 0 else "", str(whole), significant - 1 - places
    if not -6 <= exponent < significant:
        return f"{sign}{digits[0]}.{digits[1:].rstrip('0') or '0'}e{exponent:+d}"
    text = digits.rjust(places + 1, "0") if places > 0 else digits
    return f"{sign}{text[:-places]}.{text[-places:]}".rstrip("0").rstrip(".") if places > 0 else f"{sign}{text}"


def _tokens(expression: str) -> list[str]:
    if len(expression) > MAX_CHARS:
        raise CalculatorError(f"the expression has {len(expression)} characters; at most {MAX_CHARS} are read")
    text = expression.translate(_MEANT).replace("\x00", "**").rstrip().removesuffix("=").rstrip()
    found: list[str] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:].lstrip()
            raise CalculatorError(f"{rest[:20]!r} cannot be read here; expected are numbers and + - * / % ** ( )")
        found.append(match[0].strip())
        at = match.end()
    if not found:
        raise CalculatorError("the expression is empty; expected is something like 17 * 23")
    return found


class _Reader:
    """Recursive descent over the tokens; every level of the descent is counted."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def whole(self) -> Fraction:
        value = self.sum()
        if self.at < len(self.tokens):
            raise CalculatorError(f"{self.tokens[self.at]!r} is not expected here; an operator is missing")
        return value

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def sum(self) -> Fraction:
        value = self.product()
        while self.peek() in ("+", "-"):
            value = _bounded(value + self.product() if self.take() == "+" else value - self.product())
        return value

    def product(self) -> Fraction:
        value = self.signed()
        while self.peek() in ("*", "/", "%"):
            operator, right = self.take(), self.signed()
            if operator != "*" and right == 0:
                raise CalculatorError("division by zero")
            value = _bounded(value * right if operator == "*" else value / right if operator == "/" else value % right)
        return value

    def signed(self) -> Fraction:
        if self.peek() not in ("+", "-"):
            return self.power()
        self.down()
        sign = self.take()
        value = self.signed()
        self.depth -= 1
        return value if sign == "+" else -value

    def power(self) -> Fraction:
        base = self.atom()
        if self.peek() != "**":
            return base
        self.take()
        self.down()
        value = _power(base, self.signed())
        self.depth -= 1
        return value

    def atom(self) -> Fraction:
        token = self.take()
        if token == "(":  # noqa: S105 - a bracket
            self.down()
            value = self.sum()
            self.depth -= 1
            if self.take() != ")":
                raise CalculatorError("a closing bracket is missing")
            return value
        if not token or token[0] not in "0123456789.":
            where = f"before {token!r}" if token else "at the end"
            raise CalculatorError(f"a number is missing {where}")
        mantissa, _, exponent = token.lower().replace(",", "").partition("e")
        if abs(int(exponent or 0)) > MAX_EXPONENT:
            raise CalculatorError(f"{token!r} is too large or too small; exponents go up to {MAX_EXPONENT}")
        return _bounded(Fraction(mantissa) * Fraction(10) ** int(exponent or 0))

    def down(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CalculatorError(f"brackets and signs are nested deeper than {MAX_DEPTH} levels")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise CalculatorError("the exponent of ** must be a whole number")
    if abs(exponent) > MAX_EXPONENT or _bits(base) * abs(exponent) > 2 * MAX_BITS:
        raise CalculatorError(f"the power is too large; exponents go up to {MAX_EXPONENT}, results to {MAX_BITS} bits")
    if base == 0 and exponent < 0:
        raise CalculatorError("division by zero")
    return _bounded(Fraction(base ** int(exponent)))


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _bounded(value: Fraction) -> Fraction:
    if _bits(value) > MAX_BITS:
        raise CalculatorError(f"a value on the way is too large; at most {MAX_BITS} bits are kept")
    return value
