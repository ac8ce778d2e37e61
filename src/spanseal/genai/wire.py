"""The wire formats by name, and what each of them can do. Pure.

>>> wire_format("openai.chat").PROVIDER
'openai'
>>> route("openai", "POST", "/v1/embeddings")
'openai.embeddings'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from spanseal.errors import UsageError
from spanseal.genai import (
    ollama_chat,
    ollama_embed,
    ollama_generate,
    openai_chat,
    openai_embeddings,
    openai_responses,
)
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse
from spanseal.genai.places import Places
from spanseal.genai.routes import route as route
from spanseal.genai.wire_json import JsonObject


class Assembler(Protocol):
    """Stream chunks, put together."""

    def feed(self, chunk: Mapping[str, Any]) -> Chunk | None: ...
    def body(self) -> JsonObject: ...


class WireFormat(Protocol):
    """One wire format; each is a module."""

    @property
    def ENDS(self) -> tuple[bytes, ...]: ...  # noqa: N802 - a module's constant
    @property
    def FORMAT(self) -> str: ...  # noqa: N802 - a module's constant
    @property
    def OPERATION(self) -> str: ...  # noqa: N802 - a module's constant
    @property
    def PLACES(self) -> Places: ...  # noqa: N802 - a module's constant
    @property
    def PROVIDER(self) -> str: ...  # noqa: N802 - a module's constant
    @property
    def StreamAssembler(self) -> type[Assembler]: ...  # noqa: N802 - a module's class

    def request_body(self, request: ChatRequest, *, stream: bool) -> JsonObject: ...
    def parse_request(self, body: Mapping[str, Any]) -> ChatRequest: ...
    def parse_response(self, body: object) -> LLMResponse: ...
    def fault_of(self, body: object) -> str: ...
    def request_attributes(self, body: Mapping[str, Any]) -> dict[str, Any]: ...
    def response_attributes(self, body: Mapping[str, Any]) -> dict[str, Any]: ...
    def input_messages(self, body: Mapping[str, Any]) -> Sequence[JsonObject]: ...
    def output_messages(self, body: Mapping[str, Any]) -> Sequence[JsonObject]: ...
    def system_instructions(self, body: Mapping[str, Any]) -> Sequence[JsonObject]: ...
    def tool_definitions(self, body: Mapping[str, Any]) -> Sequence[JsonObject]: ...
    def split_stream(self, data: bytes) -> tuple[list[str], str]: ...
    def cut_short(self, texts: Sequence[str], body: Mapping[str, Any]) -> str: ...


_ALL: tuple[WireFormat, ...] = (
    openai_chat, openai_responses, openai_embeddings, ollama_chat, ollama_generate, ollama_embed,
)
_FORMATS: Mapping[str, WireFormat] = {wire.FORMAT: wire for wire in _ALL}


def wire_format(name: str) -> WireFormat:
    """The format called ``name``. Raises :class:`spanseal.errors.UsageError` (the caller's fault) with the list."""
    found = _FORMATS.get(name)
    if found is None:
        raise UsageError(f"unknown wire format {name!r}; known are {', '.join(sorted(_FORMATS))}")
    return found
