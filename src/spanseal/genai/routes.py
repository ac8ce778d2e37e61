"""Which wire format a request speaks, by the client's kind, its method and its path. Pure; imports nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

_ENDINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "openai": {
        "/chat/completions": "openai.chat",
        "/responses": "openai.responses",
        "/embeddings": "openai.embeddings",
    },
    "ollama": {
        "/api/chat": "ollama.chat",
        "/api/generate": "ollama.generate",
        "/api/embed": "ollama.embed",
        "/api/embeddings": "ollama.embed",
    },
}


def route(client: Literal["openai", "ollama"], method: str, path: str) -> str | None:
    """The name of the format of ``method path``; None for what is no model call that we record.

    The path may have any base before it (``/v1``, a proxy's, an Azure deployment's), a query behind it, or be a whole
    URL. What continues a known ending is another endpoint (``/responses/{id}/cancel``).

    >>> route("openai", "POST", "/openai/deployments/d/chat/completions?api-version=1")
    'openai.chat'
    >>> route("openai", "GET", "/v1/responses/resp_1"), route("openai", "POST", "/v1/responses/input_tokens")
    (None, None)
    >>> route("ollama", "post", "api/embeddings")
    'ollama.embed'
    """
    if method.upper() != "POST":
        return None
    bare = "/" + path.partition("?")[0].partition("#")[0].strip("/")
    for ending, name in _ENDINGS.get(client, {}).items():
        if bare.endswith(ending):
            return name
    return None
