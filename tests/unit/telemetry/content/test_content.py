"""Content attributes: any value becomes JSON, secrets are masked, large values described, nothing recorded when off."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import hashlib
import json
import math
import uuid
from collections import OrderedDict
from typing import Any

import orjson
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode
from tests.unit.telemetry.ledger_of import attribute

from spanseal.genai import semconv
from spanseal.telemetry.content.attributes import set_content, set_digest
from spanseal.telemetry.content.redaction.redact import redact
from spanseal.telemetry.content.to_json import to_json
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.failure import fail
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __iter__(self) -> Any:
        raise RuntimeError("no")


class Model(pydantic.BaseModel):
    name: str
    at: datetime.date


@dataclasses.dataclass
class Point:
    x: float
    tags: tuple[str, ...] = ()


class Colour(enum.Enum):
    RED = "red"


CYCLE: dict[str, Any] = {"a": 1}
CYCLE["me"] = CYCLE


def nested(depth: int) -> list[Any]:
    return [nested(depth - 1)] if depth else []


CASES: list[tuple[Any, str]] = [
    ({"a": [1, None, True, "ä"]}, '{"a":[1,null,true,"ä"]}'),
    ([math.nan, math.inf, -math.inf, None], '["NaN","Infinity","-Infinity",null]'),
    (2**70, f'"{2**70}"'),
    ({"n": [-(2**63), 2**64]}, f'{{"n":[{-(2**63)},"{2**64}"]}}'),
    ("a\ud800b", '"a\ufffdb"'),
    ({"\udc00": 1}, '{"\ufffd":1}'),
    (b"\x00\xff", '{"base64":"AP8="}'),
    ({1: "one", None: 2}, '{"1":"one","null":2}'),
    ((1, {2}), "[1,[2]]"),
    (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), '"2026-01-02T03:04:00+00:00"'),
    (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    (decimal.Decimal("1.10"), '"1.10"'),
    (Colour.RED, '"red"'),
    (Point(1.5, ("a",)), '{"x":1.5,"tags":["a"]}'),
    (Model(name="n", at=datetime.date(2026, 1, 2)), '{"name":"n","at":"2026-01-02"}'),
    (OrderedDict([("b", 1), ("a", 2)]), '{"b":1,"a":2}'),
    (CYCLE, '{"a":1,"me":"<cycle>"}'),
    ([Hostile()], '["<tests.unit.telemetry.content.test_content.Hostile>"]'),
    ({Hostile(): 1}, '{"<tests.unit.telemetry.content.test_content.Hostile>":1}'),
]


@pytest.mark.parametrize(("value", "text"), CASES)
def test_any_value_becomes_json(value: Any, text: str) -> None:
    assert to_json(value) == text


def test_depth_is_bounded() -> None:
    assert '"<too deep>"' in to_json(nested(500))


UNICODE = st.text(st.characters(exclude_categories=["Cs"]))
NUMBER = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
PLAIN: Any = st.recursive(
    st.none() | st.booleans() | NUMBER | UNICODE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(UNICODE, inner),
    max_leaves=12,
)


@given(PLAIN)
def test_what_is_json_already_is_exact(value: Any) -> None:
    assert json.loads(to_json(value)) == value


@given(st.recursive(st.floats() | st.text(st.characters()) | st.binary() | st.integers(), st.lists, max_leaves=8))
def test_whatever_it_is_strict_readers_read_it(value: Any) -> None:
    orjson.loads(to_json(value))


SECRETS = [
    ("sk-proj-abcdefghijklmnopqrstu", "api-key"),
    ("Bearer abc.def-ghi_jkl", "bearer"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123", "token"),
    ("xoxb-1234567890-abcdef", "token"),
    ("AKIAABCDEFGHIJKLMNOP", "access-key"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.abcDEF", "token"),
    ("-----BEGIN PRIVATE KEY-----\\nMIIabc+/=\\n-----END PRIVATE KEY-----", "private-key"),
]


@pytest.mark.parametrize(("secret", "name"), SECRETS)
def test_secrets_are_masked_and_json_stays_json(secret: str, name: str) -> None:
    text = json.dumps([{"said": "mine"}]).replace("mine", f'it is {secret}", \\"quoted\\"'.replace('", ', ", "))
    masked = redact(text)
    assert secret not in masked
    length = len(json.loads(f'"{secret}"'))
    assert f"[redacted:{name}:{length}]" in masked
    assert json.loads(masked)[0]["said"].startswith("it is [redacted:")


@pytest.mark.parametrize(
    "text", ["a task-force", "the bearer of news", "risk-averse-behaviour-in-models", "eyJ", "sk-1"]
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


@given(st.text(st.sampled_from('sk-bearerBE AKIA"\\{}:,nPRIVATEKEY'), max_size=80))
def test_masking_never_breaks_json(text: str) -> None:
    json.loads(redact(json.dumps({"a": text, "b": "Bearer " + text})))


def recorded(value: Any, capture: Any = "full", limit: int = 4096) -> Any:
    with capture_spans(capture=capture, max_value_bytes=limit) as captured, tracer().start_as_current_span("s") as span:
        set_content(span, "content", value)
    return attribute(captured.one("s"), "content")


def test_text_is_recorded_as_it_is_and_values_as_json() -> None:
    assert recorded('{"already": "json"}') == '{"already": "json"}'
    assert recorded([{"role": "user"}]) == '[{"role":"user"}]'
    assert recorded({"key": SECRETS[0][0]}) == '{"key":"[redacted:api-key:29]"}'
    assert recorded([1, {"key": SECRETS[0][0]}, "b"]) == '[1,{"key":"[redacted:api-key:29]"},"b"]'
    assert recorded([{"password": "x"}] * 2) == '[{"password":"[redacted:key:1]"},{"password":"[redacted:key:1]"}]'
    assert recorded("bad \ud800") == "bad \ufffd"


def test_a_large_value_becomes_its_length_and_digest() -> None:
    value = "ä" * 3000
    assert recorded(value, limit=6000) == value
    described = json.loads(recorded(value, limit=5999))
    sha256 = hashlib.sha256(value.encode()).hexdigest()
    assert described == {"spanseal.omitted": {"bytes": 6000, "sha256": sha256, "parts": 1}}


def test_nothing_is_recorded_when_capture_is_off() -> None:
    assert recorded("content", capture="off") is None


def test_hostile_values_never_raise() -> None:
    class Text(str):
        def isascii(self) -> bool:
            raise RuntimeError("no")

    assert recorded(Hostile()) is not None
    assert recorded(Text("x")) is None


@pytest.mark.parametrize(("capture", "described"), [("full", "it said [redacted:api-key:29]"), ("off", None)])
def test_a_failure_tells_its_type_always_and_its_text_only_if_content_is_captured(capture: Any, described: str) -> None:
    with capture_spans(capture=capture) as captured, tracer().start_as_current_span("s") as span:
        fail(span, "ToolFaultError", "it said " + SECRETS[0][0])
    found: ReadableSpan = captured.one("s")
    assert (found.status.status_code, found.status.description) == (StatusCode.ERROR, described)
    assert attribute(found, semconv.ERROR_TYPE) == "ToolFaultError"


@pytest.mark.parametrize(("capture", "told"), [("full", "it said [redacted:api-key:29]"), ("off", None)])
def test_a_stop_reason_is_a_word_or_content(capture: Any, told: str | None) -> None:
    with capture_spans(capture=capture) as captured:
        with run_span("a") as run:
            run.finish("halted", "it said " + SECRETS[0][0])
        with run_span("b") as run:
            run.finish("halted", "step_limit")
    assert attribute(captured.one("invoke_agent a"), semconv.RUN_STOP_REASON) == told
    assert attribute(captured.one("invoke_agent b"), semconv.RUN_STOP_REASON) == "step_limit"


def test_what_is_set_with_capture_off_is_size_and_salted_digest() -> None:
    with capture_spans(capture="off") as captured, run_span("a"), tracer().start_as_current_span("s") as span:
        set_content(span, "k", {"a": 1})
        set_content(span, "same", '{"a":1}')
        set_digest(span, "never", "text")
    found: Any = captured.one("s").attributes
    assert found["spanseal.bytes.k"] == found["spanseal.bytes.same"] == 7
    assert found["spanseal.digest.k"] == found["spanseal.digest.same"] != hashlib.sha256(b'{"a":1}').hexdigest()[:32]
    assert "k" not in found
    assert found["spanseal.bytes.never"] == 4
