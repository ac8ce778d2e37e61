"""What a call's span says when it ends: the answer, how its reading ended, and what went wrong. May import
response, streams, content."""

from __future__ import annotations

from opentelemetry.trace import Span

from spanseal.errors import text_of
from spanseal.genai import semconv as sc
from spanseal.genai.wire import WireFormat
from spanseal.telemetry.capture.response import Answer, read_answer, record_answer, text_attributes
from spanseal.telemetry.capture.streams.http_attempt import End, HttpAttempt
from spanseal.telemetry.content.attributes import set_content
from spanseal.telemetry.content.redaction.redact import scrubbed
from spanseal.telemetry.content.split_values import masked_texts
from spanseal.telemetry.spans.failure import fail


def record_end(
    span: Span, wire: WireFormat, last: HttpAttempt | None, error: BaseException | None, *,
    started: float, sent: bytes, secrets: tuple[str, ...],
) -> None:
    """Record the answer of ``last`` (None: nothing was sent) and the outcome; ``error`` is what the client raised.

    ``started`` is when the call began, in the clock's monotonic seconds.
    """
    if last is None or last.status is None:
        _record_outcome(span, error or (None if last is None else last.error), None, "", secrets)
        return
    if last.stream and last.first is not None:
        span.set_attribute(sc.RESPONSE_TIME_TO_FIRST_CHUNK, last.first - started)
    answer = read_answer(wire, last, secrets)
    fault = record_answer(span, wire, answer, last.encoding, sent if last.status < 400 else b"", secrets)
    last.told = len(answer.texts or ())
    end = settled(last, answer, fault)
    if last.stream:
        span.set_attribute(sc.LLM_STREAM_END, end)
    over = end in (sc.STREAM_COMPLETE, sc.STREAM_FAILED) or not last.stream
    cause = error or (None if answer.finished and end == sc.STREAM_COMPLETE else last.error)
    _record_outcome(span, cause, last, fault if over else "", secrets)


def record_rest(span: Span, wire: WireFormat, last: HttpAttempt, before: int, *, secrets: tuple[str, ...]) -> None:
    """Record what came after the first ``before`` texts of a stream, and how its reading ended at last."""
    answer = read_answer(wire, last, secrets)
    rest = masked_texts(answer.texts or (), secrets)[before:]  # what is masked may lie on both sides
    if answer.texts is None:  # an adapter's own answer is one document, whole
        set_content(span, sc.LLM_RESPONSE_BODY, (answer.data or b"").decode("utf-8", "replace"))
    else:
        span.set_attributes(text_attributes(span, rest, answer.tail))
    last.told = before + len(rest)
    end = settled(last, answer, "")
    span.set_attribute(sc.LLM_STREAM_END, end)
    cause = None if answer.finished and end == sc.STREAM_COMPLETE else last.error
    _record_outcome(span, cause, None, "", secrets)


def settled(last: HttpAttempt, answer: Answer, fault: str) -> End:
    """How the reading ended, with the answer's end mark taken into account: what comes after it is no answer.

    What the client could not read came before the mark, however much more had arrived by then.
    """
    end = last.end or sc.STREAM_ABANDONED
    if answer.finished and not last.refused:
        return sc.STREAM_COMPLETE
    if end == sc.STREAM_COMPLETE and fault:
        return sc.STREAM_FAILED
    return end


def error_type(error: BaseException) -> str:
    """The convention's ``error.type``: the HTTP status where the error has one, else the exception's class name."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return str(status)
    return type(error).__qualname__


def _record_outcome(
    span: Span, cause: BaseException | None, last: HttpAttempt | None, fault: str, secrets: tuple[str, ...]
) -> None:
    if cause is not None:
        fail(span, error_type(cause), scrubbed(_described(cause), secrets))
    elif last is not None and last.status is not None and last.status >= 400:
        fail(span, str(last.status), scrubbed(last.raw.decode("utf-8", "replace"), secrets))
    elif fault:
        fail(span, sc.ERROR_MALFORMED_RESPONSE, fault)


def _described(error: BaseException) -> str:
    cause = "" if error.__cause__ is None else text_of(error.__cause__)
    return f"{text_of(error)} ({cause})" if cause else text_of(error)
