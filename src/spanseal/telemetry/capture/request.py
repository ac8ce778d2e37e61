"""What a chat span says about its request, from the bytes that left the client.

May import genai, records, history, active, content and redact.
"""

from __future__ import annotations

import hashlib
import hmac
from secrets import token_bytes
from typing import Any, Final

from opentelemetry.trace import Span

from spanseal.genai import semconv as sc
from spanseal.genai.wire import WireFormat
from spanseal.genai.wire_json import JsonObject, as_list, as_map, is_map, loads, loads_fast
from spanseal.records.replay_record import Split, split
from spanseal.telemetry.active import active
from spanseal.telemetry.capture.history import Told, set_base, tell
from spanseal.telemetry.content.attributes import set_content
from spanseal.telemetry.content.masked_json import masked_items, masked_list
from spanseal.telemetry.content.redact import without_keys

_SALT: Final = token_bytes(32)
"""Lives in this process only: digests can be compared within it and tell nothing outside."""


def record_request(span: Span, wire: WireFormat, sent: bytes, secrets: tuple[str, ...] = ()) -> Told | None:
    """Set every request attribute: the conventions', sizes, and with capture ``full`` the replay record.

    Where the client's own key occurs in the body it is struck out: such a call can be rebuilt in meaning only. Returns
    what later calls may build on once the span has ended.
    """
    raw = without_keys(sent, secrets)
    body = _parsed(raw, loads_fast)
    for key, value in wire.request_attributes(body).items():
        if key != sc.REQUEST_STOP_SEQUENCES or active().capture == "full":  # somebody wrote them: content
            span.set_attribute(key, value)
    span.set_attribute(sc.LLM_REQUEST_BYTES, len(sent))
    span.set_attribute(sc.LLM_REQUEST_MESSAGES, len(as_list(body.get("messages"))))
    if active().capture != "full":
        span.set_attribute(sc.LLM_REQUEST_DIGEST, hmac.digest(_SALT, sent, "sha256").hex()[:32])
        return None
    messages, tools = wire.input_messages(body), wire.tool_definitions(body)
    record = split(raw, body, messages, tools)
    if record.body:  # the fast parser widens big integers to floats: look again with the exact one
        body = _parsed(raw, loads)
        messages, tools = wire.input_messages(body), wire.tool_definitions(body)
        record = split(raw, body, messages, tools)
    told = tell(span, record, masked_items(messages))
    set_base(span, told.placed)
    _set_record(span, told.record)
    if raw is not sent:
        span.set_attribute(sc.LLM_REQUEST_SHA256, hashlib.sha256(sent).hexdigest())
    if body:
        set_content(span, sc.INPUT_MESSAGES, told.messages, masked=True)
    if tools:
        set_content(span, sc.TOOL_DEFINITIONS, masked_list(tools), masked=True)
    return told


def _set_record(span: Span, record: Split) -> None:
    span.set_attribute(sc.LLM_REQUEST_SHA256, record.sha256)
    if record.params:
        set_content(span, sc.LLM_REQUEST_PARAMS, record.params)
    elif record.body:
        set_content(span, sc.LLM_REQUEST_BODY, record.body)


def _parsed(raw: bytes, parse: Any) -> JsonObject:
    try:
        return as_map(parse(raw))
    except ValueError:
        return {}


def model_of(body: object) -> str:
    """The model that a request's JSON data name, before any bytes exist; empty if they do not."""
    model = body.get("model") if is_map(body) else None
    return model if isinstance(model, str) else ""
