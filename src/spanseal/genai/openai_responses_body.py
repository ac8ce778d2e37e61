"""OpenAI Responses: request bodies from values, and values from request bodies. Pure.

A leading system message is ``instructions``. A call of a tool and its result are items of their own; reasoning is not
sent back without the provider's own item. Fields that a :class:`ChatRequest` does not name are in ``extra``.

>>> request_body(ChatRequest("m", (Message("system", "Be brief."), Message("user", "hi"))), stream=False)
{'model': 'm', 'instructions': 'Be brief.', 'input': [{'role': 'user', 'content': 'hi'}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from spanseal.genai.messages import ChatRequest, Media, Message, Other, Part, Reasoning, Text, ToolCall, ToolResult
from spanseal.genai.openai_chat_body import MODES, format_to_wire
from spanseal.genai.openai_responses_semconv import input_messages, tool_definitions
from spanseal.genai.semconv_messages import messages_from_semconv, tools_from_semconv
from spanseal.genai.wire_json import JsonObject, as_int, as_map, as_number, as_text, mend_text, thaw

_KNOWN: Final = frozenset({
    "model", "input", "instructions", "temperature", "top_p", "max_output_tokens", "tools", "tool_choice", "text",
    "stream",
})


def request_body(request: ChatRequest, *, stream: bool) -> JsonObject:
    """The body to send. ``seed`` and ``stop``, which this API does not know, are sent only as ``extra``."""
    first, *rest = request.messages or (Message("user"),)
    leading = first.role == "system" and bool(rest)
    body: JsonObject = {"model": request.model}
    if leading:
        body["instructions"] = mend_text(first.text)
    body["input"] = [item for message in (rest if leading else request.messages) for item in _items(message)]
    simple = {
        "temperature": request.temperature, "top_p": request.top_p, "max_output_tokens": request.max_tokens,
    }
    body.update({key: value for key, value in simple.items() if value is not None})
    if request.tools:
        body["tools"] = [
            {"type": "function", "name": tool.name, "description": tool.description,
             "parameters": thaw(tool.parameters), "strict": bool(tool.strict)}
            for tool in request.tools
        ]
    if request.tool_choice:
        choice = request.tool_choice
        body["tool_choice"] = choice if choice in MODES else {"type": "function", "name": choice}
    if request.response_format is not None:
        form = format_to_wire(request.response_format)
        body["text"] = {"format": {"type": form["type"], **as_map(form.get("json_schema"))}}
    if stream:
        body["stream"] = True
    body.update({key: thaw(value) for key, value in request.extra.items()})
    return body


def parse_request(body: Mapping[str, Any]) -> ChatRequest:
    """The values of a body. Tools of the provider's and further fields of ``text`` are in ``extra``. Never raises."""
    extra = {key: value for key, value in body.items() if key not in _KNOWN}
    text = as_map(body.get("text"))
    form = as_map(text.get("format"))
    if any(key != "format" for key in text):
        extra["text"] = text
    tools = tool_definitions(body)
    if any(tool["type"] != "function" for tool in tools):
        extra["tools"] = body["tools"]
    choice = body.get("tool_choice")
    instructions = as_text(body.get("instructions"))
    system = (Message("system", instructions),) if instructions else ()
    return ChatRequest(
        model=as_text(body.get("model")),
        messages=(*system, *messages_from_semconv(input_messages(body))),
        temperature=as_number(body.get("temperature")),
        max_tokens=as_int(body.get("max_output_tokens")),
        top_p=as_number(body.get("top_p")),
        tools=tools_from_semconv([tool for tool in tools if tool["type"] == "function"]),
        tool_choice=choice if isinstance(choice, str) else as_text(as_map(choice).get("name")) or None,
        response_format=as_map(form.get("schema")) or form or None,
        extra=extra,
    )


def _items(message: Message) -> Iterator[JsonObject]:
    if isinstance(message.content, str):
        yield {"role": message.role, "content": mend_text(message.content)}
        return
    content: list[JsonObject] = []
    for part in message.content:
        if isinstance(part, Reasoning):
            continue
        item = _item(part)
        if item is None:
            content.append(_content(part, message.role))
            continue
        if content:
            yield {"role": message.role, "content": content}
            content = []
        yield item
    if content:
        yield {"role": message.role, "content": content}


def _item(part: Part) -> JsonObject | None:
    """The item that a part is by itself; None for what is content of a message."""
    if isinstance(part, ToolCall):
        arguments = mend_text(part.arguments)
        return {"type": "function_call", "call_id": part.id, "name": mend_text(part.name), "arguments": arguments}
    if isinstance(part, ToolResult):
        return {"type": "function_call_output", "call_id": part.id, "output": mend_text(part.content)}
    if isinstance(part, Other):
        inner = as_map(part.value.get("server_tool_call"))
        kind = as_text(part.value.get("type"))
        if inner or not kind.startswith(("input_", "output_", "refusal")):
            return thaw(inner or part.value)
    return None


def _content(part: Part, role: str) -> JsonObject:
    if isinstance(part, Text):
        return {"type": "output_text" if role == "assistant" else "input_text", "text": mend_text(part.content)}
    if isinstance(part, Media):
        return _media(part)
    return thaw(part.value) if isinstance(part, Other) else {}


def _media(media: Media) -> JsonObject:
    data = f"data:{media.mime_type};base64,{media.data}" if media.data else ""
    if media.modality == "audio":
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": media.mime_type.split("/")[-1]}}
    kind, url = ("input_image", "image_url") if media.modality == "image" else ("input_file", "file_url")
    if media.file_id:
        return {"type": kind, "file_id": media.file_id}
    if data and kind == "input_file":
        return {"type": kind, "file_data": data}
    return {"type": kind, url: media.uri or data}
