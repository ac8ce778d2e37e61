"""The way back from deltas: every call of a run with all its messages again, as if recorded in full. Pure.

May import genai and the siblings ``history``, ``large_values`` and ``replay_record``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from spanseal.genai import semconv as sc
from spanseal.genai.wire_json import is_list, loads, render, thaw
from spanseal.records.history import shapes_of, with_shapes
from spanseal.records.large_values import not_here
from spanseal.records.replay_record import parse_params


@dataclass(frozen=True, slots=True)
class Lost:
    """Why a call's history cannot be restored."""

    reason: str


@dataclass(frozen=True, slots=True)
class _History:
    """Each message as JSON text, and its shape in the replay record."""

    messages: tuple[str, ...]
    shapes: tuple[bytes, ...]


def base_of(attributes: Mapping[str, Any]) -> str:
    """The span id that a call's messages build on; empty where it tells all of them itself."""
    base = attributes.get(sc.HISTORY_BASE)
    return base if isinstance(base, str) else ""


def restored(
    spans: Mapping[str, Mapping[str, Any]], twice: Collection[str] = ()
) -> dict[str, Mapping[str, Any] | Lost]:
    """The attributes, as if recorded in full, of each of a run's spans (by span id) that was recorded as a delta.

    Where a base is not there or cannot be read, the reason, which names it; ``twice`` are the ids that several spans
    claim, on which nothing is built. Never raises on content.

    >>> restored({"b2": {"spanseal.history.base": "a1", "spanseal.history.kept": 1}})["b2"].reason
    'only the messages new since span a1 were recorded, and span a1 is missing'
    """
    known: dict[str, _History | Lost] = {name: Lost(f"span {name} is there with two contents") for name in twice}
    result: dict[str, Mapping[str, Any] | Lost] = {}
    for name, attributes in spans.items():
        if base_of(attributes):
            found = _follow(name, spans, known)
            result[name] = found if isinstance(found, Lost) else _in_full(name, attributes, found)
    return result


def _follow(
    name: str, spans: Mapping[str, Mapping[str, Any]], known: dict[str, _History | Lost]
) -> _History | Lost:
    """The history of a span, with those of all bases below it; a loop, for the way down may be long."""
    path: dict[str, None] = {}
    at = name
    while at and at not in known:
        if at in path:
            known[at] = Lost(f"span {at} builds on itself")
        elif at not in spans:
            known[at] = Lost(f"span {at} is missing")
        else:
            path[at] = None
            at = base_of(spans[at])
    for step in reversed(path):
        if step not in known:
            known[step] = _history(step, spans[step], known)
    found = known[name]
    if isinstance(found, Lost):
        base = base_of(spans[name])
        return Lost(f"only the messages new since span {base} were recorded, and {found.reason}")
    return found


def _history(name: str, attributes: Mapping[str, Any], known: Mapping[str, _History | Lost]) -> _History | Lost:
    base, kept = base_of(attributes), attributes.get(sc.HISTORY_KEPT)
    below: _History | Lost = known[base] if base else _History((), ())
    if isinstance(below, Lost):
        return below
    if lost := not_here(attributes, (sc.INPUT_MESSAGES, sc.LLM_REQUEST_PARAMS)):
        return Lost(f"the messages of span {name} cannot be read: {lost}")
    try:
        messages = _messages(attributes)
        shapes = shapes_of(parse_params(attributes[sc.LLM_REQUEST_PARAMS]), "messages")
    except (ValueError, TypeError, LookupError) as error:
        return Lost(f"the messages of span {name} cannot be read ({type(error).__name__})")
    if not base:
        kept = 0
    if not isinstance(kept, int) or not 0 <= kept <= len(below.messages) or len(messages) != len(shapes):
        return Lost(f"span {name} does not fit the span that it builds on")
    return _History((*below.messages[:kept], *messages), (*below.shapes[:kept], *shapes))


def _messages(attributes: Mapping[str, Any]) -> list[str]:
    value = attributes[sc.INPUT_MESSAGES]
    items = loads(value) if isinstance(value, str) else thaw(value)
    if not is_list(items):
        raise ValueError("the messages are not recorded in full")
    return [render(item) for item in items]


def _in_full(name: str, attributes: Mapping[str, Any], history: _History) -> dict[str, Any] | Lost:
    try:
        params = parse_params(attributes[sc.LLM_REQUEST_PARAMS])
        whole = orjson.dumps(with_shapes(params, history.shapes, shapes_of(params, "tools"))).decode()
    except (ValueError, TypeError, LookupError) as error:
        return Lost(f"the request params of span {name} cannot be read ({type(error).__name__})")
    full = {key: value for key, value in attributes.items() if key not in (sc.HISTORY_BASE, sc.HISTORY_KEPT)}
    full[sc.INPUT_MESSAGES] = "[" + ",".join(history.messages) + "]"
    full[sc.LLM_REQUEST_PARAMS] = whole
    return full
