"""Export lines built by hand: what the official file exporters write, as small as a test needs it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from spanseal.genai import semconv as sc
from spanseal.records.ledger import Row, encode_manifest, manifest_digest, sign_manifest, writer_id

TRACE = "0af7651916cd43dd8448eb211c80319c"
START = 1_796_041_990_000_000_000
MS = 1_000_000
RUN = "4b" * 16
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
WRITER = writer_id(KEY.public_key().public_bytes_raw())


@dataclass
class Span:
    """A span; times are milliseconds after :data:`START`."""

    id: str
    name: str
    start: float
    end: float | None
    parent: str = ""
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    status: int = 0
    message: str = ""
    trace: str = TRACE
    kind: int = 1

    @property
    def start_ns(self) -> int:
        return START + int(self.start * MS)

    @property
    def end_ns(self) -> int:
        return START + int(self.end * MS) if self.end is not None else 0

    def document(self) -> dict[str, Any]:
        status: dict[str, Any] = {}
        if self.status:
            status["code"] = self.status
        if self.message:
            status["message"] = self.message
        return {
            "traceId": self.trace,
            "spanId": self.id,
            **({"parentSpanId": self.parent} if self.parent else {}),
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": str(self.start_ns),
            "endTimeUnixNano": str(self.end_ns),
            "attributes": pairs(self.attributes),
            "events": [
                {"timeUnixNano": str(self.end_ns), "name": name, "attributes": pairs(told)}
                for name, told in self.events
            ],
            "status": status,
        }


def line(*spans: Span, resource: Mapping[str, Any] | None = None) -> bytes:
    """One export line, its newline included."""
    scope_spans = [{"scope": {"name": "spanseal"}, "spans": [span.document() for span in spans]}]
    group = {"resource": {"attributes": pairs(resource or {"service.name": "shop"})}, "scopeSpans": scope_spans}
    return json.dumps({"resourceSpans": [group]}, separators=(",", ":")).encode() + b"\n"


def lines(spans: Iterable[Span]) -> bytes:
    return b"".join(line(span) for span in spans)


def pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def any_value(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": pairs(cast("Mapping[str, Any]", value))}}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"arrayValue": {"values": [any_value(item) for item in cast("Sequence[Any]", value)]}}
    return {"stringValue": value}


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def chat(span_id: str, parent: str, start: float, end: float, messages: list[Any], output: Any, **more: Any) -> Span:
    """A chat span with the conventions' attributes, without a replay record."""
    attributes = {
        sc.OPERATION_NAME: "chat", sc.PROVIDER_NAME: "openai", sc.REQUEST_MODEL: "tiny", sc.RESPONSE_MODEL: "tiny-1",
        sc.USAGE_INPUT_TOKENS: 42, sc.USAGE_OUTPUT_TOKENS: 9, sc.RESPONSE_FINISH_REASONS: ["stop"],
        sc.INPUT_MESSAGES: json.dumps(messages), sc.OUTPUT_MESSAGES: json.dumps(output), sc.REQUEST_TEMPERATURE: 0.0,
        **more,
    }
    return Span(span_id, "chat tiny", start, end, parent, attributes, kind=3)


def numbered(spans: Sequence[Span], run_id: str = RUN, key: Ed25519PrivateKey = KEY) -> list[Span]:
    """Stamp run, writer and seq in order of start."""
    writer = writer_id(key.public_key().public_bytes_raw())
    for seq, span in enumerate(sorted(spans, key=lambda s: s.start)):
        span.attributes |= {sc.RUN_ID: run_id, sc.WRITER_ID: writer, sc.SEQ: seq}
        span.attributes.setdefault(sc.AGENT_NAME, "calculator")
    return list(spans)


def sealed_off(spans: Sequence[Span], root: Span, run_id: str = RUN, key: Ed25519PrivateKey = KEY) -> list[Span]:
    """Number the spans and set the manifest on the root."""
    numbered(spans, run_id, key)
    rows = [Row(s.attributes[sc.SEQ], s.id, s.start_ns, s.end_ns, s.status) for s in spans]
    manifest = sign_manifest(key, run_id=run_id, first=0, count=len(rows), digest=manifest_digest(rows))
    root.attributes[sc.MANIFEST] = encode_manifest(manifest)
    return list(spans)


QUESTION = text("user", "What is 17 * 23?")
CALL = {"type": "tool_call", "id": "c1", "name": "calculator", "arguments": {"expression": "17 * 23"}}
WISH = {"role": "assistant", "parts": [CALL]}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "391"}]}


def calculator_run(run_id: str = RUN, trace: str = TRACE, shift: float = 0) -> list[Span]:
    """A whole run of two steps: control, a call that wants a tool, the tool, an answer that is checked."""
    root = Span("a0" * 8, "invoke_agent calculator", 0, 900, "", {
        sc.OPERATION_NAME: "invoke_agent", sc.AGENT_NAME: "calculator", sc.RUN_OUTCOME: "completed",
        sc.RUN_STOP_REASON: "answered", sc.INPUT_MESSAGES: json.dumps([QUESTION]),
        sc.OUTPUT_MESSAGES: json.dumps([text("assistant", "391")]),
    })
    first = Span("b1" * 8, "step", 1, 400, root.id, {sc.STEP_NUMBER: 1, sc.STATE_DIGEST: "aa"})
    second = Span("b2" * 8, "step", 401, 899, root.id, {sc.STEP_NUMBER: 2})
    gate = decision("c1" * 8, first.id, 2, "before_model", "allow")
    wish = chat("d1" * 8, first.id, 5, 300, [QUESTION], [WISH], **{sc.RESPONSE_FINISH_REASONS: ["tool_call"]})
    tool = Span("e1" * 8, "execute_tool calculator", 310, 312.5, first.id, {
        sc.OPERATION_NAME: "execute_tool", sc.TOOL_NAME: "calculator", sc.TOOL_CALL_ID: "c1",
        sc.TOOL_CALL_ARGUMENTS: '{"expression":"17 * 23"}', sc.TOOL_CALL_RESULT: "391",
    })
    answer = chat("d2" * 8, second.id, 402, 700, [QUESTION, WISH, RESULT], [text("assistant", "391")])
    checks = Span("f1" * 8, "verification default", 701, 702, second.id, {
        sc.VERIFICATION_PIPELINE: "default", sc.VERIFICATION_PASSED: True,
    }, [check("not_empty", "pass", "error"), check("short", "fail", "warning", "more than 2 characters")])
    stop = decision("c2" * 8, second.id, 703, "before_answer", "modify", "tidy", "answers end with a full stop")
    spans = [gate, wish, tool, first, answer, checks, stop, second, root]
    for span in spans:
        span.trace = trace
        span.start += shift
        span.end = (span.end or 0) + shift
    return sealed_off(spans, root, run_id)


def decision(span_id: str, parent: str, start: float, seam: str, word: str, policy: str = "", reason: str = "") -> Span:
    told = {sc.CONTROL_SEAM: seam, sc.CONTROL_DECISION: word, sc.CONTROL_POLICY: policy, sc.CONTROL_REASON: reason}
    said = {sc.POLICY_NAME: policy or "max_steps", sc.POLICY_DECISION: word, sc.POLICY_REASON: reason}
    return Span(span_id, f"control {seam}", start, start + 0.5, parent, told, [(sc.EVENT_POLICY_RESULT, said)])


def check(name: str, label: str, severity: str, explanation: str = "") -> tuple[str, dict[str, Any]]:
    told = {sc.EVALUATION_NAME: name, sc.EVALUATION_SCORE_LABEL: label, sc.CHECK_SEVERITY: severity}
    if explanation:
        told[sc.EVALUATION_EXPLANATION] = explanation
    return sc.EVENT_EVALUATION_RESULT, told
