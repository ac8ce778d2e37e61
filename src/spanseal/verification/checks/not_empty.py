"""The answer has text (or, where that is enough, asks for a tool)."""

from __future__ import annotations

from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import VerificationCheck, VerificationResult


class NotEmptyCheck(VerificationCheck):
    """Fails on an answer of nothing but white space.

    >>> NotEmptyCheck().check(LLMResponse("391", "m")).passed
    True
    """

    def check(self, response: LLMResponse) -> VerificationResult:
        if response.text.strip():
            return self.passed()
        return self.failed("the answer is empty; expected is a text")
