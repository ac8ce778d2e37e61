"""The answer was not cut off."""

from __future__ import annotations

from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import Severity, VerificationCheck, VerificationResult


class CompleteCheck(VerificationCheck):
    """Fails on an answer that the provider cut off: at the token limit, by its content filter, or by an error.

    >>> CompleteCheck().check(LLMResponse("It is 39", "m", finish_reason="length")).message
    'the answer was cut off (length); expected is a complete, if shorter one'
    """

    cut_off = ("length", "content_filter", "error")

    def __init__(self, severity: Severity = "error") -> None:
        self.severity = severity

    def check(self, response: LLMResponse) -> VerificationResult:
        if response.finish_reason not in self.cut_off:
            return self.passed()
        return self.failed(f"the answer was cut off ({response.finish_reason}); expected is a complete, if shorter one")
