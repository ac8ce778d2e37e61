"""The JSON action: what is read, and what the model is told when it cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.agent.form_checks import AnswerPresentCheck, JSONActionCheck, ToolRequiredCheck
from spanseal.agent.json_action import JSONAction, read_action
from spanseal.errors import ModelFaultError
from spanseal.genai.messages import LLMResponse, ToolCall


@pytest.mark.parametrize(("text", "action"), [
    ('{"action": "add", "input": {"a": 1}}', JSONAction("add", {"a": 1})),
    (' {"action": "add"}\n', JSONAction("add")),
    ('{"action": "final_answer", "input": {"answer": "x"}}', JSONAction("final_answer", answer="x")),
    ('{"action": "final_answer", "answer": "x"}', JSONAction("final_answer", answer="x")),
    ('{"action": "final_answer", "input": "x"}', JSONAction("final_answer", answer="x")),
    ('{"action": "final_answer", "input": {"answer": 391}}', JSONAction("final_answer", answer="391")),
    ('{"action": "final_answer", "input": {"answer": true}}', JSONAction("final_answer", answer="true")),
])
def test_actions_that_are_read(text: str, action: JSONAction) -> None:
    assert read_action(text) == action


@pytest.mark.parametrize(("text", "words"), [
    ("391", "it is a JSON integer"), ("[]", "it is a JSON array"), ("null", "it is a JSON null"),
    ("x", "not valid JSON"), ('```json\n{"action": "add"}\n```', "no text around it"),
    ("{}", '"action" is missing or no text'), ('{"action": 3}', '"action" is missing or no text'),
    ('{"action": " "}', '"action" is missing or no text'),
    ('{"action": "add", "input": [1]}', '"input" is a JSON array; expected is an object with the arguments of add'),
    ('{"action": "final_answer"}', '"answer" is missing, empty or no text'),
    ('{"action": "final_answer", "input": {"answer": "  "}}', '"answer" is missing, empty or no text'),
    ('{"action": "final_answer", "input": {"answer": ["x"]}}', '"answer" is missing, empty or no text'),
    ('{"action": "add", "action": "drop"}', "appears twice"),
])
def test_what_the_model_is_told(text: str, words: str) -> None:
    with pytest.raises(ModelFaultError) as caught:
        read_action(text)
    assert words in str(caught.value)
    assert "expected is" in str(caught.value) or "twice" in str(caught.value)


@given(st.text(max_size=40) | st.text('{}[]":, actionfinal_swer1', max_size=60))
def test_any_text_is_an_action_or_a_reason(text: str) -> None:
    result = JSONActionCheck(["add"]).check(LLMResponse(text, "m"))
    assert result.passed or "Actions: add, final_answer" in result.message


def test_other_forms() -> None:
    wish = LLMResponse("", "m", tool_calls=(ToolCall("1", "add", "{}"),))
    assert AnswerPresentCheck().check(wish).passed
    assert ToolRequiredCheck(["add"]).check(wish).passed
    cut = AnswerPresentCheck().check(LLMResponse("", "m", finish_reason="content_filter"))
    assert "it ended with 'content_filter'" in cut.message
    early = JSONActionCheck(["add"], answer=False).check(LLMResponse('{"action": "final_answer", "answer": "x"}', "m"))
    assert early.message == "a final answer is not possible yet; a tool has to be used first. Actions: add"
