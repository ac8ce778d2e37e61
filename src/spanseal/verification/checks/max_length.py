"""The answer is not longer than agreed."""

from __future__ import annotations

from spanseal.genai.messages import LLMResponse
from spanseal.settings import Value
from spanseal.verification.check import Severity, VerificationCheck, VerificationResult


class MaxLengthCheck(VerificationCheck):
    """Fails on an answer of more than ``max_chars`` characters (Unicode code points).

    >>> MaxLengthCheck(3).check(LLMResponse("four", "m")).message
    'the answer has 4 characters; expected are at most 3'
    """

    def __init__(self, max_chars: int = 4000, severity: Severity = "error") -> None:
        self.max_chars = Value(max_chars, "MaxLengthCheck(max_chars=…)").at_least(1)
        self.severity = severity

    def check(self, response: LLMResponse) -> VerificationResult:
        length = len(response.text)
        if length <= self.max_chars:
            return self.passed(length=length)
        return self.failed(
            f"the answer has {length} characters; expected are at most {self.max_chars}", length=length
        )
