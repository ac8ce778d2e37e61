"""The answer has text."""

from __future__ import annotations

from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import VerificationCheck, VerificationResult


class NotEmptyCheck(VerificationCheck):
    """Fails on an answer of nothing but white space, also on one that only asks for a tool.

    An agent shows it final answers, unless ``verify="all"`` is asked for.

    >>> NotEmptyCheck().check(LLMResponse("391", "m")).passed
    True
    """

    def check(self, response: LLMResponse) -> VerificationResult:
        if response.text.strip():
            return self.passed()
        return self.failed("the answer is empty; expected is a text")
