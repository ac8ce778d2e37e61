"""OpenAI Responses: the events of a stream put together to the response that a call without stream gives. Pure.

The last event carries the whole response, which then counts; a stream that was cut before it gives what the deltas
amount to. Events of types that we do not know change nothing (they are in the recorded chunks). Never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanseal.genai.messages import Chunk
from spanseal.genai.pieces import add, extend, whole
from spanseal.genai.wire_json import JsonObject, as_count, as_list, as_map, as_text, is_list, is_map

_MOST: Final = 4096
"""Positions beyond this are no positions: a broken server must not make us fill a list up to them."""
_IN_ITEM: Final = {
    "function_call_arguments": "arguments", "mcp_call_arguments": "arguments", "custom_tool_call_input": "input",
    "code_interpreter_call_code": "code",
}
_IN_PART: Final = {
    "output_text": ("content", "content_index", "text", "output_text"),
    "refusal": ("content", "content_index", "refusal", "refusal"),
    "reasoning_text": ("content", "content_index", "text", "reasoning_text"),
    "reasoning_summary_text": ("summary", "summary_index", "text", "summary_text"),
}
_PARTS: Final = {
    "content_part": ("content", "content_index"), "reasoning_summary_part": ("summary", "summary_index"),
}
_STATES: Final = frozenset({"in_progress", "searching", "interpreting", "generating", "completed", "failed"})


class StreamAssembler:
    """Takes the events in order; :meth:`body` is the whole response at any time.

    >>> stream = StreamAssembler()
    >>> delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "hi"}
    >>> stream.feed(delta).text
    'hi'
    >>> stream.body()["output"]
    [{'type': 'message', 'content': [{'type': 'output_text', 'text': 'hi'}]}]
    """

    def __init__(self) -> None:
        self._top: JsonObject = {}
        self._items: list[Any] = []
        self._final: JsonObject | None = None

    def feed(self, chunk: Mapping[str, Any]) -> Chunk | None:
        """Take one event; what is new in it, if it is text or reasoning."""
        kind = as_text(chunk.get("type"))
        if kind == "error" or (not kind and chunk.get("error")):
            self._fail(chunk)
            return None
        if is_map(chunk.get("response")):
            self._snapshot(kind, chunk["response"])
            return None
        subject, _, event = kind.removeprefix("response.").rpartition(".")
        if subject in _IN_PART:
            return self._text(chunk, subject, event)
        self._other(chunk, subject, event)
        return None

    def body(self) -> JsonObject:
        """The response so far, in the form of an answer without stream."""
        if self._final is not None:
            return dict(self._final)
        body: JsonObject = dict(self._top)
        if body or self._items:
            body["output"] = self._so_far()
        return body

    def _fail(self, chunk: Mapping[str, Any]) -> None:
        inner = as_map(chunk.get("error"))
        told = inner or {key: chunk[key] for key in ("code", "message", "param") if key in chunk}
        base = self.body()
        self._final = {**base, "status": "failed", "error": told or {"message": "the server sent an error event"}}

    def _snapshot(self, kind: str, response: JsonObject) -> None:
        if kind in ("response.completed", "response.incomplete", "response.failed", "response.cancelled"):
            self._final = response if as_list(response.get("output")) else {**response, "output": self._so_far()}
            return
        self._top = {key: value for key, value in response.items() if key != "output"}

    def _so_far(self) -> list[Any]:
        return [whole(item) for item in self._items if item]

    def _item(self, chunk: Mapping[str, Any], kind: str = "") -> JsonObject:
        item = _at(self._items, chunk.get("output_index"))
        if not item and kind:
            item["type"] = kind
        return item

    def _text(self, chunk: Mapping[str, Any], subject: str, event: str) -> Chunk | None:
        place, index, key, kind = _IN_PART[subject]
        item = self._item(chunk, "reasoning" if subject.startswith("reasoning") else "message")
        part = _at(_own(item, place), chunk.get(index))
        part.setdefault("type", kind)
        if is_list(chunk.get("logprobs")) and chunk["logprobs"]:
            if event == "delta":
                extend(part, "logprobs", chunk["logprobs"])
            else:
                part["logprobs"] = chunk["logprobs"]
        if event == "done" and isinstance(chunk.get(key), str):
            part[key] = chunk[key]
        new = chunk.get("delta")
        if event != "delta" or not isinstance(new, str):
            return None
        add(part, key, new)
        if not new or subject == "refusal":
            return None
        return Chunk(reasoning=new) if item["type"] == "reasoning" else Chunk(new)

    def _other(self, chunk: Mapping[str, Any], subject: str, event: str) -> None:
        if subject == "output_item" and is_map(chunk.get("item")):
            _put(self._items, chunk.get("output_index"), chunk["item"])
        elif subject in _PARTS and is_map(chunk.get("part")):
            place, index = _PARTS[subject]
            item = self._item(chunk, "message" if place == "content" else "reasoning")
            _put(_own(item, place), chunk.get(index), chunk["part"])
        elif subject in _IN_ITEM:
            key, item = _IN_ITEM[subject], self._item(chunk)
            if event == "delta" and isinstance(chunk.get("delta"), str):
                add(item, key, chunk["delta"])
            elif event == "done" and isinstance(chunk.get(key), str):
                item[key] = chunk[key]
        elif subject == "output_text.annotation" and "annotation" in chunk:
            part = _at(_own(self._item(chunk, "message"), "content"), chunk.get("content_index"))
            extend(part, "annotations", [chunk["annotation"]])
        elif subject.startswith("shell_call"):
            self._shell(chunk, subject, event)
        elif event == "partial_image" and isinstance(chunk.get("partial_image_b64"), str):
            self._item(chunk, "image_generation_call")["partial_image_b64"] = chunk["partial_image_b64"]
        elif event in _STATES and "output_index" in chunk:
            self._item(chunk, subject)["status"] = event

    def _shell(self, chunk: Mapping[str, Any], subject: str, event: str) -> None:
        number = chunk.get("command_index")
        if subject == "shell_call_command":
            item = self._item(chunk, "shell_call")
            commands = _own(_map_in(item, "action"), "commands")
            told = chunk.get("command")
            if event == "delta":
                told = as_text(_get(commands, number)) + as_text(chunk.get("delta"))
            if isinstance(told, str):
                _put(commands, number, told)
            return
        item = self._item(chunk, "shell_call_output")
        if event == "done" and is_list(chunk.get("output")):
            item["output"] = whole(chunk["output"])
            return
        found = _at(_own(item, "output"), number)
        for key, text in as_map(chunk.get("delta")).items():
            if isinstance(text, str):
                add(found, key, text)


def _own(item: JsonObject, key: str) -> list[Any]:
    """The list under ``key``, made if there is none."""
    if not is_list(item.get(key)):
        item[key] = []
    return item[key]


def _map_in(item: JsonObject, key: str) -> JsonObject:
    if not is_map(item.get(key)):
        item[key] = {}
    return item[key]


def _place(items: list[Any], index: object) -> int:
    """The position that ``index`` names, filled up to it; a missing or absurd one is the next."""
    number = as_count(index)
    if number is None or number > _MOST:
        number = len(items)
    while len(items) <= number:
        items.append({})
    return number


def _get(items: list[Any], index: object) -> Any:
    number = as_count(index)
    return items[number] if number is not None and number < len(items) else None


def _put(items: list[Any], index: object, value: Any) -> None:
    items[_place(items, index)] = whole(value)  # a copy: the event is not ours


def _at(items: list[Any], index: object) -> JsonObject:
    number = _place(items, index)
    if not is_map(items[number]):
        items[number] = {}
    return items[number]
