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
    told = ((attributes.get(key), words) for key, words in semconv.MODEL_CALL_WORDS.items())
    return any(isinstance(word, str) and word in words for word, words in told)
