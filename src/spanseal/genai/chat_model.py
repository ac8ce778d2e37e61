"""The one protocol through which anything calls a model: the loop, a judge check, a rerun. Pure.

``LLMAdapter`` (``spanseal.adapters``) is the class that users extend; whatever follows this protocol works.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Protocol, runtime_checkable

from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers a :class:`ChatRequest`; ``request.model`` empty means the model's own name.

    >>> from spanseal.testing.scripted_model import ScriptedModel
    >>> isinstance(ScriptedModel(["391"]), ChatModel)
    True
    """

    @property
    def provider(self) -> str:
        """The convention's provider name (``openai``, ``ollama``, …)."""
        ...

    @property
    def model(self) -> str:
        """The default model's name."""
        ...

    def chat(self, request: ChatRequest) -> LLMResponse:
        """Call the model. Raises :class:`spanseal.errors.ProviderError` when the provider is at fault."""
        ...

    async def achat(self, request: ChatRequest) -> LLMResponse:
        """The same, awaitable."""
        ...

    def chat_stream(self, request: ChatRequest) -> Iterator[Chunk]:
        """The same, in chunks; the last chunk carries the whole response. Close it to stop early."""
        ...

    def achat_stream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        """The same, in chunks, awaitable."""
        ...
