"""The real model servers answer, under a JSON schema, the same each time."""

import json
from typing import Any

import httpx
from tests.integration.parts import services

CHOICE = {
    "type": "object",
    "properties": {"action": {"enum": ["add", "finish"]}, "input": {"type": "string", "maxLength": 20}},
    "required": ["action", "input"],
    "additionalProperties": False,
}
QUESTION = [{"role": "user", "content": "How much is 128 plus 64? Choose an action."}]


def test_the_openai_server_answers_under_a_schema(openai_server: services.OpenAIServer) -> None:
    body = {
        "model": openai_server.model,
        "messages": QUESTION,
        "max_tokens": 60,
        "response_format": {"type": "json_schema", "json_schema": {"name": "choice", "schema": CHOICE}},
    }
    answers = [
        httpx.post(f"{openai_server.base_url}/chat/completions", json=body, timeout=120, trust_env=False).json()
        for _ in range(2)
    ]
    content = answers[0]["choices"][0]["message"]["content"]
    assert json.loads(content)["action"] in {"add", "finish"}
    assert answers[0]["usage"]["completion_tokens"] > 0
    assert answers[0]["model"] == openai_server.model
    assert answers[1]["choices"][0]["message"]["content"] == content  # fixed seed, temperature zero


def chat(ollama: services.Ollama, **body: Any) -> dict[str, Any]:
    request = {"messages": QUESTION, "stream": False, "options": {"num_predict": 60}, **body}
    answer = httpx.post(f"{ollama.url}/api/chat", json=request, timeout=240, trust_env=False)
    answer.raise_for_status()
    return answer.json()


def test_ollama_answers_under_a_schema(ollama: services.Ollama) -> None:
    answer = chat(ollama, model=ollama.model, format=CHOICE)
    assert json.loads(answer["message"]["content"])["action"] in {"add", "finish"}
    assert answer["prompt_eval_count"] > 0


def test_ollama_makes_a_native_tool_call_under_the_schema_of_a_call(ollama: services.Ollama) -> None:
    arguments = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    properties = {"name": {"enum": ["add"]}, "arguments": arguments}
    call = {"type": "object", "properties": properties, "required": ["name", "arguments"]}
    tool = {"type": "function", "function": {"name": "add", "description": "adds", "parameters": arguments}}
    message = chat(ollama, model=ollama.tools_model, tools=[tool], format=call)["message"]
    (made,) = message["tool_calls"]
    assert made["function"]["name"] == "add"
    assert isinstance(made["function"]["arguments"]["a"], int)
    assert message["content"] == ""
