"""The answer is JSON that follows a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import VerificationCheck, VerificationResult
from spanseal.verification.json_schema import problems
from spanseal.verification.json_schema_form import check_schema
from spanseal.verification.json_text import JsonTextError, parse


class JSONSchemaCheck(VerificationCheck):
    """Fails on an answer that is not JSON or breaks ``schema``; the message names each place.

    Raises :class:`spanseal.errors.UsageError` at once for a schema with keywords that would not be obeyed.

    >>> JSONSchemaCheck({"type": "array", "items": {"type": "integer"}}).check(LLMResponse('[1, "x"]', "m")).message
    '$[1]: expected integer, got string'
    """

    name = "json_schema"

    def __init__(self, schema: Mapping[str, Any]) -> None:
        check_schema(schema)
        self.schema = schema

    def check(self, response: LLMResponse) -> VerificationResult:
        try:
            value = parse(response.text)
        except JsonTextError as error:
            return self.failed(f"{error}; expected is JSON that follows the given schema")
        found = problems(value, self.schema)
        return self.failed("; ".join(found), problems=found) if found else self.passed()
