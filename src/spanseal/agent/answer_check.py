"""The check that no agent can switch off: a final answer has text, any other response asks for something."""

from __future__ import annotations

from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import VerificationCheck, VerificationResult


class AnswerPresentCheck(VerificationCheck):
    """Fails on a response without text and without tool calls.

    >>> AnswerPresentCheck().check(LLMResponse("  ", "m")).passed
    False
    """

    def check(self, response: LLMResponse) -> VerificationResult:
        if response.text.strip() or response.tool_calls:
            return self.passed()
        why = f" (it ended with {response.finish_reason!r})" if response.finish_reason not in ("", "stop") else ""
        return self.failed(f"the answer has no text{why}; expected is the answer as text")
