"""Taking the instrumentation back leaves nothing, and neither order nor repetition makes a second span."""

from __future__ import annotations

import copy
from typing import Any

import ollama
import openai
import pytest
from tests.unit.telemetry.seams.clients import made
from tests.unit.telemetry.seams.programs import MESSAGES
from tests.unit.telemetry.wire_world import recording

from spanseal.telemetry.capture.streams.open_calls import drain
from spanseal.telemetry.instrument import instrument, uninstrument
from spanseal.telemetry.instrumentor import SpansealInstrumentor

each = pytest.mark.parametrize(("kind", "asynchronous"), [(k, a) for k in ("openai", "ollama") for a in (False, True)])
both = pytest.mark.parametrize("kind", ["openai", "ollama"])


def ask(given: object, **more: Any) -> Any:
    """One call, of either kind."""
    client: Any = given
    if isinstance(given, ollama.Client):
        return client.chat(model="m", messages=MESSAGES, **more)
    return client.chat.completions.create(model="m", messages=MESSAGES, **more)


@each
def test_nothing_is_left(kind: str, asynchronous: bool) -> None:
    client, _ = made(kind, asynchronous=asynchronous)
    http: Any = client._client
    before = (client.__class__, dict(client.__dict__), http.__class__, sorted(http.__dict__))
    for _ in range(2):
        instrument(instrument(client))
        assert uninstrument(client) is client
    uninstrument(client)
    assert (client.__class__, client.__dict__, http.__class__, sorted(http.__dict__)) == before


@both
def test_a_stream_under_way_ends_its_span(kind: str) -> None:
    client, _ = made(kind, asynchronous=False)
    with recording() as exporter:
        reading = ask(instrument(client), stream=True)
        next(reading)
        uninstrument(client)
        ask(client)
        assert exporter.get_finished_spans() == ()
        list(reading)
        assert len(exporter.get_finished_spans()) == 1


@both
def test_a_copy_is_given_back_alone(kind: str) -> None:
    client, _ = made(kind, asynchronous=False)
    with recording() as exporter:
        twin = copy.copy(instrument(client))
        uninstrument(twin)
        ask(twin)
        assert exporter.get_finished_spans() == ()
        ask(client)
        assert len(exporter.get_finished_spans()) == 1
        uninstrument(client)
        ask(instrument(twin))
        ask(client)
        assert len(exporter.get_finished_spans()) == 2
        uninstrument(twin)


@both
def test_an_http_client_put_in_later(kind: str) -> None:
    client, _ = made(kind, asynchronous=False)
    other, _ = made(kind, asynchronous=False)
    with recording() as exporter:
        instrument(client)._client = other._client
        ask(client)
        assert len(exporter.get_finished_spans()) == 1


def test_a_subclass_of_an_instrumented_class() -> None:
    client, _ = made("openai", asynchronous=False)
    own: Any = type("Own", (instrument(client).__class__,), {})
    below = own(api_key="k", base_url="http://o.test", http_client=client._client)
    with recording() as exporter:
        ask(instrument(below))
        assert len(exporter.get_finished_spans()) == 1
    assert type(uninstrument(below)) is own


def test_swapped_once_more_by_somebody_else() -> None:
    client, _ = made("openai", asynchronous=False)
    theirs: Any = type("Theirs", (instrument(client).__class__,), {})
    client.__class__ = theirs
    uninstrument(client)
    assert type(client) is theirs


@both
def test_zero_code_and_by_hand_is_one_span(kind: str) -> None:
    instrumentor = SpansealInstrumentor()
    instrumentor.instrument()
    try:
        with recording() as exporter:
            client, _ = made(kind, asynchronous=False)
            ask(instrument(client))
            assert len(exporter.get_finished_spans()) == 1
            uninstrument(client)
            ask(client)
            assert len(exporter.get_finished_spans()) == 1
    finally:
        instrumentor.uninstrument()


def test_the_functions_of_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    inner, _ = made("ollama", asynchronous=False)
    client, _ = made("openai", asynchronous=False)
    module: Any = ollama
    monkeypatch.setattr(module.chat.__self__, "_client", inner._client)
    for name, value in (("api_key", "k"), ("base_url", "http://o.test/v1/"), ("http_client", client._client)):
        monkeypatch.setattr(openai, name, value)
    monkeypatch.setattr(openai, "_client", None)
    monkeypatch.setattr(openai, "api_type", "openai")
    instrumentor = SpansealInstrumentor()
    instrumentor.instrument()
    try:
        with recording() as exporter:
            module.chat(model="m", messages=MESSAGES)
            list(ollama.generate(model="m", prompt="hi", stream=True))
            openai.chat.completions.create(model="m", messages=MESSAGES)  # type: ignore[arg-type]
            openai.embeddings.create(model="m", input="hi")
            assert drain(5.0)
            names = [span.name for span in exporter.get_finished_spans()]
        assert names == ["chat m", "text_completion m", "chat m", "embeddings m"]
    finally:
        instrumentor.uninstrument()
    assert type(module.chat.__self__) is ollama.Client
