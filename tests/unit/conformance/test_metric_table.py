"""Every metric of the pinned conventions that is ours to tell: its name, unit, buckets and attributes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import Metric, Sum
from tests.unit.conformance.conventions import TYPES, WORDS
from tests.unit.conformance.metric_table import NOT_OURS, REMOVED, TABLE
from tests.unit.conformance.produce import SCENARIOS, produced

from spanseal.effects import Effects
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.signals.instruments import ALL
from spanseal.telemetry.signals.metrics import Metrics
from spanseal.telemetry.signals.numbers import Numbers
from spanseal.telemetry.signals.signals import Signals
from spanseal.testing import capture_spans


@cache
def measured() -> dict[str, Metric]:
    numbers = Numbers(Effects().clock)
    with capture_spans(capture="off"):
        before = activate(replace(active(), signals=Signals(Metrics(numbers))))
        try:
            for scenario in SCENARIOS:
                produced(scenario)
        finally:
            activate(before)
    return {metric.name: metric for metric in numbers.collect()}


def points(metric: Metric) -> list[Any]:
    return list(metric.data.data_points)


def test_all_of_the_table_and_nothing_else_is_measured() -> None:
    assert set(measured()) | {"gen_ai.client.inference.usage.cache_write.input_tokens"} == set(TABLE)
    assert {one.name for one in ALL} == {*TABLE, REMOVED}
    assert not {one.name for one in ALL} & set(NOT_OURS)


@pytest.mark.parametrize("name", TABLE)
def test_units_and_buckets(name: str) -> None:
    (ours,) = (one for one in ALL if one.name == name)
    row = TABLE[name]
    assert (ours.kind, ours.unit) == (row.instrument, row.unit)
    assert [round(bound, 6) for bound in ours.bounds] == [round(bound, 6) for bound in row.buckets]
    assert isinstance(measured()[name].data, Sum) == (row.instrument == "counter")


@pytest.mark.parametrize("name", TABLE)
def test_attributes(name: str) -> None:
    levels = TABLE[name].levels
    for point in points(measured()[name]):
        labels = dict(point.attributes)
        assert set(labels) <= set(levels)
        assert {key for key, level in levels.items() if level == "R"} <= set(labels)
        assert all(labels[key] in WORDS[key] for key in labels if key in WORDS)
        assert all(isinstance(value, {"str": str, "int": int}[TYPES[key]]) for key, value in labels.items())
        assert ("server.port" in labels) == ("server.address" in labels)


def test_what_failed_is_counted_with_its_kind_of_error() -> None:
    def kinds(name: str) -> set[Any]:
        return {point.attributes.get("error.type") for point in points(measured()[name])}

    assert {None, "429", "CancelledError", "OSError"} <= kinds("gen_ai.client.inference.duration")
    assert kinds("gen_ai.client.operation.duration") == {None, "500"}
    assert {None, "RuntimeError", "unknown_tool"} <= kinds("gen_ai.execute_tool.duration")
    assert {None, "halted"} <= kinds("gen_ai.invoke_agent.duration")
    assert kinds("gen_ai.client.inference.usage.input_tokens") == {None}
