"""The answer avoids certain phrases."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import cast

from spanseal.errors import UsageError
from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import Severity, VerificationCheck, VerificationResult


class ForbiddenPhraseCheck(VerificationCheck):
    """Fails on an answer that contains one of ``phrases``, also inside a longer word.

    Compared after Unicode NFKC, so that full-width or composed letters do not slip through.

    >>> ForbiddenPhraseCheck(["as an AI"]).check(LLMResponse("As an ai, I …", "m")).passed
    False
    """

    def __init__(
        self, phrases: Sequence[str], case_sensitive: bool = False, severity: Severity = "error"
    ) -> None:
        given = cast("object", phrases)
        texts = cast("Sequence[object]", given) if isinstance(given, Sequence) else (None,)
        if isinstance(given, str) or not all(isinstance(phrase, str) and phrase.strip() for phrase in texts):
            raise UsageError("ForbiddenPhraseCheck: phrases is a list of non-empty texts")
        self.phrases = tuple(phrases)
        self.case_sensitive = case_sensitive
        self.severity = severity

    def check(self, response: LLMResponse) -> VerificationResult:
        text = self._key(response.text)
        found = [phrase for phrase in self.phrases if self._key(phrase) in text]
        if not found:
            return self.passed()
        return self.failed(f"the answer contains {', '.join(map(repr, found))}; expected is none of them", found=found)

    def _key(self, text: str) -> str:
        normal = unicodedata.normalize("NFKC", text)
        return normal if self.case_sensitive else unicodedata.normalize("NFKC", normal.casefold())
