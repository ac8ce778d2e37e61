"""What an agent asks in every call of a run, as the conventions' attributes of its ``invoke_agent`` span. Pure.

>>> agent_request_attributes(ChatRequest("m", (), temperature=0.2, max_tokens=50))
{'gen_ai.request.temperature': 0.2, 'gen_ai.request.max_tokens': 50}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from spanseal.genai import openai_chat
from spanseal.genai import semconv as sc
from spanseal.genai.messages import ChatRequest, ToolSpec
from spanseal.genai.wire_json import JsonObject


def agent_request_attributes(request: ChatRequest) -> dict[str, Any]:
    """The ``gen_ai.request.*`` attributes of an agent's options, without content and without the model.

    The model is told when the run ends, and only where all its calls asked the same one.
    """
    body = openai_chat.request_body(replace(request, messages=(), tools=()), stream=False)
    found = openai_chat.request_attributes(body)
    return {key: value for key, value in found.items() if key not in (sc.OPENAI_API_TYPE, sc.REQUEST_MODEL)}


def agent_tool_definitions(tools: Sequence[ToolSpec]) -> list[JsonObject]:
    """The value of ``gen_ai.tool.definitions`` for the tools of an agent, as its calls tell them."""
    return openai_chat.tool_definitions(openai_chat.request_body(ChatRequest("", (), tools=tuple(tools)), stream=False))
