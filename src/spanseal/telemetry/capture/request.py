"""What a chat span says about its request, from the bytes that left the client.

May import genai, records, history, active, content and redact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from opentelemetry.trace import Span

from spanseal.genai import semconv as sc
from spanseal.genai.sent_messages import sent_messages
from spanseal.genai.wire import WireFormat
from spanseal.genai.wire_json import JsonObject, as_map, is_map, loads, loads_fast, render
from spanseal.records.replay_record import Split, split
from spanseal.telemetry.active import active
from spanseal.telemetry.capture.history import Told, base_attributes, tell
from spanseal.telemetry.content.attributes import content_attributes
from spanseal.telemetry.content.digests import attributes_of, salted_digest, scope_masked
from spanseal.telemetry.content.masked_json import as_array, masked_items
from spanseal.telemetry.content.plain import plain_text
from spanseal.telemetry.content.redaction.redact import without_keys


@dataclass(frozen=True, slots=True)
class _Masked:
    """A request as it may be recorded: messages, instructions and tools as JSON items; whether anything was masked."""

    record: Split
    messages: list[str]
    system: list[str]
    tools: list[str]
    changed: bool


def parsed_request(sent: bytes) -> JsonObject:
    """The body of a request; empty where it is no JSON object."""
    return _parsed(sent, loads_fast)


def record_request(
    span: Span, wire: WireFormat, sent: bytes, bare: bytes, body: JsonObject, secrets: tuple[str, ...] = ()
) -> Told | None:
    """Set every request attribute: the conventions', sizes, and with capture ``full`` the replay record.

    ``bare`` is ``sent``, parsed as ``body``, without what it carries for others' servers (``tool_credentials``). Where
    the client's own key occurs in it that is struck out, and what the redactor finds is masked: such a call can be
    rebuilt in meaning only, and in place of the plain digest of the bytes, from which a short secret could be guessed,
    stands a salted one. Returns what later calls may build on once the span has ended.
    """
    raw = without_keys(bare, secrets)
    if raw is not sent:
        body = _parsed(raw, loads_fast)
    current = active()
    full = current.capture == "full"
    told = {
        key: current.redactor.value(key, value) for key, value in wire.request_attributes(body).items()
        if full or key != sc.REQUEST_STOP_SEQUENCES  # somebody wrote them: content
    }
    span.set_attributes({**told, sc.LLM_REQUEST_BYTES: len(sent), sc.LLM_REQUEST_MESSAGES: wire.PLACES.count(body)})
    if not full:
        span.set_attribute(sc.LLM_REQUEST_DIGEST, salted_digest(span, sent))
        if current.content_on_events:  # it goes there, and not on the span
            masked = _masked(wire, raw, body)
            span.set_attributes(_content(span, masked.messages, masked))
        return None
    masked = _masked(wire, raw, body)
    if masked.changed:
        scope_masked(span)
    history = tell(span, masked.record, masked.messages)
    before = attributes_of(span)
    span.set_attributes({
        **base_attributes(history.placed, before),
        **_digest(span, sent, history.record.sha256, before, redacted=masked.changed or raw is not sent),
        **_record(span, history.record),
        # no messages at all are told, too; but embeddings have none
        **_content(span, history.messages, masked, always=bool(body) and wire.OPERATION != sc.OP_EMBEDDINGS),
    })
    return history


def _content(
    span: Span, messages: str | list[str], masked: _Masked, *, always: bool = False
) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if always or masked.messages:
        text = messages if isinstance(messages, str) else as_array(messages)
        told |= content_attributes(span, sc.INPUT_MESSAGES, text, masked=True)
    for key, items in ((sc.SYSTEM_INSTRUCTIONS, masked.system), (sc.TOOL_DEFINITIONS, masked.tools)):
        if items:
            told |= content_attributes(span, key, as_array(items), masked=True)
    return told


def _masked(wire: WireFormat, raw: bytes, body: JsonObject) -> _Masked:
    record, parts = _split(wire, raw, body)
    if record.body:  # the fast parser widens big integers to floats: look again with the exact one
        record, parts = _split(wire, raw, _parsed(raw, loads))
    items = [masked_items(part) for part in parts]
    params, whole = plain_text(record.params), plain_text(record.body)
    keys = (sc.INPUT_MESSAGES, sc.SYSTEM_INSTRUCTIONS, sc.TOOL_DEFINITIONS, sc.LLM_REQUEST_PARAMS)
    changed = any(one for _, one in items) or params != record.params or whole != record.body
    changed = changed or any(active().redactor.secret_key(key) for key in keys)
    (messages, _), (system, _), (tools, _) = items
    return _Masked(replace(record, params=params, body=whole), messages, system, tools, changed)


def _split(wire: WireFormat, raw: bytes, body: JsonObject) -> tuple[Split, tuple[list[str], list[str], list[str]]]:
    tools, system = wire.tool_definitions(body), wire.system_instructions(body)
    messages, texts = sent_messages(wire, body)
    record = split(raw, body, messages, tools, system, wire.PLACES)
    return record, (texts, [render(part) for part in system], [render(tool) for tool in tools])


def _digest(
    span: Span, sent: bytes, sha256: str, before: Mapping[str, Any], *, redacted: bool
) -> dict[str, Any]:
    """Of what was sent; where an earlier attempt of the same call was told of in the other way, take that back."""
    if not redacted:
        told: dict[str, Any] = {sc.LLM_REQUEST_SHA256: sha256}
        return told | {sc.LLM_REQUEST_REDACTED: False} if sc.LLM_REQUEST_REDACTED in before else told
    told = {sc.LLM_REQUEST_REDACTED: True, sc.LLM_REQUEST_DIGEST: salted_digest(span, sent)}
    return told | {sc.LLM_REQUEST_SHA256: ""} if sc.LLM_REQUEST_SHA256 in before else told


def _record(span: Span, record: Split) -> dict[str, Any]:
    if record.params:
        return content_attributes(span, sc.LLM_REQUEST_PARAMS, record.params, masked=True)
    return content_attributes(span, sc.LLM_REQUEST_BODY, record.body, masked=True) if record.body else {}


def _parsed(raw: bytes, parse: Any) -> JsonObject:
    try:
        return as_map(parse(raw))
    except ValueError:
        return {}


def model_of(body: object) -> str:
    """The model that a request's JSON data name, before any bytes exist; empty if they do not."""
    model = body.get("model") if is_map(body) else None
    return model if isinstance(model, str) else ""
