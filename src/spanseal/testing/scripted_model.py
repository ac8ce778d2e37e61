"""A model that says what its script says: in process, no network, with the same chat spans as a real one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from spanseal.adapters.base import LLMAdapter
from spanseal.errors import UsageError
from spanseal.genai import openai_chat
from spanseal.genai.messages import ChatRequest, LLMResponse, ToolCall
from spanseal.genai.wire_json import dumps, loads

Answer: TypeAlias = "LLMResponse | str | ToolCall | Sequence[ToolCall] | Exception | Callable[[ChatRequest], Answer]"


class ScriptedModel(LLMAdapter):
    """Gives its ``answers`` one after the other.

    An answer is a text, a tool call or several, a whole :class:`LLMResponse`, an exception to be raised, or a function
    of the request that gives one of these. ``requests`` holds what was asked, in order. One question more than there
    are answers is a :class:`spanseal.errors.UsageError`: the script was too short.

    >>> model = ScriptedModel(["391", ToolCall("call_1", "add", '{"a": 1, "b": 2}')])
    >>> model.complete("What is 17 * 23?").text
    '391'
    >>> model.complete("And 1 + 2?").tool_calls[0].name
    'add'
    """

    def __init__(
        self, answers: Sequence[Answer], *, model: str = "scripted", provider: str = "spanseal.scripted"
    ) -> None:
        self.model = model
        self.provider = provider
        self.requests: list[ChatRequest] = []
        self._answers = list(answers)
        self._lock = threading.Lock()

    def _chat(self, request: ChatRequest) -> LLMResponse:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        if number >= len(self._answers):
            raise UsageError(f"the script has {len(self._answers)} answers, this is question {number + 1}: add one")
        return self._response(self._answers[number], request, number)

    async def _achat(self, request: ChatRequest) -> LLMResponse:
        return self._chat(request)

    def _response(self, answer: Answer, request: ChatRequest, number: int) -> LLMResponse:
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, LLMResponse):
            made = answer if answer.model else LLMResponse(answer.text, request.model)
        elif isinstance(answer, str):
            made = LLMResponse(answer, request.model, finish_reason="stop", response_id=f"scripted-{number}")
        elif isinstance(answer, ToolCall):
            made = _calling((answer,), request, number)
        elif callable(answer):
            return self._response(answer(request), request, number)
        else:
            made = _calling(tuple(answer), request, number)
        # through the wire's own form, so that what the caller sees is what a server could have sent
        return openai_chat.parse_response(loads(dumps(openai_chat.response_body(made))))


def _calling(calls: tuple[ToolCall, ...], request: ChatRequest, number: int) -> LLMResponse:
    return LLMResponse(
        "", request.model, tool_calls=calls, finish_reason="tool_call", response_id=f"scripted-{number}"
    )
