"""Pipelines: severity, fail-fast, broken checks, feedback and the span that records it all."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.agent.support import attributes, is_error, recorded

from spanseal.errors import UsageError
from spanseal.genai import semconv
from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import Severity, VerificationCheck, VerificationReport, VerificationResult
from spanseal.verification.checks.max_length import MaxLengthCheck
from spanseal.verification.checks.not_empty import NotEmptyCheck
from spanseal.verification.pipeline import VerificationPipeline


class Says(VerificationCheck):
    def __init__(self, name: str, passes: bool, severity: Severity = "error") -> None:
        self.name, self.passes, self.severity = name, passes, severity

    def check(self, response: LLMResponse) -> VerificationResult:
        return self.passed() if self.passes else self.failed(f"{self.name} is wrong")


class Broken(VerificationCheck):
    severity = "info"

    def check(self, response: LLMResponse) -> VerificationResult:
        raise LookupError("no dictionary")


class Odd(VerificationCheck):
    severity = "critical"  # type: ignore[assignment] # pyright: ignore - a user's mistake: would it pass silently?

    def check(self, response: LLMResponse) -> VerificationResult:
        return self.failed("wrong")


class Sloppy(VerificationCheck):
    def check(self, response: LLMResponse) -> VerificationResult:
        return True  # type: ignore[return-value] - a user's mistake


ANSWER = LLMResponse("x", "m")


def run(pipeline: VerificationPipeline, mode: str = "sync") -> VerificationReport:
    return pipeline.run(ANSWER) if mode == "sync" else asyncio.run(pipeline.arun(ANSWER))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_fail_fast_stops_at_the_first_error_and_names_what_was_skipped(mode: str) -> None:
    checks = [Says("a", True), Says("b", False, "warning"), Says("c", False), Says("d", False)]
    report = run(VerificationPipeline(checks), mode)
    assert [result.check_name for result in report.results] == ["a", "b", "c"]
    assert report.skipped == ("d",)
    assert [result.check_name for result in report.failed] == ["c"]
    assert [result.check_name for result in report.warnings] == ["b"]
    everything = run(VerificationPipeline(checks, fail_fast=False), mode)
    assert [result.check_name for result in everything.failed] == ["c", "d"]
    assert everything.skipped == ()


@pytest.mark.parametrize("severity", ["info", "warning"])
def test_only_errors_fail(severity: Severity) -> None:
    report = run(VerificationPipeline([Says("a", False, severity)]))
    assert report.passed
    assert report.feedback() == ""


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(("check", "words"), [
    (Broken(), "the check itself failed: LookupError: no dictionary"),
    (Odd(), "severity is info, warning or error, not 'critical'"),
    (Sloppy(), "the check gave bool, not a VerificationResult"),
])
def test_a_broken_check_is_a_failed_check_whatever_its_severity(
    check: VerificationCheck, words: str, mode: str
) -> None:
    report = run(VerificationPipeline([check]), mode)
    assert not report.passed
    assert words in report.feedback()


def test_a_judge_that_waits_is_awaited() -> None:
    class Judge(VerificationCheck):
        def check(self, response: LLMResponse) -> VerificationResult:
            raise AssertionError("the awaitable one is used")

        async def acheck(self, response: LLMResponse) -> VerificationResult:
            await asyncio.sleep(0)
            return self.passed()

    assert run(VerificationPipeline([Judge()]), "async").passed


def test_feedback_names_every_failure_and_what_is_expected() -> None:
    pipeline = VerificationPipeline([MaxLengthCheck(1), NotEmptyCheck()], fail_fast=False)
    feedback = pipeline.run(LLMResponse("  ", "m")).feedback()
    assert "- max_length: the answer has 2 characters; expected are at most 1" in feedback
    assert "- not_empty: the answer is empty; expected is a text" in feedback


def test_the_span_carries_one_event_per_check_and_the_truth_as_status() -> None:
    with recorded() as spans:
        run(VerificationPipeline([Says("a", True), Says("b", False, "warning"), Says("c", False)], name="rules"))
        run(VerificationPipeline([Says("a", True)], name="good"))
    span = spans.one("verification rules")
    assert is_error(span)
    found = attributes(span)
    assert found[semconv.ERROR_TYPE] == "verification_failed"
    assert found[semconv.VERIFICATION_PASSED] is False
    assert found[semconv.VERIFICATION_CHECKS_RUN] == 3
    assert found[semconv.VERIFICATION_CHECKS_FAILED] == ("b", "c")
    assert [event.name for event in span.events] == [semconv.EVENT_EVALUATION_RESULT] * 3
    assert dict(span.events[2].attributes or {}) == {
        semconv.EVALUATION_NAME: "c", semconv.EVALUATION_SCORE_LABEL: "fail", semconv.CHECK_SEVERITY: "error",
        semconv.EVALUATION_EXPLANATION: "c is wrong",
    }
    assert not is_error(spans.one("verification good"))


def test_without_capture_only_verdicts_are_recorded() -> None:
    with recorded("off") as spans:
        run(VerificationPipeline([Says("c", False)]))
    (event,) = spans.one("verification default").events
    assert semconv.EVALUATION_EXPLANATION not in (event.attributes or {})
    assert spans.one("verification default").status.description is None


def test_names_come_from_classes() -> None:
    class HTMLFreeCheck(NotEmptyCheck):
        pass

    assert (HTMLFreeCheck().name, NotEmptyCheck().name, Broken().name) == ("html_free", "not_empty", "broken")


def test_a_class_instead_of_an_instance_is_refused() -> None:
    with pytest.raises(UsageError, match="pass an instance"):
        VerificationPipeline([NotEmptyCheck])  # type: ignore[list-item] - the mistake under test
