"""Each check: what it lets pass, what it refuses, and the words."""

from __future__ import annotations

from typing import Any

import pytest

from spanseal.errors import UsageError
from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import VerificationCheck
from spanseal.verification.checks.complete import CompleteCheck
from spanseal.verification.checks.forbidden_phrase import ForbiddenPhraseCheck
from spanseal.verification.checks.json_schema import JSONSchemaCheck
from spanseal.verification.checks.max_length import MaxLengthCheck
from spanseal.verification.checks.not_empty import NotEmptyCheck
from spanseal.verification.checks.valid_json import ValidJSONCheck

PERSON: dict[str, Any] = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.mark.parametrize(("check", "text", "passes"), [
    (NotEmptyCheck(), "x", True), (NotEmptyCheck(), " \n\t\u2003", False), (NotEmptyCheck(), "", False),
    (MaxLengthCheck(), "x" * 4000, True), (MaxLengthCheck(), "x" * 4001, False), (MaxLengthCheck(1), "🙂", True),
    *[(ValidJSONCheck(), text, True) for text in ("{}", "[]", "1", '"x"', "null", "true", " [1] \n", "-0.5e3")],
    *[(ValidJSONCheck(), text, False) for text in (
        "", "x", "{'a': 1}", "{} {}", "```json\n{}\n```", "NaN", "[1,]", '{"a":1,"a":2}', "[" * 500 + "]" * 500)],
    (JSONSchemaCheck(PERSON), '{"age": 3}', True), (JSONSchemaCheck(PERSON), '{"age": "3"}', False),
    (JSONSchemaCheck(PERSON), "[]", False), (JSONSchemaCheck(PERSON), "age 3", False),
    (ForbiddenPhraseCheck(["As an AI"]), "as an ai, I", False), (ForbiddenPhraseCheck(["AI"]), "rain", False),
    (ForbiddenPhraseCheck(["AI"], case_sensitive=True), "rain", True),
    (ForbiddenPhraseCheck(["secret"]), "ｓｅｃｒｅｔ", False), (ForbiddenPhraseCheck(["STRASSE"]), "Straße", False),
    (ForbiddenPhraseCheck([]), "anything", True),
])
def test_verdicts(check: VerificationCheck, text: str, passes: bool) -> None:
    result = check.check(LLMResponse(text, "m"))
    assert result.passed is passes
    assert bool(result.message) is not passes
    assert result.check_name == check.name


@pytest.mark.parametrize(("reason", "passes"), [
    ("stop", True), ("", True), ("tool_call", True), ("length", False), ("content_filter", False), ("error", False),
])
def test_an_answer_that_was_cut_off_is_not_complete(reason: str, passes: bool) -> None:
    assert CompleteCheck().check(LLMResponse("It is 39", "m", finish_reason=reason)).passed is passes


def test_messages_name_the_place() -> None:
    assert "line 1, column 7" in ValidJSONCheck().check(LLMResponse('{"a": x}', "m")).message
    assert JSONSchemaCheck(PERSON).check(LLMResponse("{}", "m")).message == "$: 'age' is missing"
    assert "'b', 'c'" in ForbiddenPhraseCheck(["a", "b", "c"]).check(LLMResponse("bc", "m")).message


@pytest.mark.parametrize("make", [
    lambda: MaxLengthCheck(0), lambda: ForbiddenPhraseCheck("secret"), lambda: ForbiddenPhraseCheck([" "]),
    lambda: JSONSchemaCheck({"type": "text"}), lambda: JSONSchemaCheck({"if": {}}),
])
def test_impossible_checks_are_refused(make: Any) -> None:
    with pytest.raises(UsageError):
        make()
