"""Every type of item and content part of the Responses format, as messages and parts of the conventions."""

from __future__ import annotations

from typing import Any

import pytest

from spanseal.genai import openai_responses as wire

PNG = "data:image/png;base64,AAAA"
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}


@pytest.mark.parametrize(
    ("item", "role", "parts"),
    [
        ({"role": "user", "content": "hi"}, "user", [{"type": "text", "content": "hi"}]),
        (
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "x"}]},
            "developer",
            [{"type": "text", "content": "x"}],
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": PNG, "detail": "low"}]},
            "user",
            [{"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAAA"}],
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://e.com/a"}]},
            "user",
            [{"type": "uri", "modality": "image", "uri": "https://e.com/a"}],
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "file_id": "f"}]},
            "user",
            [{"type": "file", "modality": "image", "file_id": "f"}],
        ),
        (
            {
                "role": "user",
                "content": [{"type": "input_file", "file_data": "data:application/pdf;base64,AA==", "filename": "a"}],
            },
            "user",
            [{"type": "blob", "modality": "document", "mime_type": "application/pdf", "content": "AA=="}],
        ),
        (
            {"role": "user", "content": [{"type": "input_file", "file_data": "AA=="}]},
            "user",
            [{"type": "blob", "modality": "document", "content": "AA=="}],
        ),
        (
            {"role": "user", "content": [{"type": "input_file", "file_url": "https://e.com/a.pdf"}]},
            "user",
            [{"type": "uri", "modality": "document", "uri": "https://e.com/a.pdf"}],
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}]},
            "user",
            [{"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": "AA"}],
        ),
        (
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            "assistant",
            [{"type": "refusal", "refusal": "no"}],
        ),
        (
            {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": '{"a": 1}'},
            "assistant",
            [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}],
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "x"}]},
            "tool",
            [{"type": "tool_call_response", "id": "c", "response": [{"type": "input_text", "text": "x"}]}],
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": '{"not": "parsed"}'},
            "assistant",
            [{"type": "tool_call", "id": "c", "name": "sql", "arguments": '{"not": "parsed"}'}],
        ),
        (
            {"type": "custom_tool_call_output", "call_id": "c", "output": "x"},
            "tool",
            [{"type": "tool_call_response", "id": "c", "response": "x"}],
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            "assistant",
            [{"type": "tool_call", "id": "c", "name": "shell", "arguments": {"commands": ["ls"]}}],
        ),
        (
            {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "p"}},
            "assistant",
            [
                {
                    "type": "tool_call",
                    "id": "c",
                    "name": "apply_patch",
                    "arguments": {"type": "delete_file", "path": "p"},
                }
            ],
        ),
        (
            {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "file_id": "f"}},
            "tool",
            [{"type": "tool_call_response", "id": "c", "response": {"type": "computer_screenshot", "file_id": "f"}}],
        ),
        (
            SEARCH,
            "assistant",
            [{"type": "server_tool_call", "id": "ws_1", "name": "web_search", "server_tool_call": SEARCH}],
        ),
        (
            {"type": "mcp_call", "id": "m", "name": "roll", "arguments": "{}"},
            "assistant",
            [
                {
                    "type": "server_tool_call",
                    "id": "m",
                    "name": "roll",
                    "server_tool_call": {"type": "mcp_call", "id": "m", "name": "roll", "arguments": "{}"},
                }
            ],
        ),
        (
            {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True},
            "user",
            [{"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}],
        ),
        (
            {"type": "compaction", "id": "cmp", "encrypted_content": "E"},
            "assistant",
            [{"type": "compaction", "id": "cmp", "content": "E"}],
        ),
        (
            {
                "type": "reasoning",
                "id": "rs",
                "summary": [{"type": "summary_text", "text": "s"}],
                "encrypted_content": "E",
            },
            "assistant",
            [{"type": "reasoning", "content": "s", "encrypted_content": "E"}],
        ),
        (
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "E"},
            "assistant",
            [{"type": "reasoning", "content": "", "encrypted_content": "E"}],
        ),
        ({"id": "msg_1"}, "assistant", [{"type": "item_reference", "id": "msg_1"}]),
        ({"type": "a_future_item", "x": 1}, "assistant", [{"type": "a_future_item", "x": 1}]),
        ("nonsense", "assistant", [{"type": "unknown", "value": "nonsense"}]),
    ],
)
def test_items(item: Any, role: str, parts: Any) -> None:
    (message,) = wire.input_messages({"input": [item]})
    assert (message["role"], message["parts"]) == (role, parts)


def test_an_items_own_id_rides_along_once() -> None:
    call, search = wire.input_messages(
        {
            "input": [
                {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
                SEARCH,
            ]
        }
    )
    assert call["id"] == "fc_1"
    assert "id" not in search
