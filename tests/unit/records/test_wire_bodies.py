"""Every generated request of every format rebuilds to the bytes that were sent, recorded in full or as a delta.

``SPANSEAL_SOAK`` makes it 5,000 bodies of each format.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from tests.unit.genai.json_values import st
from tests.unit.records.odd_json import values, written
from tests.unit.records.wire_bodies import FORMATS, bodies, response_items, sent

from spanseal.genai import semconv as sc
from spanseal.genai.wire import wire_format
from spanseal.genai.wire_json import as_map, loads, loads_fast, render
from spanseal.records.history import Bases, shapes_of, tail_params
from spanseal.records.history_read import restored
from spanseal.records.otlp import parse_line
from spanseal.records.replay_read import rebuild, recorded_request
from spanseal.records.replay_record import split

SOAK = bool(os.environ.get("SPANSEAL_SOAK"))
MANY = settings(
    max_examples=5_000 if SOAK else 60,
    deadline=None,
    derandomize=not SOAK,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FEW = settings(parent=MANY, max_examples=1_000 if SOAK else 25)


def _parsed(raw: bytes, parse: Any) -> dict[str, Any]:
    try:
        return as_map(parse(raw))
    except ValueError:
        return {}


def recorded(name: str, raw: bytes) -> dict[str, Any]:
    """The attributes that capture writes for these bytes: the fast parser first, then the exact one."""
    wire = wire_format(name)
    for parse in (loads_fast, loads):
        body = _parsed(raw, parse)
        parts = [wire.input_messages(body), wire.tool_definitions(body), wire.system_instructions(body)]
        made = split(raw, body, parts[0], parts[1], parts[2], wire.PLACES)
        if made.params:
            break
    keys = (sc.INPUT_MESSAGES, sc.TOOL_DEFINITIONS, sc.SYSTEM_INSTRUCTIONS)
    found: dict[str, Any] = {
        key: "[" + ",".join(map(render, part)) + "]" for key, part in zip(keys, parts, strict=True) if part
    }
    found[sc.LLM_REQUEST_PARAMS if made.params else sc.LLM_REQUEST_BODY] = made.params or made.body
    return found | {sc.LLM_FORMAT: name, sc.LLM_REQUEST_SHA256: made.sha256}


def _is_of_64_bits(body: dict[str, Any]) -> bool:
    try:
        orjson.dumps(body)
    except TypeError:
        return False
    return True


def through_otlp(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes as a reader of an exported line gets them."""
    pairs = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in attributes.items()
    ]
    span: dict[str, Any] = {
        "traceId": "0" * 31 + "1",
        "spanId": "0" * 15 + "1",
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": pairs,
        "status": {},
    }
    line = orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    (record,) = parse_line(line)
    return dict(record.attributes)


@pytest.mark.parametrize("name", FORMATS)
@MANY
@given(data=st.data())
def test_every_body_comes_back_exactly(name: str, data: Any) -> None:
    raw = data.draw(sent(name))
    attributes = through_otlp(recorded(name, raw))
    rebuilt = rebuild(attributes)
    assert (rebuilt.grade, rebuilt.reason) == ("exact", "")
    assert rebuilt.body == raw
    assert hashlib.sha256(raw).hexdigest() == attributes[sc.LLM_REQUEST_SHA256]
    assert recorded_request(attributes) is not None


@pytest.mark.parametrize("name", FORMATS)
@FEW
@given(data=st.data())
def test_bodies_that_clients_write_are_split_not_kept_whole(name: str, data: Any) -> None:
    """Compact, as the openai and ollama clients write them; without integers beyond 64 bits, which no seed has."""
    raw = written(data.draw(bodies(name))).encode()
    body = _parsed(raw, loads)
    try:
        again = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        return  # a lone surrogate, or a number beyond all floats
    if again == raw and _is_of_64_bits(body):
        assert sc.LLM_REQUEST_PARAMS in recorded(name, raw)


@FEW
@given(
    talk=st.lists(response_items, max_size=6),
    chat=st.lists(values, max_size=6),
    cuts=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=6),
    pick=st.sampled_from(FORMATS),
)
def test_deltas_restore_every_call_exactly(talk: list[Any], chat: list[Any], cuts: list[Any], pick: str) -> None:
    """Histories that grow, are cut, or swap an item; of formats without a history each call is one message or none."""
    bases, wires, sents = Bases(), dict[str, dict[str, Any]](), dict[str, bytes]()
    field = wire_format(pick).PLACES.history
    for number, (length, swap) in enumerate(cuts):
        history = (talk if pick == "openai.responses" else chat)[:length]
        if swap < len(history):
            history[swap] = {"role": "user", "content": f"swapped {swap}"}
        body = {"model": "m", field: history} if field else {"model": "m", "prompt": "p" * length, "system": "s"}
        raw = written(body).encode()
        attributes, name = recorded(pick, raw), f"{number:016x}"
        texts = [render(item) for item in loads(attributes.get(sc.INPUT_MESSAGES, "[]"))]
        sents[name] = raw
        if sc.LLM_REQUEST_PARAMS in attributes and texts:
            params = loads(attributes[sc.LLM_REQUEST_PARAMS])
            placed = bases.place(texts, shapes_of(params, "messages"))
            if placed.base:
                attributes |= {sc.HISTORY_BASE: placed.base, sc.HISTORY_KEPT: placed.kept}
                attributes[sc.INPUT_MESSAGES] = "[" + ",".join(texts[placed.kept :]) + "]"
                attributes[sc.LLM_REQUEST_PARAMS] = orjson.dumps(tail_params(params, placed.kept)).decode()
            bases.add(name, placed)
        wires[name] = through_otlp(attributes)
    whole = {name: dict(told) for name, told in wires.items()} | dict(restored(wires))
    for name, raw in sents.items():
        rebuilt = rebuild(whole[name])  # pyright: ignore[reportArgumentType] - a Lost would fail below
        assert (rebuilt.grade, rebuilt.body) == ("exact", raw), rebuilt.reason
