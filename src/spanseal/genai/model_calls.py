"""Whether a span tells a model call, whoever made it. Imports the names only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanseal.genai import semconv


def tells_model_call(attributes: Mapping[str, Any]) -> bool:
    """True for spans of inference or embeddings in the conventions, OpenInference's or OpenLLMetry's words.

    >>> [tells_model_call({"gen_ai.operation.name": name}) for name in ("chat", "execute_tool")]
    [True, False]
    """
    return any(attributes.get(key) in words for key, words in semconv.MODEL_CALL_WORDS.items())
