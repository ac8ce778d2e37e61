"""A model of the user's own class as an adapter, so that its calls are spans too. May import base and genai."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from spanseal.adapters.base import LLMAdapter
from spanseal.genai.chat_model import ChatModel
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse


class OwnModel(LLMAdapter):
    """Whatever follows :class:`spanseal.genai.chat_model.ChatModel`, timed, counted and traced."""

    def __init__(self, inner: ChatModel) -> None:
        self.inner = inner
        self.provider = inner.provider
        self.model = inner.model

    def _chat(self, request: ChatRequest) -> LLMResponse:
        return self.inner.chat(request)

    async def _achat(self, request: ChatRequest) -> LLMResponse:
        return await self.inner.achat(request)

    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        return self.inner.chat_stream(request)

    def _astream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        return self.inner.achat_stream(request)


def as_adapter(model: ChatModel) -> LLMAdapter:
    """``model`` itself if it is an adapter, else one around it: no call of a model may lack its span.

    >>> from spanseal.adapters.ollama import OllamaAdapter
    >>> adapter = OllamaAdapter("smollm2")
    >>> as_adapter(adapter) is adapter
    True
    """
    return model if isinstance(model, LLMAdapter) else OwnModel(model)
