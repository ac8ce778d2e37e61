"""What came back for a model call, read once from the bytes, and what its span says about it.

May import genai, active, assembly, http_attempt, decode_body, estimate and content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry.trace import Span

from spanseal.genai import semconv as sc
from spanseal.genai.sse import is_end
from spanseal.genai.wire import WireFormat
from spanseal.genai.wire_json import JsonObject, as_map, as_text, is_map, loads_fast, render
from spanseal.telemetry.active import active
from spanseal.telemetry.capture.decode_body import decoded
from spanseal.telemetry.capture.estimate import estimated_usage
from spanseal.telemetry.capture.streams.assembly import Assembled, assembled, parsed, split
from spanseal.telemetry.capture.streams.http_attempt import HttpAttempt
from spanseal.telemetry.content.attributes import content_attributes
from spanseal.telemetry.content.digests import salted_digest
from spanseal.telemetry.content.redaction.redact import struck, without_keys
from spanseal.telemetry.content.redaction.tool_credentials import may_hold_credentials, without_tool_credentials
from spanseal.telemetry.content.split_values import masked_texts, without_tokens

_LAST: Final = frozenset({"response.completed", "response.incomplete"})


@dataclass(frozen=True, slots=True)
class Answer:
    """``data``: the body, decoded, without the client's keys; None where it cannot be decoded. ``texts``: those of the
    stream's chunks, an unfinished one last; None where the body is one document. ``finished``: the stream's end mark
    has come. ``tail``: the bytes of a character that was cut. ``body``: what the texts amount to, if that is known.
    ``clean``: no text holds what is to be masked."""

    size: int
    data: bytes | None
    texts: Sequence[str] | None = None
    finished: bool = False
    tail: bytes = b""
    body: JsonObject | None = None
    clean: bool = False


def read_answer(wire: WireFormat, attempt: HttpAttempt, secrets: tuple[str, ...] = ()) -> Answer:
    """The answer as far as it came."""
    raw = attempt.raw
    data = decoded(raw, attempt.encoding)
    if data is None:
        return Answer(len(raw), None)
    size, data = len(data), without_keys(data, secrets)
    if not _is_stream(attempt, data):
        return Answer(size, without_tool_credentials(data))
    if attempt.assembly is not None and _is_over(attempt) and data is raw and not may_hold_credentials(data):
        whole: Assembled = attempt.assembly.over()
        return Answer(size, data, whole.texts, _finished(whole.texts), whole.tail, whole.body, clean=whole.clean)
    texts, tail = split(wire, data)
    if may_hold_credentials(data):
        texts = [without_tool_credentials(text.encode()).decode() for text in texts]
    return Answer(size, data, texts, _finished(texts), tail)


def record_answer(
    span: Span, wire: WireFormat, answer: Answer, encoding: str, sent: bytes, secrets: tuple[str, ...] = ()
) -> str:
    """Set every response attribute and return what is wrong with the answer, in words; empty if nothing is.

    ``sent`` is the request, for an estimate where the provider tells no counts; empty for none.
    """
    span.set_attribute(sc.LLM_RESPONSE_BYTES, answer.size)
    if answer.data is None:
        span.set_attribute(sc.LLM_RESPONSE_UNRECORDED, f"content-encoding {encoding[:40]} cannot be decoded here")
        return ""
    body = _body(wire, answer)
    messages: Sequence[JsonObject] = wire.output_messages(body) if is_map(body) else []
    text = render(messages)
    bare = struck(text, secrets)  # a model may say the key in pieces
    span.set_attributes(
        _body_attributes(span, answer, secrets, masked=bare is not text or _holds_secrets(text))
    )
    if not is_map(body):
        return wire.fault_of(body)
    told, mask = wire.response_attributes(body), active().redactor.value
    attributes = {key: mask(key, value) for key, value in told.items()}
    if messages:
        attributes |= content_attributes(span, sc.OUTPUT_MESSAGES, bare)
    if sent and answer.size and (messages or not body.get("error")):
        attributes |= estimated_usage(wire, sent, told, messages)
    span.set_attributes(attributes)
    return wire.fault_of(body) or ("" if answer.texts is None else wire.cut_short(answer.texts, body))


def _body(wire: WireFormat, answer: Answer) -> Any:
    if answer.body is not None:
        return answer.body
    return parsed(answer.data or b"") if answer.texts is None else assembled(wire, answer.texts)


def _body_attributes(span: Span, answer: Answer, secrets: tuple[str, ...], *, masked: bool) -> dict[str, Any]:
    """``masked``: something in the answer's content must go, so it must go where it lies in pieces, too."""
    full = active().capture == "full"
    told = {} if full else {sc.LLM_RESPONSE_DIGEST: salted_digest(span, answer.data or b"")}
    if answer.texts is not None:
        texts = masked_texts(answer.texts, secrets) if masked else answer.texts
        return told | text_attributes(span, texts, answer.tail, clean=answer.clean and not masked)
    if full:
        text = (answer.data or b"").decode("utf-8", "replace")
        return content_attributes(span, sc.LLM_RESPONSE_BODY, without_tokens(text) if masked else text)
    return told


def _holds_secrets(text: str) -> bool:
    return active().redactor.text(text) != text


def text_attributes(span: Span, texts: Sequence[str], tail: bytes, *, clean: bool = False) -> dict[str, Any]:
    """The texts of a stream's chunks, in order, word for word; ``clean`` says that nothing is to be masked."""
    told: dict[str, Any] = {sc.LLM_STREAM_CHUNKS: len(texts)}
    if active().capture != "full":
        return told
    told |= content_attributes(span, sc.LLM_RESPONSE_BODY, render(texts), masked=clean)
    return told | content_attributes(span, sc.LLM_RESPONSE_TAIL, tail.hex()) if tail else told


def _is_stream(attempt: HttpAttempt, data: bytes) -> bool:
    """Whether the answer really is a stream; an error page or plain JSON is not, though a stream was asked for.

    Some servers call a stream ``application/json``: then it is one unless the body is one JSON document.
    """
    kind = attempt.content_type
    if not attempt.stream or "text/html" in kind or (attempt.status or 0) >= 400:
        return False
    if "application/json" not in kind:
        return True
    try:
        loads_fast(data)
    except ValueError:
        return bool(data)
    return False


def _is_over(attempt: HttpAttempt) -> bool:
    """Whether no thread may be reading on."""
    return attempt.end not in (None, sc.STREAM_HELD)


def _finished(texts: Sequence[str]) -> bool:
    if not texts or is_end(texts[-1]):
        return bool(texts)
    last = as_map(parsed(texts[-1]))
    return last.get("done") is True or as_text(last.get("type")) in _LAST or any(map(is_end, texts))
