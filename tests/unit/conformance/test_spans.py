"""Every span that we emit, held against the table of the pinned conventions; what deviates is listed with a reason."""

from __future__ import annotations

from collections.abc import Generator
from functools import cache

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from tests.unit.conformance.conventions import SPANS
from tests.unit.conformance.deviations import LISTED, NEVER
from tests.unit.conformance.judge import Finding, judge, kind_of
from tests.unit.conformance.produce import SCENARIOS, Scenario, produced

from spanseal.telemetry.active import Capture
from spanseal.telemetry.signals.courier import SCOPE
from spanseal.testing import capture_spans


def spans_of(scenario: Scenario, capture: Capture = "full") -> tuple[ReadableSpan, ...]:
    with capture_spans(capture=capture) as captured:
        produced(scenario)
    return tuple(span for span in captured.spans if span.instrumentation_scope == SCOPE)


def findings(capture: Capture) -> Generator[tuple[str, Finding]]:
    for scenario in SCENARIOS:
        for span in spans_of(scenario, capture):
            holds = scenario.holds.get(kind_of(span), frozenset())
            for finding in judge(span, holds, content=capture == "full"):
                yield scenario.name, finding


@cache
def found_with(capture: Capture) -> dict[Finding, set[str]]:
    found: dict[Finding, set[str]] = {}
    for name, finding in findings(capture):
        found.setdefault(finding, set()).add(name)
    return found


@pytest.mark.parametrize("capture", ["full", "off"])
def test_no_deviation_that_is_not_listed(capture: Capture) -> None:
    unlisted = {finding: names for finding, names in found_with(capture).items() if finding not in LISTED}
    assert unlisted == {}


def test_no_listed_deviation_that_is_over() -> None:
    assert set(LISTED) - set(found_with("full")) - set(found_with("off")) == set()


def test_every_kind_is_produced_and_what_is_never_told_is_listed() -> None:
    names: set[str] = set()
    told: dict[str, set[str]] = {kind: set() for kind in SPANS}
    for scenario in SCENARIOS:
        for span in spans_of(scenario):
            told[kind_of(span)] |= set(span.attributes or {})
            names.add(span.name.partition(" ")[0])
    assert all(told.values())
    assert {"step", "control", "verification", "spanseal.manifest", "spanseal.value"} <= names
    never = {(kind, name) for kind, row in SPANS.items() for name in row.levels if name not in told[kind]}
    assert never == set(NEVER)
    assert all([*LISTED.values(), *NEVER.values()])
