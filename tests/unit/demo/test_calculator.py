"""The calculator against exact fractions, and against people who wish it ill."""

from __future__ import annotations

import re
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.demo.calculator import CalculatorError, calculate, calculator, evaluate, shown
from spanseal.genai.messages import ToolCall
from spanseal.tools.executor import ToolExecutor

numbers = st.integers(0, 10**6).map(str) | st.decimals(0, 1000, places=3).map(str)
texts = st.recursive(numbers, lambda inner: st.one_of(
    st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    inner.map(lambda text: f"-({text})"), st.tuples(inner, st.integers(0, 2)).map(lambda t: f"({t[0]}) ** {t[1]}"),
), max_leaves=5)


@given(texts)
def test_it_agrees_with_exact_fractions(text: str) -> None:
    python = re.sub(r"[0-9.]+", lambda match: f"Fraction('{match[0]}')", text)
    try:
        expected = eval(python, {"Fraction": Fraction})
    except ZeroDivisionError:
        with pytest.raises(CalculatorError, match="division by zero"):
            evaluate(text)
        return
    assert evaluate(text) == expected


@given(st.fractions())
def test_what_is_shown_is_the_value(value: Fraction) -> None:
    text = shown(value)
    if not text.startswith("about "):
        assert Fraction(text) == value
        return
    rounded = Fraction(text.split()[1])
    assert abs(rounded - value) <= abs(value) * Fraction(1, 10**11)
    if "exactly" in text:
        assert Fraction(text.split()[-1].rstrip(")")) == value


@pytest.mark.parametrize(("text", "result"), [
    ("17 * 23", "391"), ("2 ** 3 ** 2", "512"), ("-2 ** 2", "-4"), ("2 ** -1", "0.5"), ("(1 + 2) * 3", "9"),
    ("10 - 4 - 3", "3"), ("7 % 3", "1"), ("-7 % 3", "2"), ("0.1 + 0.2", "0.3"), ("1,234,567.5 * 2", "2469135"),
    ("83 200", None), ("1e6 / 4", "250000"), ("3 × 4 ÷ 2 − 1", "5"), ("2^10 =", "1024"), (".5 + .5", "1"),
    ("2 / 3", "about 0.666666666667 (exactly 2/3)"), ("--1", "1"),
    ("1 / 7 ** 30", "about 4.43668708624e-26 (exactly 1/22539340290692258087863249)"),
    ("2 ** 100 / 3", "about 4.22550200076e+29 (exactly 1267650600228229401496703205376/3)"),
])
def test_examples(text: str, result: str | None) -> None:
    if result is None:
        with pytest.raises(CalculatorError, match="an operator is missing"):
            calculate(text)
    else:
        assert calculate(text) == result


HOSTILE = [
    ("9**9**9", "too large"), ("9**9**9**9**9", "too large"), ("(" * 200 + "1" + ")" * 200, "nested deeper than 50"),
    ("-" * 400 + "1", "nested deeper than 50"), ("9" * 501, "at most 500"), ("9" * 497 + "**9", "too large"),
    ("*".join(["9" * 100] * 4) + "**99", "too large"), ("1e9999", "exponents go up to"), ("1/0", "division by zero"),
    ("5 % 0", "division by zero"), ("0 ** -1", "division by zero"), ("2 ** 0.5", "whole number"),
    ("__import__('os').system('true')", "cannot be read"), ("1 + a", "cannot be read"), ("", "is empty"),
    ("  ", "is empty"), ("1 +", "missing at the end"), ("* 2", "missing before '*'"), ("(1", "closing bracket"),
    ("1)", "an operator is missing"), ("1 2", "an operator is missing"), ("()", "missing before ')'"),
    ("1,23", "cannot be read"), ("1..2", "cannot be read"), ("٣ + ٤", "cannot be read"), ("1//2", "missing before '/'"),
]


@pytest.mark.parametrize(("text", "words"), HOSTILE)
def test_hostile_and_broken_inputs_end_at_once_with_a_reason(text: str, words: str) -> None:
    started = time.perf_counter()
    with pytest.raises(CalculatorError, match=words.replace("*", r"\*").replace("(", r"\(").replace(")", r"\)")):
        evaluate(text)
    assert time.perf_counter() - started < 0.5


@given(st.text(max_size=60) | st.text("0123456789+-*/%().,e ", max_size=60))
def test_any_text_gives_a_value_or_a_reason(text: str) -> None:
    try:
        result = shown(evaluate(text))
    except CalculatorError as error:
        result = str(error)
    assert result


def test_as_a_tool_its_errors_are_the_models_fault() -> None:
    executor = ToolExecutor([calculator])
    good = executor.execute(ToolCall("1", "calculator", '{"expression": "17 * 23"}'))
    assert (good.result, good.ok) == ("391", True)
    bad = executor.execute(ToolCall("1", "calculator", '{"expression": "17 *"}'))
    assert (bad.fault, bad.error_type) == ("model", "CalculatorError")
