"""A small JSON Schema validator: the keywords that tools and answers need, with messages a model can act on. Pure.

Draft 2020-12 semantics for the keywords in :mod:`json_schema_form`, which refuses a schema with any other keyword.
``$ref`` reaches ``#`` and ``#/...`` only.

>>> problems({"n": "x"}, {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n", "m"]})
("$: 'm' is missing", '$.n: expected integer, got string')
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, cast

from spanseal.errors import UsageError
from spanseal.verification.json_text import kind

Schema = Mapping[str, Any]
MAX_PROBLEMS = 10
MAX_REFERENCES = 64


def problems(value: object, schema: Schema | bool, *, exact_integers: bool = False) -> tuple[str, ...]:
    """What keeps ``value`` from following ``schema``, at most ten findings; empty when it does.

    ``exact_integers`` refuses 3.0 where an integer is asked (JSON Schema itself allows it).
    """
    found: list[str] = []
    for problem in _Walk(schema, exact_integers).check(value, schema, "$", 0):
        found.append(problem)
        if len(found) == MAX_PROBLEMS:
            break
    return tuple(found)


class _Walk:
    def __init__(self, root: Schema | bool, exact_integers: bool) -> None:
        self.root = root
        self.exact = exact_integers

    def check(self, value: Any, schema: Schema | bool, path: str, depth: int) -> Iterator[str]:
        if isinstance(schema, bool):
            if not schema:
                yield f"{path}: nothing is allowed here"
            return
        if depth > MAX_REFERENCES:
            raise UsageError(f"schema: references at {path} lead in a circle")
        if "$ref" in schema:
            yield from self.check(value, self.resolve(schema["$ref"]), path, depth + 1)
        wanted = schema.get("type")
        if wanted is not None:
            names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
            if not any(self.is_a(value, name) for name in names):
                yield f"{path}: expected {' or '.join(names)}, got {kind(value)}"
                return
        yield from _values(value, schema, path)
        if isinstance(value, str):
            yield from _strings(value, schema, path)
        elif isinstance(value, Mapping):
            yield from self.objects(cast("Mapping[str, Any]", value), schema, path)
        elif isinstance(value, list | tuple):
            yield from self.arrays(cast("list[Any]", value), schema, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _numbers(value, schema, path)
        yield from self.combined(value, schema, path, depth)

    def is_a(self, value: object, name: str) -> bool:
        found = kind(value)
        if name == "number":
            return found in ("integer", "number")
        if name == "integer" and found == "number" and not self.exact:
            return float(cast("float", value)).is_integer()
        return found == name

    def resolve(self, reference: str) -> Schema | bool:
        found: Any = self.root
        for step in reference.removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            try:
                found = _inside(found, key)
            except (KeyError, IndexError, ValueError, TypeError):
                raise UsageError(f"schema: the reference {reference!r} leads nowhere") from None
        return found

    def objects(self, value: Mapping[str, Any], schema: Schema, path: str) -> Iterator[str]:
        known: Mapping[str, Any] = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{path}: {name!r} is missing"
        extra: Any = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in known:
                yield from self.check(item, known[name], f"{path}.{name}", 0)
            elif extra is False:
                allowed = ", ".join(map(repr, known)) or "nothing"
                yield f"{path}: {name!r} is not known here; allowed is {allowed}"
            elif extra is not True:
                yield from self.check(item, extra, f"{path}.{name}", 0)
        if len(value) < schema.get("minProperties", 0):
            yield f"{path}: expected at least {schema['minProperties']} keys, got {len(value)}"
        if len(value) > schema.get("maxProperties", math.inf):
            yield f"{path}: expected at most {schema['maxProperties']} keys, got {len(value)}"

    def arrays(self, value: list[Any], schema: Schema, path: str) -> Iterator[str]:
        first: list[Any] = schema.get("prefixItems", [])
        rest: Any = schema.get("items", True)
        for index, item in enumerate(value):
            yield from self.check(item, first[index] if index < len(first) else rest, f"{path}[{index}]", 0)
        if len(value) < schema.get("minItems", 0):
            yield f"{path}: expected at least {schema['minItems']} items, got {len(value)}"
        if len(value) > schema.get("maxItems", math.inf):
            yield f"{path}: expected at most {schema['maxItems']} items, got {len(value)}"
        if schema.get("uniqueItems") and any(same(a, b) for n, a in enumerate(value) for b in value[:n]):
            yield f"{path}: the items must differ from each other"

    def combined(self, value: Any, schema: Schema, path: str, depth: int) -> Iterator[str]:
        for part in schema.get("allOf", ()):
            yield from self.check(value, part, path, depth + 1)
        if "anyOf" in schema or "oneOf" in schema:
            yield from self.alternatives(value, schema, path, depth)
        if "not" in schema and not any(True for _ in self.check(value, schema["not"], path, depth + 1)):
            yield f"{path}: this value is excluded"

    def alternatives(self, value: Any, schema: Schema, path: str, depth: int) -> Iterator[str]:
        for keyword, most in (("anyOf", math.inf), ("oneOf", 1)):
            parts = schema.get(keyword)
            if parts is None:
                continue
            failures = [next(self.check(value, part, path, depth + 1), "") for part in parts]
            fits = failures.count("")
            if fits == 0:
                yield f"{path}: none of the {len(failures)} alternatives fits ({'; '.join(failures[:3])})"
            elif fits > most:
                yield f"{path}: {fits} alternatives fit where exactly one must"


def _inside(value: Any, key: str) -> Any:
    return value[int(key) if isinstance(value, list) else key]


def _values(value: Any, schema: Schema, path: str) -> Iterator[str]:
    if "enum" in schema and not any(same(value, allowed) for allowed in schema["enum"]):
        yield f"{path}: expected one of {', '.join(map(repr, schema['enum']))}, got {_short(value)}"
    if "const" in schema and not same(value, schema["const"]):
        yield f"{path}: expected {schema['const']!r}, got {_short(value)}"


def _strings(value: str, schema: Schema, path: str) -> Iterator[str]:
    if len(value) < schema.get("minLength", 0):
        yield f"{path}: expected at least {schema['minLength']} characters, got {len(value)}"
    if len(value) > schema.get("maxLength", math.inf):
        yield f"{path}: expected at most {schema['maxLength']} characters, got {len(value)}"
    if "pattern" in schema and re.search(schema["pattern"], value) is None:
        yield f"{path}: does not match the pattern {schema['pattern']}"


def _numbers(value: float, schema: Schema, path: str) -> Iterator[str]:
    if value < schema.get("minimum", -math.inf):
        yield f"{path}: expected at least {schema['minimum']}, got {value}"
    if value > schema.get("maximum", math.inf):
        yield f"{path}: expected at most {schema['maximum']}, got {value}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield f"{path}: expected more than {schema['exclusiveMinimum']}, got {value}"
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        yield f"{path}: expected less than {schema['exclusiveMaximum']}, got {value}"
    step = schema.get("multipleOf")
    if step is not None and not _multiple(value, step):
        yield f"{path}: expected a multiple of {step}, got {value}"


def _multiple(value: float, step: float) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return Fraction(str(value)) % Fraction(str(step)) == 0  # as written: 0.3 is a multiple of 0.1


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: true is not 1, 1 is 1.0.

    >>> same(True, 1), same([1], [1.0])
    (False, True)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        left, right = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        first, second = cast("list[Any]", one), cast("list[Any]", other)
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    return bool(one == other)


def _short(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "…"
