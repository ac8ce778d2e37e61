"""Tokens of a call of which the provider told no counts: our estimate, under names of its own. May import genai.

Four characters a token and four tokens a message, as the budgets guess (:mod:`spanseal.genai.state`); never put into
``gen_ai.usage.*``, which holds what a provider counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from spanseal.genai import semconv as sc
from spanseal.genai.state import CHARS_PER_TOKEN, TOKENS_PER_MESSAGE
from spanseal.genai.wire import WireFormat
from spanseal.genai.wire_json import JsonObject, as_list, as_map, as_text, dumps, is_list, loads_fast

_NO_TEXT: Final = frozenset({"blob", "uri", "file"})


def estimated_usage(
    wire: WireFormat, sent: bytes, told: Mapping[str, Any], output: Sequence[JsonObject]
) -> dict[str, int]:
    """Estimates for the counts that ``told`` (response attributes) lacks; ``output`` are the messages that arrived."""
    missing: dict[str, int] = {}
    if told.get(sc.USAGE_INPUT_TOKENS) is None:
        missing[sc.USAGE_ESTIMATED_INPUT_TOKENS] = _asked(wire, sent)
    if told.get(sc.USAGE_OUTPUT_TOKENS) is None and wire.OPERATION != sc.OP_EMBEDDINGS:
        missing[sc.USAGE_ESTIMATED_OUTPUT_TOKENS] = tokens_of(output)
    return missing


def tokens_of(messages: Iterable[Mapping[str, Any]]) -> int:
    """A guess for messages in the conventions' form; pictures and sound count nothing.

    >>> tokens_of([{"role": "user", "parts": [{"type": "text", "content": "x" * 40}]}])
    14
    """
    total = 0
    for message in messages:
        chars = sum(_length(as_map(part)) for part in as_list(message.get("parts")))
        total += TOKENS_PER_MESSAGE + -(-chars // CHARS_PER_TOKEN)
    return total


def _length(part: JsonObject) -> int:
    if as_text(part.get("type")) in _NO_TEXT:
        return 0
    return sum(_size(value) for key, value in part.items() if key not in ("type", "id"))


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    return 0 if value is None else len(dumps(value))


def _asked(wire: WireFormat, sent: bytes) -> int:
    try:
        body = as_map(loads_fast(sent))
    except ValueError:
        return -(-len(sent) // CHARS_PER_TOKEN)
    parts = [*wire.tool_definitions(body), *wire.system_instructions(body)]
    messages = wire.input_messages(body)
    asked = tokens_of(messages) if messages else _embedded(body.get("input", body.get("prompt")))
    return asked + sum(-(-len(dumps(part)) // CHARS_PER_TOKEN) for part in parts)


def _embedded(given: object) -> int:
    """Of what is to be embedded: texts, or tokens as numbers."""
    if is_list(given):
        return sum(map(_embedded, given))
    return -(-len(given) // CHARS_PER_TOKEN) if isinstance(given, str) else int(isinstance(given, int))
