"""The script of ``--model scripted``: the same story without a model, for machines that cannot run one.

It is a fake and says so; what the demo shows about spans, seal and replay is as real with it.
"""

from __future__ import annotations

import json

from spanseal.genai.messages import ChatRequest
from spanseal.testing.scripted_model import ScriptedModel


def scripted_model() -> ScriptedModel:
    """A model that chats where no schema is enforced, else acts, and answers once a tool has."""
    return ScriptedModel([_speak] * 40, model="scripted")


def _speak(request: ChatRequest) -> str:
    if request.response_format is None:
        return "Sure, let me think about that."
    return _answer(request) if request.messages[-1].text.startswith("Result of") else _act(request)


def _act(request: ChatRequest) -> str:
    question = request.messages[-1].text.rsplit("\n\n", 1)[-1].lower()
    if "order" in question:
        return '{"action": "order", "input": {"item": "lamp", "count": 2}}'
    if "cost" in question:
        return '{"action": "price_of", "input": {"item": "lamp"}}'
    return '{"action": "calculator", "input": {"expression": "128 + 64"}}'


def _answer(request: ChatRequest) -> str:
    result = request.messages[-1].text.split(": ", 1)[-1].replace('"', "")
    return json.dumps({"action": "final_answer", "input": {"answer": result}})
