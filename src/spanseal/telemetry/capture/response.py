"""What a chat span says about its answer, from the bytes that came back. May import genai, content and redact."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import Span

from spanseal.genai import semconv as sc
from spanseal.genai.wire import WireFormat
from spanseal.genai.wire_json import JsonObject, as_map, is_map, loads, render
from spanseal.telemetry.content.attributes import set_content
from spanseal.telemetry.content.redact import without_keys


def record_response(
    span: Span, wire: WireFormat, data: bytes, *, stream: bool, secrets: tuple[str, ...] = ()
) -> str:
    """Set every response attribute and return what is wrong with the answer, in words; empty if nothing is.

    ``stream`` says that the bytes are an event stream or JSON lines; a cut one gives what had arrived.
    """
    span.set_attribute(sc.LLM_RESPONSE_BYTES, len(data))
    data = without_keys(data, secrets)
    texts: list[str] = []
    if stream:
        texts, rest = wire.split_stream(data)
        if rest:
            texts.append(rest)
        span.set_attribute(sc.LLM_STREAM_CHUNKS, len(texts))
        set_content(span, sc.LLM_RESPONSE_BODY, render(texts))
        body: Any = _assembled(wire, texts)
    else:
        set_content(span, sc.LLM_RESPONSE_BODY, data.decode("utf-8", "replace"))
        body = _parsed(data)
    if not is_map(body):
        return wire.fault_of(body)
    for key, value in wire.response_attributes(body).items():
        span.set_attribute(key, value)
    messages = wire.output_messages(body)
    if messages:
        set_content(span, sc.OUTPUT_MESSAGES, render(messages))
    return wire.fault_of(body) or (wire.cut_short(texts, body) if stream else "")


def _assembled(wire: WireFormat, texts: list[str]) -> JsonObject:
    stream = wire.StreamAssembler()
    for text in texts:
        stream.feed(as_map(_parsed(text)))
    return stream.body()


def _parsed(data: bytes | str) -> Any:
    try:
        return loads(data)
    except ValueError:
        return None
