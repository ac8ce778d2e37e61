"""OpenAI chat completions: stream chunks put together to the body that a call without stream would have given. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanseal.genai.messages import Chunk
from spanseal.genai.openai_chat_response import text_of
from spanseal.genai.pieces import add, extend, whole
from spanseal.genai.wire_json import JsonObject, as_int, as_list, as_map, as_text, is_list, is_map

_JOINED: Final = frozenset({
    "content", "reasoning_content", "reasoning", "refusal", "arguments", "input", "data", "transcript",
})
"""``data`` and ``transcript`` are those of ``audio``, the one in base64."""


class StreamAssembler:
    """Takes the chunks in order; :meth:`body` is the whole answer at any time, also of a stream that was cut.

    Unknown fields are kept: texts named like content are joined, lists appended, anything else the last one wins.

    >>> stream = StreamAssembler()
    >>> stream.feed({"choices": [{"index": 0, "delta": {"content": "he"}}]}).text
    'he'
    >>> _ = stream.feed({"choices": [{"index": 0, "delta": {"content": "y"}, "finish_reason": "stop"}]})
    >>> stream.body()["choices"][0]["message"]["content"]
    'hey'
    """

    def __init__(self) -> None:
        self._top: JsonObject = {}
        self._choices: dict[int, JsonObject] = {}

    def feed(self, chunk: Mapping[str, Any]) -> Chunk | None:
        """Take one chunk; what is new in the first choice, if it is text or reasoning."""
        for key, value in chunk.items():
            if key != "choices" and value is not None:
                self._top[key] = value
        new: Chunk | None = None
        for position, item in enumerate(as_list(chunk.get("choices"))):
            choice = as_map(item)
            index = as_int(choice.get("index"))
            self._merge_choice(position if index is None else index, choice)
            if not index:
                delta = as_map(choice.get("delta"))
                thought = as_text(delta.get("reasoning_content")) or as_text(delta.get("reasoning"))
                new = Chunk(text_of(delta.get("content")), thought)
        return new if new is not None and (new.text or new.reasoning) else None

    def body(self) -> JsonObject:
        """The body so far, in the form of an answer without stream."""
        choices: list[JsonObject] = []
        for index in sorted(self._choices):
            choice = self._choices[index]
            choices.append({**whole(choice), "message": _finished(whole(choice["message"]))})
        body = {**self._top, "choices": choices}
        if "object" in body:
            body["object"] = "chat.completion"
        return body

    def _merge_choice(self, index: int, choice: JsonObject) -> None:
        mine = self._choices.setdefault(index, {"index": index, "message": {}, "finish_reason": None})
        _merge(mine["message"], as_map(choice.get("delta")) or as_map(choice.get("message")))
        for key, value in choice.items():
            if key in ("index", "delta", "message") or value is None:
                continue
            if key == "logprobs":
                _merge(mine.setdefault(key, {}), {name: as_list(tokens) for name, tokens in as_map(value).items()})
            else:
                mine[key] = value


def _merge(into: JsonObject, delta: JsonObject) -> None:
    for key, value in delta.items():
        old = into.get(key)
        if value is None:
            into.setdefault(key, None)
        elif key == "tool_calls":
            _merge_calls(into, as_list(value))
        elif isinstance(value, str) and key in _JOINED:
            add(into, key, value)
        elif is_list(value):
            extend(into, key, value)
        elif is_map(value):
            target = as_map(old)
            _merge(target, value)
            into[key] = target
        else:
            into[key] = value


def _merge_calls(message: JsonObject, deltas: list[Any]) -> None:
    calls = as_list(message.get("tool_calls"))
    message["tool_calls"] = calls
    for delta in map(as_map, deltas):
        _merge(_call_for(calls, delta), {key: value for key, value in delta.items() if key != "index"})


def _call_for(calls: list[Any], delta: JsonObject) -> JsonObject:
    """The call that ``delta`` continues; servers that send every call with index 0 differ in the id."""
    index, new_id = as_int(delta.get("index")), as_text(delta.get("id"))
    known = [call for call in calls if new_id and as_map(call).get("id") == new_id]
    if known:
        return as_map(known[0])
    if index is None and not new_id and calls:
        return as_map(calls[-1])
    same = [call for call in calls if as_map(call).get("index") == index and index is not None]
    if same and not (new_id and as_map(same[-1]).get("id")):
        return as_map(same[-1])
    call: JsonObject = {"index": len(calls) if index is None else index}
    calls.append(call)
    return call


def _finished(message: JsonObject) -> JsonObject:
    if not is_list(message.get("tool_calls")):
        return message  # null, too, as many servers send with every piece of text
    calls = [{key: value for key, value in call.items() if key != "index"} for call in message["tool_calls"]]
    return {**message, "tool_calls": calls}
