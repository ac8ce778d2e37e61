"""The input messages of a request, ready to be recorded: nearly all of a long history in one look each. Pure.

A message that is a role and a text (*plain*) becomes one text part in every chat format, so its JSON is written at once
and nothing is built for it. Which roles these are, the wire format tells (:class:`spanseal.genai.places.Places`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from spanseal.genai.wire import WireFormat
from spanseal.genai.wire_json import JsonObject, is_list, render


def sent_messages(wire: WireFormat, body: Mapping[str, Any]) -> tuple[list[JsonObject | None], list[str]]:
    """Each input message as the conventions' value, None for a plain one, and as the JSON text of that value.

    Raises ValueError or TypeError for what is no JSON.

    >>> from spanseal.genai.wire import wire_format
    >>> sent_messages(wire_format("openai.chat"), {"messages": [{"role": "user", "content": "hi"}]})
    ([None], ['{"role":"user","parts":[{"type":"text","content":"hi"}]}'])
    """
    places = wire.PLACES
    items = body.get(places.history) if places.plain else None
    if not is_list(items):
        values = [*wire.input_messages(body)]
        return [*values], [render(value) for value in values]
    roles = places.plain
    texts: list[str] = []
    others: list[int] = []
    for number, item in enumerate(items):
        try:
            role, content = item["role"], item["content"]
            if role in roles and type(content) is str and len(item) == 2 and next(iter(item)) == "role":
                texts.append(
                    f'{{"role":"{role}","parts":[{{"type":"text","content":{orjson.dumps(content).decode()}}}]}}'
                )
                continue
        except (TypeError, LookupError):  # no object, or a text that orjson does not write
            pass
        others.append(number)
        texts.append("")
    found: list[JsonObject | None] = [None] * len(items)
    if others:
        made = wire.input_messages({**body, places.history: [items[number] for number in others]})
        for number, value in zip(others, made, strict=True):
            found[number], texts[number] = value, render(value)
    return found, texts
