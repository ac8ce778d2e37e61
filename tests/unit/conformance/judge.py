"""Holds spans, events and metrics against the tables; a finding is where and what, in words that do not vary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from typing import Any

import jsonschema
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode
from tests.unit.conformance.conventions import SPANS, TYPES, WORDS
from tests.unit.conformance.schemas import SCHEMAS

Finding = tuple[str, str]
_OFFICIAL = ("gen_ai.", "openai.", "server.", "error.", "exception.", "http.")
_PYTHON: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (float,), "bool": (bool,)}


def kind_of(span: ReadableSpan) -> str:
    """Which row of the table a span is held against."""
    found = span.attributes or {}
    operation = found.get("gen_ai.operation.name")
    if operation in ("chat", "text_completion"):
        openai = found.get("gen_ai.provider.name") in ("openai", "azure.ai.openai")
        return "inference of openai" if openai else "inference"
    return operation if isinstance(operation, str) and operation in SPANS else "own"


def judge(span: ReadableSpan, holds: Set[str], *, content: bool) -> set[Finding]:
    """What is not as the table says. ``holds`` are the conditionally required attributes whose condition is met."""
    kind, found = kind_of(span), dict(span.attributes or {})
    row = SPANS[kind]
    wrong = set(judge_attributes(kind, row.levels, found, on_span=True))
    if span.status.status_code is StatusCode.ERROR:
        holds = holds | {"error.type"}
    for name, level in row.levels.items():
        if level == "R" and name not in found:
            wrong.add((kind, f"{name}: required, missing"))
        if level == "C" and name in holds and name not in found:
            wrong.add((kind, f"{name}: its condition holds, missing"))
        if level == "C" and name not in holds and name in found:
            wrong.add((kind, f"{name}: its condition does not hold, there"))
        if level == "o" and name in found and not content:
            wrong.add((kind, f"{name}: nobody asked for content, there"))
    if span.kind.name != row.kind:
        wrong.add((kind, f"kind {span.kind.name}"))
    if row.subject and span.name != f"{found['gen_ai.operation.name']} {found.get(row.subject, '')}".rstrip():
        wrong.add((kind, f"name is not operation and {row.subject}"))
    return wrong


def judge_attributes(
    where: str, levels: Mapping[str, str], found: Mapping[str, Any], *, on_span: bool
) -> Iterable[Finding]:
    """Names, types, words and JSON shapes."""
    for name, value in found.items():
        if not name.startswith(_OFFICIAL):
            if not name.startswith("spanseal."):
                yield where, f"{name}: neither a name of the conventions nor ours"
            continue
        if name not in levels:
            yield where, f"{name}: not of this type"
        if name not in TYPES:
            yield where, f"{name}: unknown to the conventions"
            continue
        if name in WORDS and value not in WORDS[name]:
            yield where, f"{name}: {value!r} is no word of the conventions"
        yield from _judge_type(where, name, value, on_span=on_span)


def _judge_type(where: str, name: str, value: Any, *, on_span: bool) -> Iterable[Finding]:
    wanted = TYPES[name]
    if wanted == "json":
        if isinstance(value, str):
            yield where, "content is JSON text, though structure is possible" if on_span else f"{name}: a text"
        yield from ((where, finding) for finding in _judge_json(name, value))
    elif wanted == "strs":
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in plain(value)):
            yield where, f"{name}: no array of strings"
    elif type(value) not in _PYTHON[wanted]:
        yield where, f"{name}: {type(value).__name__}, not {wanted}"


def _judge_json(name: str, value: Any) -> Iterable[str]:
    try:
        value = json.loads(value) if isinstance(value, str) else plain(value)
    except ValueError:
        yield f"{name}: no JSON"
        return
    if _is_reference(value):
        yield f"{name}: a reference in place of a large value"
        return
    errors = jsonschema.Draft202012Validator(SCHEMAS[name]).iter_errors(value)  # pyright: ignore[reportUnknownMemberType] - it types its keywords loosely
    if any(True for _ in errors):
        yield f"{name}: not the shape of its schema"
    if name == "gen_ai.output.messages" and any("finish_reason" in message for message in value):
        yield f"{name}: has the deprecated finish_reason"
    if name == "gen_ai.tool.definitions" and any({"description", "parameters"} & set(tool) for tool in value):
        yield f"{name}: has members that are not recommended by default"


def _is_reference(value: object) -> bool:
    return isinstance(value, dict) and [*map(str, value)] == ["spanseal.omitted"]  # pyright: ignore[reportUnknownArgumentType] - any JSON


def plain(value: Any) -> Any:
    """An attribute's value as JSON values: the SDK makes tuples of arrays and mappings of its own."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any mapping
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - any sequence
    return value
