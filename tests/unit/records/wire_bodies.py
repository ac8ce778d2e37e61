"""Request bodies as any client might send them: bytes of all six wire formats, every field known and unknown."""

from __future__ import annotations

from typing import Any

from tests.unit.genai.json_values import st
from tests.unit.records.odd_json import Number, anything, keys, numbers, texts, values, written

FORMATS = ("openai.chat", "openai.responses", "openai.embeddings", "ollama.chat", "ollama.generate", "ollama.embed")


def _some(known: dict[str, Any], most: int = 3) -> Any:
    """An object with any of these fields, in any order, and maybe some that nobody knows."""
    names = st.lists(st.sampled_from(sorted(known)), unique=True, max_size=2 * most)
    extra = st.dictionaries(keys, anything, max_size=1)

    def fields(chosen: Any) -> Any:
        return st.fixed_dictionaries({key: known[key] for key in chosen})

    def merged(both: Any) -> Any:
        return {**both[0], **both[1]}

    return st.tuples(names.flatmap(fields), extra).map(merged)


def _exactly(**fields: Any) -> Any:
    """An object with exactly these fields, each a value or a strategy."""
    return st.fixed_dictionaries({key: each if hasattr(each, "map") else st.just(each) for key, each in fields.items()})


def _tool(function: Any) -> Any:
    return {"type": "function", **function}


def _number(value: int) -> Number:
    return Number(str(value))


def _sent(drawn: Any) -> bytes:
    return written(drawn[0], *drawn[1]).encode()


urls: Any = st.sampled_from(("https://example.com/a.png", "data:image/png;base64,AAAA", "data:;base64,AA==", "file-1"))
arguments: Any = st.one_of(
    texts,
    st.just('{"q": "x", "n": 1}'),
    st.just('{"q":"x"}'),
    st.just('{"x":1e5,"x":2}'),
    values.map(written),
)
schema: Any = st.one_of(anything, st.just({"type": "object", "$defs": {"a": {"$ref": "#/$defs/a"}}, "required": []}))
function: Any = _some(
    {"name": texts, "description": texts, "parameters": schema, "strict": st.none() | st.booleans()}, 4
)

chat_parts: Any = st.one_of(
    anything,
    _exactly(type="text", text=texts),
    _exactly(type="image_url", image_url=_exactly(url=urls)),
    _exactly(type="image_url", image_url=_exactly(url=urls, detail="high")),
    _exactly(type="input_audio", input_audio=_exactly(data="AAAA", format="wav")),
    _exactly(type="file", file=_some({"file_id": texts, "file_data": urls, "filename": texts})),
    _exactly(type="refusal", refusal=texts),
)
chat_calls: Any = st.one_of(
    anything,
    _exactly(id=texts, type="function", function=_exactly(name=texts, arguments=arguments)),
    _exactly(id=texts, type="custom", custom=_exactly(name=texts, input=arguments)),
    _exactly(function=_exactly(name=texts, arguments=anything)),
)
roles: Any = st.sampled_from(("system", "developer", "user", "assistant", "tool", "function", ""))
chat_content: Any = st.one_of(texts, texts, st.none(), anything, st.lists(chat_parts, max_size=3))
chat_messages: Any = st.one_of(
    anything,
    _exactly(role=roles, content=texts),
    _exactly(content=texts, role=roles),
    _exactly(role="tool", tool_call_id=texts, content=chat_content),
    _exactly(role="assistant", content=st.none() | texts, tool_calls=st.lists(chat_calls, max_size=3)),
    _some(
        {
            "role": roles,
            "content": chat_content,
            "name": texts,
            "tool_calls": st.lists(chat_calls, max_size=2),
            "refusal": st.none() | texts,
            "reasoning_content": texts,
            "audio": _exactly(id=texts),
            "function_call": function,
            "thinking": texts,
            "images": st.lists(urls, max_size=2),
            "tool_name": texts,
            "tool_call_id": texts,
        },
        4,
    ),
)
response_parts: Any = st.one_of(
    anything,
    _exactly(type=st.sampled_from(("input_text", "output_text", "summary_text")), text=texts),
    _exactly(type="output_text", text=texts, annotations=st.just([]), logprobs=st.none()),
    _exactly(type="input_image", image_url=urls, detail="auto"),
    _exactly(type="input_image", file_id=texts, detail="low"),
    _exactly(type="input_file", file_data=urls, filename=texts),
    _exactly(type="input_file", file_url=urls),
    _exactly(type="input_audio", input_audio=_exactly(data="AAAA", format="mp3")),
    _exactly(type="refusal", refusal=texts),
)
summaries: Any = st.lists(_exactly(type="summary_text", text=texts), max_size=2)
response_items: Any = st.one_of(
    anything,
    _exactly(role=roles, content=texts),
    _exactly(type="message", role=roles, content=st.lists(response_parts, max_size=3)),
    _exactly(
        id=texts, type="message", role="assistant", status="completed", content=st.lists(response_parts, max_size=2)
    ),
    _exactly(type="function_call", id=texts, call_id=texts, name=texts, arguments=arguments, status="completed"),
    _exactly(type="function_call_output", call_id=texts, output=texts | st.lists(response_parts, max_size=2)),
    _exactly(type="custom_tool_call", call_id=texts, name=texts, input=arguments),
    _exactly(type="custom_tool_call_output", call_id=texts, output=texts),
    _exactly(type="reasoning", id=texts, summary=summaries, encrypted_content=texts),
    _exactly(
        type="reasoning",
        id=texts,
        summary=st.just([]),
        content=st.lists(_exactly(type="reasoning_text", text=texts), max_size=2),
    ),
    _exactly(type="web_search_call", id=texts, status="completed", action=_exactly(type="search", query=texts)),
    _exactly(type="file_search_call", id=texts, queries=st.lists(texts, max_size=2), results=anything),
    _exactly(type="code_interpreter_call", id=texts, code=texts, container_id=texts, outputs=anything),
    _exactly(type="image_generation_call", id=texts, result=st.none() | st.just("AAAA"), status="completed"),
    _exactly(type="mcp_call", id=texts, name=texts, server_label=texts, arguments=arguments, output=texts),
    _exactly(type="mcp_list_tools", id=texts, server_label=texts, tools=st.lists(anything, max_size=1)),
    _exactly(type="mcp_approval_response", approval_request_id=texts, approve=st.booleans()),
    _exactly(
        type="shell_call", call_id=texts, action=_exactly(commands=st.lists(texts, max_size=2), timeout_ms=numbers)
    ),
    _exactly(type="shell_call_output", call_id=texts, output=anything),
    _exactly(type="computer_call_output", call_id=texts, output=_exactly(type="computer_screenshot", image_url=urls)),
    _exactly(type="compaction", id=texts, encrypted_content=texts),
    _exactly(type="item_reference", id=texts),
    _exactly(id=texts),
    _exactly(type="a_future_item", id=texts, payload=anything),
)
common: dict[str, Any] = {
    "model": texts,
    "temperature": numbers,
    "top_p": numbers,
    "user": texts,
    "metadata": st.dictionaries(keys, texts, max_size=3),
    "store": st.booleans(),
    "service_tier": texts,
    "seed": numbers,
    "a_future_field": anything,
    "stream": st.booleans(),
    "extra": anything,
    "tool_choice": st.one_of(st.just("auto"), anything),
    "parallel_tool_calls": st.booleans(),
}
options: Any = _some(
    {"temperature": numbers, "num_ctx": numbers, "stop": st.lists(texts, max_size=2), "mirostat": numbers}, 4
)
chat_tools: Any = st.lists(_exactly(type="function", function=function) | anything, max_size=3)
inputs: Any = st.one_of(
    texts,
    st.lists(texts, max_size=4),
    st.lists(st.integers(0, 100_000).map(_number), max_size=5),
    st.lists(st.lists(numbers, max_size=3), max_size=2),
    anything,
)
FIELDS: dict[str, dict[str, Any]] = {
    "openai.chat": common
    | {
        "messages": st.lists(chat_messages, max_size=4),
        "tools": chat_tools,
        "n": numbers,
        "stop": texts | st.lists(texts, max_size=2),
        "logprobs": st.booleans(),
        "top_logprobs": numbers,
        "logit_bias": st.dictionaries(keys, numbers, max_size=2),
        "response_format": _exactly(type="json_schema", json_schema=_exactly(name=texts, schema=schema, strict=True))
        | anything,
        "reasoning_effort": texts,
        "frequency_penalty": numbers,
        "presence_penalty": numbers,
        "stream_options": anything,
        "modalities": st.just(["text", "audio"]),
        "audio": anything,
        "max_completion_tokens": numbers,
    },
    "openai.responses": common
    | {
        "input": st.lists(response_items, max_size=4) | texts | anything,
        "instructions": st.none() | texts | anything,
        "tools": st.lists(function.map(_tool) | anything, max_size=3),
        "include": st.lists(texts, max_size=2),
        "reasoning": _some({"effort": texts, "summary": texts}),
        "text": _exactly(format=_exactly(type="json_schema", name=texts, schema=schema)),
        "previous_response_id": texts | st.none(),
        "conversation": texts | _exactly(id=texts),
        "prompt": anything,
        "messages": anything,
        "background": st.booleans(),
        "truncation": texts,
        "max_output_tokens": numbers,
    },
    "openai.embeddings": {
        "model": texts,
        "input": inputs,
        "encoding_format": texts,
        "dimensions": numbers,
        "user": texts,
        "future": anything,
    },
    "ollama.chat": {
        "model": texts,
        "messages": st.lists(chat_messages, max_size=4),
        "tools": chat_tools,
        "options": options,
        "format": schema,
        "keep_alive": texts | numbers,
        "think": st.booleans() | texts,
        "stream": st.booleans(),
        "future": anything,
    },
    "ollama.generate": {
        "model": texts,
        "prompt": texts | anything,
        "system": texts | anything,
        "images": st.lists(urls, max_size=2) | anything,
        "suffix": texts,
        "template": texts,
        "context": st.lists(numbers, max_size=4),
        "raw": st.booleans(),
        "options": options,
        "format": schema,
        "keep_alive": numbers,
        "think": texts,
        "stream": st.booleans(),
        "future": anything,
        "tools": anything,
    },
    "ollama.embed": {
        "model": texts,
        "input": inputs,
        "prompt": texts,
        "truncate": st.booleans(),
        "dimensions": numbers,
        "options": options,
        "future": anything,
    },
}
STYLES = (
    ("", ":", ","),
    ("", ":", ","),
    ("ascii", ":", ","),
    ("", ": ", ", "),
    ("ascii", ": ", ", "),
    ("ascii", " :\t", "\n , "),
)


def bodies(name: str) -> Any:
    """Values of bodies of this format."""
    return _some(FIELDS[name], 6)


def sent(name: str) -> Any:
    """Bodies of this format as bytes."""
    return st.tuples(bodies(name), st.sampled_from(STYLES)).map(_sent)
