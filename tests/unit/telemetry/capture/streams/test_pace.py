"""Seconds between the chunks of a stream: one value for each chunk after the first, however many there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.telemetry.wire_world import KINDS, stream, whole, world

from spanseal.effects import Effects
from spanseal.genai import semconv as sc
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.signals.metrics import Metrics
from spanseal.telemetry.signals.numbers import Numbers
from spanseal.telemetry.signals.signals import Signals


def gaps_of(kind: str, answer: Any, **more: Any) -> list[Any]:
    numbers = Numbers(Effects().clock)
    with world(kind, [answer]) as made:
        before = activate(replace(active(), signals=Signals(Metrics(numbers))))
        try:
            asked = made.ask(**more)
            if more:
                list(asked)
            made.spans()
        finally:
            activate(before)
    found = {metric.name: metric for metric in numbers.collect()}
    metric = found.get(sc.METRIC_TIME_PER_OUTPUT_CHUNK)
    return [] if metric is None else list(metric.data.data_points)


@pytest.mark.parametrize("kind", KINDS)
def test_each_chunk_after_the_first_is_told(kind: str) -> None:
    answer = stream(kind, ["x"] * 200)
    (point,) = gaps_of(kind, answer, stream=True)
    assert point.count == len(answer.pieces) - 1
    assert point.attributes[sc.REQUEST_MODEL] == "m"
    assert sc.CONVERSATION_ID not in point.attributes


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_answer_has_no_pace(kind: str) -> None:
    assert gaps_of(kind, whole(kind)) == []
