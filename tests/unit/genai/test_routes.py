"""Which requests are model calls, and in which wire format."""

from __future__ import annotations

from typing import Literal

import pytest

from spanseal.genai.wire import route, wire_format


@pytest.mark.parametrize(("client", "path", "name"), [
    ("openai", "/chat/completions", "openai.chat"),
    ("openai", "/v1/chat/completions", "openai.chat"),
    ("openai", "chat/completions", "openai.chat"),
    ("openai", "/openai/deployments/my-model/chat/completions?api-version=2026-01-01", "openai.chat"),
    ("openai", "https://gateway.example/base/v1/responses/", "openai.responses"),
    ("openai", "/openai/v1/responses?a=/x#f", "openai.responses"),
    ("openai", "/openai/deployments/d/embeddings", "openai.embeddings"),
    ("ollama", "/api/chat", "ollama.chat"),
    ("ollama", "/proxy/api/generate", "ollama.generate"),
    ("ollama", "/api/embed", "ollama.embed"),
    ("ollama", "/api/embeddings", "ollama.embed"),
])
def test_recorded(client: Literal["openai", "ollama"], path: str, name: str) -> None:
    assert route(client, "POST", path) == name
    assert route(client, "post", path) == name
    assert route(client, "GET", path) is None
    assert name == wire_format(name).FORMAT


@pytest.mark.parametrize("path", [
    "/responses/resp_1/cancel", "/responses/input_tokens", "/responses/compact", "/conversations", "/batches",
    "/conversations/c/items", "/files", "/chat/completions/id", "/models", "/myresponses", "/api/chat", "", "/",
])
def test_not_recorded_of_openai(path: str) -> None:
    assert route("openai", "POST", path) is None


@pytest.mark.parametrize("path", ["/api/show", "/api/pull", "/v1/chat/completions", "/api/tags", "/xapi/chat"])
def test_not_recorded_of_ollama(path: str) -> None:
    assert route("ollama", "POST", path) is None


def test_operations() -> None:
    names = {
        "openai.chat": "chat", "openai.responses": "chat", "openai.embeddings": "embeddings", "ollama.chat": "chat",
        "ollama.generate": "text_completion", "ollama.embed": "embeddings",
    }
    assert {name: wire_format(name).OPERATION for name in names} == names
