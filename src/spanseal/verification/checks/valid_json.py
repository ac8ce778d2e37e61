"""The answer is JSON, of any type."""

from __future__ import annotations

from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import VerificationCheck, VerificationResult
from spanseal.verification.json_text import JsonTextError, kind, parse


class ValidJSONCheck(VerificationCheck):
    """Fails on an answer that is not one strict JSON value; a list or a number is as good as an object.

    >>> ValidJSONCheck().check(LLMResponse("[1, 2]", "m")).passed
    True
    """

    name = "valid_json"

    def check(self, response: LLMResponse) -> VerificationResult:
        try:
            value = parse(response.text)
        except JsonTextError as error:
            return self.failed(f"{error}; expected is one JSON value and nothing else, no Markdown around it")
        return self.passed(kind=kind(value))
