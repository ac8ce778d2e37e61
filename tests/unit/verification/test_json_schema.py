"""Our validator against the reference one, and its refusals."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.errors import UsageError
from spanseal.verification.json_schema import MAX_PROBLEMS, problems
from spanseal.verification.json_schema_form import check_schema

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.5, "", "a", "ab", "b1"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
small = st.integers(0, 3)


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={
        "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
        "enum": st.lists(values, min_size=1, max_size=3), "const": values,
        "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "additionalProperties": inner | st.booleans(), "minProperties": small, "maxProperties": small,
        "items": inner, "prefixItems": st.lists(inner, min_size=1, max_size=2), "minItems": small, "maxItems": small,
        "uniqueItems": st.booleans(), "minLength": small, "maxLength": small,
        "pattern": st.sampled_from(["^a", "b$", "[0-9]"]), "minimum": small, "maximum": small,
        "exclusiveMinimum": small, "exclusiveMaximum": small, "multipleOf": st.sampled_from([1, 2, 0.5]),
        "allOf": st.lists(inner, min_size=1, max_size=2), "anyOf": st.lists(inner, min_size=1, max_size=2),
        "oneOf": st.lists(inner, min_size=1, max_size=2), "not": inner, "description": st.just("words"),
    })


schemas = st.recursive(st.booleans() | keywords(st.just({})), keywords, max_leaves=4)


@given(values, schemas)
def test_the_verdict_is_that_of_the_reference_validator(value: Any, schema: Any) -> None:
    check_schema(schema)
    reference: Any = jsonschema.Draft202012Validator(schema)
    assert (not problems(value, schema)) == reference.is_valid(value)


def test_references_are_followed() -> None:
    following: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}
    node: dict[str, Any] = {"type": "object", "properties": {"next": following}, "required": ["next"]}
    tree: dict[str, Any] = {"$defs": {"node": node}, "$ref": "#/$defs/node"}
    check_schema(tree)
    assert not problems({"next": {"next": None}}, tree)
    assert problems({"next": {"next": 1}}, tree)


@pytest.mark.parametrize(("schema", "words"), [
    ({"$ref": "#"}, "in a circle"), ({"$ref": "#/nowhere"}, "leads nowhere"),
])
def test_references_that_lead_nowhere_are_the_schemas_fault(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        problems(1, schema)


UNSUPPORTED: list[tuple[Any, str]] = [
    ({"properties": {"a": {"dependentRequired": {}}}}, r"schema\.properties\.a\.dependentRequired"),
    ({"anyOf": [{}, {"contains": {}}]}, r"schema\.anyOf\[1\]\.contains"),
    ({"type": "text"}, "'text' is no JSON type"), ({"pattern": "("}, "schema.pattern"), (3, "not integer"),
    ({"$ref": "https://example.org/schema"}, "only references inside the schema"),
    ({"properties": []}, r"schema\.properties: expected is an object, not array"), ({"type": 5}, "a type or types"),
    ({"required": "name"}, "a list of names"), ({"anyOf": {}}, "a list that is not empty"), ({"enum": 5}, "a list"),
    ({"multipleOf": 0}, "a number above 0"), ({"minimum": "3"}, "a number, not string"), ({"pattern": 5}, "a text"),
    ({"minLength": -1}, "a whole number"), ({"uniqueItems": 1}, "a boolean"), ({"$ref": 1}, "a text"),
    ({"items": {"maximum": True}}, r"schema\.items\.maximum"),
]


@pytest.mark.parametrize(("schema", "words"), UNSUPPORTED)
def test_a_schema_that_would_not_be_obeyed_is_refused_with_its_place(schema: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_schema(schema)


@pytest.mark.parametrize(("value", "step", "fits"), [
    (0.3, 0.1, True), (0.35, 0.1, False), (10**400, 0.5, True), (10**400 + 1, 3, False), (1.5, 1, False),
    (float("inf"), 2, False),
])
def test_multiples_are_counted_as_written(value: float, step: float, fits: bool) -> None:
    assert (not problems(value, {"multipleOf": step})) == fits


def test_no_value_breaks_a_schema_without_bounds() -> None:
    for value in (float("inf"), float("-inf"), float("nan"), 10**400):
        assert problems(value, {"type": ["number", "integer"]}) == ()


def test_integers_may_be_asked_exactly() -> None:
    assert not problems(3.0, {"type": "integer"})
    assert problems(3.0, {"type": "integer"}, exact_integers=True)


def test_the_list_of_problems_is_bounded() -> None:
    assert len(problems(["x"] * 1000, {"items": {"type": "integer"}})) == MAX_PROBLEMS
