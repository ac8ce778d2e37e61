"""Embeddings of both providers: what they are told as, and that nothing is made up for them."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from tests.unit.genai.json_values import hostile

from spanseal.errors import MalformedResponseError
from spanseal.genai import ollama_embed, openai_embeddings
from spanseal.genai import semconv as sc
from spanseal.genai.embeddings import dimensions

WIRES: list[Any] = [openai_embeddings, ollama_embed]
VECTOR = base64.b64encode(struct.pack("<5f", *range(5))).decode()


@pytest.mark.parametrize(
    ("vector", "count"),
    [
        ([1, 2.0, 3], 3),
        ([], None),
        (VECTOR, 5),
        ("AAA", None),
        ("", None),
        (None, None),
        ({"a": 1}, None),
        ("AAAA", None),
    ],
)
def test_dimensions(vector: object, count: int | None) -> None:
    assert dimensions(vector) == count


def test_openai() -> None:
    body = {"model": "m", "input": ["a", "b"], "encoding_format": "base64", "dimensions": 5, "user": "u"}
    assert openai_embeddings.request_attributes(body) == {
        sc.REQUEST_MODEL: "m",
        sc.REQUEST_ENCODING_FORMATS: ["base64"],
        sc.EMBEDDINGS_DIMENSION_COUNT: 5,
    }
    answer = {
        "object": "list",
        "model": "m-1",
        "usage": {"prompt_tokens": 4, "total_tokens": 4},
        "data": [{"object": "embedding", "index": 0, "embedding": VECTOR}],
    }
    assert openai_embeddings.response_attributes(answer) == {
        sc.RESPONSE_MODEL: "m-1",
        sc.EMBEDDINGS_DIMENSION_COUNT: 5,
        sc.USAGE_INPUT_TOKENS: 4,
    }
    assert openai_embeddings.parse_response(answer).prompt_tokens == 4


def test_ollama_new_and_old() -> None:
    assert ollama_embed.request_attributes({"model": "m", "input": "a", "dimensions": 3, "truncate": True}) == {
        sc.REQUEST_MODEL: "m",
        sc.EMBEDDINGS_DIMENSION_COUNT: 3,
    }
    new = {"model": "m", "embeddings": [[0.1, 0.2]], "prompt_eval_count": 2, "total_duration": 5}
    assert ollama_embed.response_attributes(new) == {
        sc.RESPONSE_MODEL: "m",
        sc.EMBEDDINGS_DIMENSION_COUNT: 2,
        sc.USAGE_INPUT_TOKENS: 2,
    }
    assert ollama_embed.response_attributes({"embedding": [0.1]}) == {sc.EMBEDDINGS_DIMENSION_COUNT: 1}
    assert ollama_embed.parse_response({"embedding": [0.1]}).raw == {"embedding": [0.1]}


@pytest.mark.parametrize("wire", WIRES)
def test_no_messages_are_made_up(wire: Any) -> None:
    body = {"model": "m", "input": ["a"], "tools": [{"name": "t"}], "messages": [{"role": "user"}]}
    for read in (wire.input_messages, wire.output_messages, wire.tool_definitions, wire.system_instructions):
        assert read(body) == []
    request = wire.parse_request(body)
    assert (request.messages, request.tools, request.extra["input"]) == ((), (), ["a"])
    assert wire.request_body(request, stream=True) == body
    assert wire.PLACES.count(body) == 0


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("body", "words"), [(None, "JSON object"), ({}, "no vectors"), ({"error": "boom"}, "boom")])
def test_what_is_no_answer(wire: Any, body: Any, words: str) -> None:
    assert words in wire.fault_of(body)
    with pytest.raises(MalformedResponseError, match=words):
        wire.parse_response(body)


@pytest.mark.parametrize("wire", WIRES)
@given(
    body=hostile(["model", "input", "data", "embedding", "embeddings", "usage", "prompt_tokens", "dimensions", "error"])
)
def test_nothing_raises(wire: Any, body: dict[str, Any]) -> None:
    wire.parse_request(body)
    wire.request_attributes(body)
    wire.response_attributes(body)
    stream = wire.StreamAssembler()
    stream.feed(body)
    json.dumps(stream.body())
    with contextlib.suppress(MalformedResponseError):
        wire.parse_response(body)
