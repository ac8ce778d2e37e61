"""Arbitrary OTLP trace documents in arbitrary spelling: values first, then their bytes, for the tests beside."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KEY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
U32 = st.integers(0, (1 << 32) - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
KNOWN_KEYS = ["gen_ai.operation.name", "spanseal.run.id", "gen_ai.input.messages", "spanseal.seq"]


def hex_id(size: int) -> st.SearchStrategy[str]:
    return st.binary(min_size=size, max_size=size).filter(any).map(bytes.hex)


def any_values() -> st.SearchStrategy[dict[str, Any]]:
    leaf = st.one_of(
        st.just({}),
        TEXT.map(lambda v: {"stringValue": v}),
        INT64.map(lambda v: {"intValue": str(v)}),
        INT64.map(lambda v: {"intValue": v}),
        st.booleans().map(lambda v: {"boolValue": v}),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda v: {"doubleValue": v}),
        st.sampled_from(["NaN", "Infinity", "-Infinity"]).map(lambda v: {"doubleValue": v}),
        st.sampled_from(["", "AA==", "/+8="]).map(lambda v: {"bytesValue": v}),
        st.tuples(TEXT, JSON).map(lambda v: {"stringValue": v[0], "unknown": v[1]}),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda v: {"arrayValue": {"values": v}}),
            attributes(inner).map(lambda v: {"kvlistValue": {"values": v}}),
        ),
        max_leaves=4,
    )


def attributes(values: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    pair = st.tuples(st.sampled_from(KNOWN_KEYS) | KEY, st.none() | values, st.none() | JSON)
    return st.lists(pair.map(_pair), max_size=4, unique_by=lambda pair: pair["key"])


def _pair(parts: tuple[str, Any, Any]) -> dict[str, Any]:
    key, value, unknown = parts
    return {"key": key} | ({} if value is None else {"value": value}) | ({} if unknown is None else {"note": unknown})


def spans() -> st.SearchStrategy[dict[str, Any]]:
    own = {"attributes": attributes(any_values()), "droppedAttributesCount": U32}
    event = st.fixed_dictionaries({}, optional={"name": TEXT, "timeUnixNano": st.just("5"), "x": JSON, **own})
    link = st.fixed_dictionaries(
        {"traceId": hex_id(16), "spanId": hex_id(8)}, optional={"traceState": TEXT, "flags": U32, "y": JSON, **own}
    )
    status = st.fixed_dictionaries({}, optional={"code": st.integers(0, 2), "message": TEXT, "z": JSON})
    return st.fixed_dictionaries(
        {"traceId": hex_id(16), "spanId": hex_id(8)},
        optional={
            "parentSpanId": hex_id(8) | st.just(""), "name": TEXT, "kind": st.integers(0, 5), "traceState": TEXT,
            "startTimeUnixNano": st.integers(0, (1 << 64) - 1).map(str), "endTimeUnixNano": st.integers(0, 99),
            "events": st.lists(event, max_size=2), "links": st.lists(link, max_size=2), "status": status,
            "flags": U32, "w": JSON, **own,
        },
    )  # fmt: skip


def documents() -> st.SearchStrategy[dict[str, Any]]:
    owner = st.fixed_dictionaries({}, optional={"attributes": attributes(any_values()), "name": TEXT})
    scope = st.fixed_dictionaries(
        {}, optional={"scope": owner, "spans": st.lists(spans(), max_size=2), "schemaUrl": TEXT, "q": JSON}
    )
    resource = st.fixed_dictionaries(
        {}, optional={"resource": owner, "scopeSpans": st.lists(scope, max_size=2), "schemaUrl": TEXT, "r": JSON}
    )
    return st.fixed_dictionaries({"resourceSpans": st.lists(resource, max_size=2)}, optional={"extra": JSON})


def spell(value: Any, rng: random.Random) -> bytes:
    """JSON text of ``value`` with white space, order of members and escapes as ``rng`` wills."""
    return (_space(rng) + _spell(value, rng) + _space(rng)).encode()


def _spell(value: Any, rng: random.Random) -> str:
    gap = lambda: _space(rng)  # noqa: E731 - a short name keeps the two templates readable
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return '"' + "".join(_char(char, rng) for char in value) + '"'
        case dict():
            items: list[tuple[str, Any]] = list(value.items())  # pyright: ignore[reportUnknownArgumentType]
            rng.shuffle(items)
            inner = ",".join(f"{gap()}{_spell(k, rng)}{gap()}:{gap()}{_spell(v, rng)}{gap()}" for k, v in items)
            return "{" + (inner or gap()) + "}"
        case list():
            inner = ",".join(f"{gap()}{_spell(item, rng)}{gap()}" for item in value)  # pyright: ignore[reportUnknownVariableType]
            return "[" + (inner or gap()) + "]"
        case _:
            return repr(value)


def _char(char: str, rng: random.Random) -> str:
    if char in '"\\':
        return rng.choice(["\\" + char, f"\\u{ord(char):04x}"])
    if char == "/" and rng.random() < 0.5:
        return "\\/"
    if char < " " or rng.random() < 0.1:
        units = char.encode("utf-16-be")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    return char


def _space(rng: random.Random) -> str:
    return "".join(rng.choices(" \t\r\n", k=rng.randrange(3))) if rng.random() < 0.3 else ""
