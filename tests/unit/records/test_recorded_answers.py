"""Answers come back verbatim, whole or in ordered chunks; what an attribute holds, the record does not hold again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from tests.unit.genai.json_values import st
from tests.unit.records.odd_json import anything, texts, written
from tests.unit.records.test_wire_bodies import FEW, recorded, through_otlp
from tests.unit.records.wire_bodies import FORMATS

from spanseal.genai import semconv as sc
from spanseal.genai.wire import wire_format
from spanseal.genai.wire_json import mend_text, render
from spanseal.records.replay_read import recorded_response, response


@pytest.mark.parametrize("name", FORMATS)
@FEW
@given(body=anything | texts.map(mend_text))
def test_a_whole_answer_is_verbatim(name: str, body: Any) -> None:
    text = body if isinstance(body, str) else written(body)
    told = through_otlp({sc.LLM_FORMAT: name, sc.LLM_RESPONSE_BODY: text})
    kept = response(told)
    assert kept is not None
    assert (kept.body, kept.chunks) == (text, ())
    recorded_response(told)  # whatever it is, a reader is not stopped


@pytest.mark.parametrize("name", FORMATS)
@FEW
@given(chunks=st.lists(anything.map(written) | texts, min_size=1, max_size=5))
def test_a_streams_chunks_keep_their_order_and_text(name: str, chunks: list[str]) -> None:
    told = {sc.LLM_FORMAT: name, sc.LLM_RESPONSE_BODY: render(chunks), sc.LLM_STREAM_CHUNKS: len(chunks)}
    kept = response(through_otlp(told))
    assert kept is not None
    assert (kept.body, list(kept.chunks)) == ("", chunks)
    recorded_response(told)


LONG = "§" * 40
PICTURE = f"data:image/png;base64,{'A' * 40}"
MARKED: dict[str, Any] = {
    "openai.chat": {
        "messages": [
            {"role": "system", "content": LONG},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": LONG},
                    {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": LONG, "type": "function", "function": {"name": "f", "arguments": json.dumps({"a": LONG})}}
                ],
            },
            {"role": "tool", "tool_call_id": LONG, "content": LONG},
        ],
        "tools": [{"type": "function", "function": {"name": LONG, "description": LONG, "parameters": {"a": LONG}}}],
    },
    "openai.responses": {
        "instructions": LONG,
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": LONG}, {"type": "input_image", "image_url": PICTURE}],
            },
            {
                "type": "reasoning",
                "id": LONG,
                "summary": [{"type": "summary_text", "text": LONG}],
                "encrypted_content": LONG,
            },
            {"type": "reasoning", "id": LONG, "summary": [], "encrypted_content": LONG},
            {"type": "function_call", "id": LONG, "call_id": LONG, "name": "f", "arguments": json.dumps({"a": LONG})},
            {"type": "function_call_output", "call_id": LONG, "output": [{"type": "input_text", "text": LONG}]},
            {"type": "message", "id": LONG, "role": "assistant", "content": [{"type": "output_text", "text": LONG}]},
            {"type": "web_search_call", "id": LONG, "action": {"type": "search", "query": LONG}},
            {"type": "mcp_call", "id": "x", "name": LONG, "arguments": LONG, "output": LONG},
            {"type": "compaction", "id": LONG, "encrypted_content": LONG},
            {"type": "shell_call_output", "call_id": LONG, "output": [{"stdout": LONG}]},
            {"type": "a_future_item", "id": LONG, "$ref": LONG, "x": [LONG]},
        ],
        "tools": [
            {"type": "function", "name": LONG, "description": LONG, "parameters": {"a": LONG}},
            {"type": "mcp", "server_label": LONG, "server_url": LONG, "allowed_tools": [LONG]},
            {"type": "namespace", "name": LONG, "tools": [{"name": LONG, "parameters": {"$defs": {"a": LONG}}}]},
        ],
    },
    "ollama.chat": {
        "messages": [
            {"role": "user", "content": LONG, "images": ["A" * 40]},
            {
                "role": "assistant",
                "content": "",
                "thinking": LONG,
                "tool_calls": [{"function": {"name": "f", "arguments": {"a": LONG}}}],
            },
            {"role": "tool", "content": LONG, "tool_name": LONG},
        ]
    },
    "ollama.generate": {"prompt": LONG, "system": LONG, "images": ["A" * 40]},
}


@pytest.mark.parametrize("name", MARKED)
@pytest.mark.parametrize("style", [(":", ","), (": ", ", ")])
def test_content_is_stored_once(name: str, style: tuple[str, str]) -> None:
    params = recorded(name, written({"model": "m", **MARKED[name]}, "", *style).encode())[sc.LLM_REQUEST_PARAMS]
    assert "§" not in params
    assert "AAAA" not in params


@pytest.mark.parametrize("name", ["openai.responses", "ollama.generate"])
def test_a_single_prompt_is_stored_once(name: str) -> None:
    field = wire_format(name).PLACES.message[0]
    assert "§" not in recorded(name, written({"model": "m", field: LONG}).encode())[sc.LLM_REQUEST_PARAMS]


@pytest.mark.parametrize(
    ("name", "field"), [("openai.embeddings", "input"), ("ollama.embed", "input"), ("ollama.embed", "prompt")]
)
def test_what_is_embedded_is_stored_once(name: str, field: str) -> None:
    attributes = recorded(name, written({"model": "m", field: LONG}).encode())
    assert "".join(str(value) for value in attributes.values()).count(LONG) == 1
