"""Every endpoint x way of calling x sync and async: exactly one span, with the right operation, provider and model."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.unit.telemetry.seams.clients import MAKES, made
from tests.unit.telemetry.seams.programs import RECORDED, UNRECORDED, Way, run
from tests.unit.telemetry.seams.servers import transport
from tests.unit.telemetry.wire_world import attributes_of, recording

from spanseal.genai import semconv as sc
from spanseal.telemetry.capture.streams.open_calls import drain
from spanseal.telemetry.instrument import instrument

either = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
_NAMES = ("chat create", "chat stream", "responses create", "embeddings create")
_SOME = [way for way in RECORDED if way.kind == "openai" and way.name in _NAMES]


def told(exporter: InMemorySpanExporter) -> list[tuple[Any, ...]]:
    """What the spans say of the calls: name, operation, format, provider, model, status."""
    assert drain(5.0)
    found = [(span, attributes_of(span)) for span in exporter.get_finished_spans()]
    names = (sc.OPERATION_NAME, sc.LLM_FORMAT, sc.PROVIDER_NAME, sc.REQUEST_MODEL)
    return [(span.name, *(a.get(name) for name in names), span.status.is_ok) for span, a in found]


@pytest.mark.parametrize("way", RECORDED, ids=str)
@either
def test_one_span(way: Way, asynchronous: bool) -> None:
    assert way.span is not None
    client, log = made(way.kind, asynchronous=asynchronous)
    with recording() as exporter:
        run(way.run, instrument(client), asynchronous=asynchronous)
        found = told(exporter)
    operation, form = way.span
    assert found == [(f"{operation} m", operation, form, way.kind, "m", True)]
    assert [entry[0] for entry in log].count("request") == 1


@pytest.mark.parametrize("way", UNRECORDED, ids=str)
@either
def test_no_span(way: Way, asynchronous: bool) -> None:
    client, log = made(way.kind, asynchronous=asynchronous)
    with recording() as exporter:
        run(way.run, instrument(client), asynchronous=asynchronous)
        assert told(exporter) == []
    assert log


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("way", _SOME, ids=str)
@either
def test_every_make_of_client(make: str, way: Way, asynchronous: bool) -> None:
    assert way.span is not None
    provider, build = MAKES[make]
    sends, _ = transport("openai", asynchronous=asynchronous)
    client = instrument(build(sends, asynchronous))
    twins = [client, client.with_options(max_retries=1), client.copy(), copy.copy(client)]
    with recording() as exporter:
        for twin in twins:
            run(way.run, twin, asynchronous=asynchronous)
        found = told(exporter)
    operation, form = way.span
    assert found == [(f"{operation} m", operation, form, provider, "m", True)] * 4
