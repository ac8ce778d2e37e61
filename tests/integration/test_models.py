"""The real model servers answer, under a JSON schema, the same each time."""

import json

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


def test_ollama_answers_under_a_schema_and_takes_tools(ollama: services.Ollama) -> None:
    body = {"model": ollama.model, "messages": QUESTION, "stream": False, "format": CHOICE}
    answer = httpx.post(f"{ollama.url}/api/chat", json=body, timeout=120, trust_env=False).json()
    assert json.loads(answer["message"]["content"])["action"] in {"add", "finish"}
    assert answer["prompt_eval_count"] > 0
    shown = httpx.post(f"{ollama.url}/api/show", json={"model": ollama.tools_model}, trust_env=False).json()
    assert "tools" in shown["capabilities"]
    tool = {"type": "function", "function": {"name": "add", "parameters": CHOICE, "description": "adds"}}
    body = {"model": ollama.tools_model, "messages": QUESTION, "stream": False, "tools": [tool]}
    answer = httpx.post(f"{ollama.url}/api/chat", json=body, timeout=120, trust_env=False)
    assert answer.status_code == 200, answer.text
