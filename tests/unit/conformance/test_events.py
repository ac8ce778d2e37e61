"""The conventions' events as log records, held against the table: attributes, severity, structure, whose they are."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode
from tests.unit.conformance.conventions import EVENTS, SEVERITIES, SPANS
from tests.unit.conformance.judge import judge_attributes, kind_of, plain
from tests.unit.conformance.produce import SCENARIOS, produced
from tests.unit.conformance.wire import client
from tests.unit.telemetry.wire_world import whole

from spanseal.telemetry.active import Capture, activate, active
from spanseal.telemetry.signals.courier import Courier
from spanseal.telemetry.signals.events import Events
from spanseal.telemetry.signals.signals import Signals
from spanseal.testing import capture_spans

DETAILS = "gen_ai.client.inference.operation.details"
EVALUATION = "gen_ai.evaluation.result"
EXCEPTION = "gen_ai.client.operation.exception"
CONTENT = [name for name, level in SPANS["inference"].levels.items() if level == "o"]
_ALLOWED = {
    f"{DETAILS}: gen_ai.output.messages: has the deprecated finish_reason",
    f"{DETAILS}: gen_ai.tool.definitions: has members that are not recommended by default",
    f"{DETAILS}: gen_ai.agent.name: not of this type",
    f"{DETAILS}: gen_ai.response.status: not of this type",
    f"{DETAILS}: gen_ai.input.messages: a reference in place of a large value",
}
"""As on the spans, for the same reasons."""


@dataclass
class Heard:
    """Stands where the courier does, and keeps what it is given."""

    resource: Resource = field(default_factory=lambda: Resource({}))
    records: list[Any] = field(default_factory=list[Any])

    def emit(self, record: ReadableLogRecord) -> None:
        self.records.append(record.log_record)


@contextmanager
def hearing(
    *, details: bool, capture: Capture = "full", on_events: bool = True
) -> Generator[tuple[Heard, list[ReadableSpan]]]:
    heard, spans = Heard(), list[ReadableSpan]()
    with capture_spans(capture=capture) as captured:
        signals = Signals(events=Events(cast("Courier", heard), details=details))
        before = activate(replace(active(), signals=signals, content_on_events=on_events))
        try:
            yield heard, spans
        finally:
            activate(before)
        spans += captured.spans


def everything(**how: Any) -> tuple[list[Any], list[ReadableSpan]]:
    with hearing(**how) as (heard, spans):
        for scenario in SCENARIOS:
            produced(scenario)
    return heard.records, spans


def where(span: ReadableSpan) -> tuple[int, int]:
    context = span.get_span_context()
    assert context is not None
    return context.trace_id, context.span_id


def test_events_are_as_the_table_says() -> None:
    records, spans = everything(details=True)
    assert {record.event_name for record in records} == set(EVENTS)
    known = {where(span) for span in spans}
    found: set[str] = set()
    for record in records:
        levels, attributes = EVENTS[record.event_name], plain(record.attributes)
        judged = judge_attributes(record.event_name, levels, attributes, on_span=False)
        found |= {f"{at}: {what}" for at, what in judged}
        assert {name for name, level in levels.items() if level == "R"} <= set(attributes)
        assert record.severity_number.name == SEVERITIES.get(record.event_name, "INFO")
        assert (record.trace_id, record.span_id) in known
        assert record.body is None
        assert record.timestamp
    assert {finding for finding in found if "openai.api.type" not in finding} == _ALLOWED


def test_the_details_are_the_spans_attributes() -> None:
    records, spans = everything(details=True)
    details = {(one.trace_id, one.span_id): plain(one.attributes) for one in records if one.event_name == DETAILS}
    inferences = [span for span in spans if kind_of(span).startswith("inference")]
    assert set(details) == {where(span) for span in inferences}
    for span in inferences:
        ours = plain({key: value for key, value in (span.attributes or {}).items() if not key.startswith("spanseal.")})
        told = {key: value for key, value in details[where(span)].items() if not key.startswith("spanseal.")}
        assert told.keys() == ours.keys()
        assert {key: told[key] for key in told if key not in CONTENT} == {
            key: ours[key] for key in ours if key not in CONTENT
        }


def test_content_is_on_events_only_where_it_was_asked_for_there() -> None:
    records, spans = everything(details=True, capture="off")
    carried = {key for record in records if record.event_name == DETAILS for key in record.attributes}
    assert set(CONTENT) <= carried
    assert not any(key in (span.attributes or {}) for span in spans for key in CONTENT)
    silent, _ = everything(details=True, on_events=False)
    assert not any(key in record.attributes for record in silent for key in CONTENT)
    quiet, _ = everything(details=False, capture="off", on_events=False)
    assert {record.event_name for record in quiet} == {EVALUATION, EXCEPTION}
    assert not any("gen_ai.evaluation.explanation" in record.attributes for record in quiet)
    assert not any("exception.message" in record.attributes for record in quiet)


def test_content_on_events_is_redacted() -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx"
    with hearing(details=True, capture="off") as (heard, _):
        client("openai", whole("openai", f"it is {secret}")).chat.completions.create(
            model="m", messages=[{"role": "user", "content": f"my key is {secret}"}]
        )
    (record,) = heard.records
    assert secret not in str(record.attributes)
    assert "[redacted:api-key:27]" in str(record.attributes["gen_ai.input.messages"])
    assert "[redacted:api-key:27]" in str(record.attributes["gen_ai.output.messages"])


def test_each_check_is_an_event_with_whose_answer_it_judged() -> None:
    records, spans = everything(details=False)
    judged = [record for record in records if record.event_name == EVALUATION]
    on_spans = [event for span in spans for event in span.events if event.name == EVALUATION]
    assert [plain(record.attributes) for record in judged] == [plain(event.attributes) for event in on_spans]
    assert {record.attributes["gen_ai.evaluation.score.label"] for record in judged} == {"pass", "fail"}
    assert any(record.attributes.get("error.type") == "OSError" for record in judged)
    assert any(record.attributes.get("gen_ai.response.id") == "r1" for record in judged)


def test_each_failed_call_is_an_event_of_its_span() -> None:
    records, spans = everything(details=False)
    failed = {
        where(span): span for span in spans
        if kind_of(span) in ("inference", "inference of openai", "embeddings")
        and span.status.status_code is StatusCode.ERROR
    }
    told = {(one.trace_id, one.span_id): one for one in records if one.event_name == EXCEPTION}
    assert set(told) == set(failed)
    assert failed
    for place, record in told.items():
        assert record.attributes["exception.type"] == (failed[place].attributes or {})["error.type"]


@pytest.mark.parametrize("on", [True, False])
def test_events_can_be_off(on: bool) -> None:
    heard = Heard()
    with capture_spans():
        before = activate(replace(active(), signals=Signals(events=Events(cast("Courier", heard), on=on))))
        try:
            produced(SCENARIOS[-1])
        finally:
            activate(before)
    assert bool(heard.records) is on
