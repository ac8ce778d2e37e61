"""Model calls inside a run: numbered, stamped and covered by the manifest, however they end."""

from __future__ import annotations

import gc
from typing import Any

import httpx2
import pytest
from tests.unit.telemetry.ledger_of import ledgers
from tests.unit.telemetry.wire_world import Answer, attributes_of, bare_client, stream, whole

from spanseal.adapters.openai import OpenAIAdapter
from spanseal.errors import ProviderUnavailableError
from spanseal.genai import semconv as sc
from spanseal.telemetry.run_context import attempt
from spanseal.telemetry.run_span import run_span
from spanseal.testing import ScriptedModel, capture_spans


def adapter(*answers: Answer) -> OpenAIAdapter:
    return OpenAIAdapter("m", client=bare_client("openai", answers, []))


def test_calls_of_a_run_carry_its_stamps() -> None:
    with capture_spans() as captured, run_span("helper") as run:
        ScriptedModel(["draft", "final"]).complete("hi")
        with attempt(2):
            adapter(whole("openai")).complete("hi")
        run.finish("completed", "answered")
    chats = [attributes_of(span) for span in captured.spans if span.name.startswith("chat")]
    assert [chat[sc.RUN_ID] for chat in chats] == [run.run_id] * 2
    assert [chat[sc.LLM_ATTEMPT] for chat in chats] == [1, 2]
    (ledger,) = ledgers(captured.spans).values()
    ledger.check()


def test_a_stream_dropped_in_a_run_has_ended_when_its_manifest_counts() -> None:
    with capture_spans() as captured, run_span("helper") as run:
        for chunk in adapter(stream("openai")).stream("hi"):
            assert chunk.text == "he"
            break
        gc.collect()
        run.finish("completed", "answered")
    (ledger,) = ledgers(captured.spans).values()
    ledger.check()
    assert len(ledger.seqs) == 2
    assert [manifest.open for manifest in ledger.manifests] == [()]


def test_a_failed_call_and_the_run_around_it() -> None:
    with capture_spans() as captured:
        with pytest.raises(ProviderUnavailableError), run_span("helper"):
            adapter(Answer(refuse=httpx2.ConnectError("refused"))).complete("hi")
        chat, root = sorted(captured.spans, key=lambda span: span.name)
    found: dict[str, Any] = attributes_of(chat)
    assert found[sc.ERROR_TYPE] == "APIConnectionError"
    assert "refused" in str(chat.status.description)
    assert attributes_of(root)[sc.RUN_OUTCOME] == "failed"
    assert chat.parent is not None
    where = root.get_span_context()
    assert where is not None
    assert chat.parent.span_id == where.span_id
