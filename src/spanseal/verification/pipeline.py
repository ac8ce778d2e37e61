"""Runs checks on an answer, in a span with one evaluation event per check. Imports telemetry.

A failed verification is a verdict, and the span's status tells it: ERROR with ``error.type`` ``verification_failed``.
Warnings leave the status alone.

>>> from spanseal.verification.checks.not_empty import NotEmptyCheck
>>> VerificationPipeline([NotEmptyCheck()]).run(LLMResponse(" ", "m")).passed
False
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opentelemetry.trace import Span

from spanseal.errors import UsageError, told
from spanseal.genai import semconv
from spanseal.genai.messages import LLMResponse
from spanseal.telemetry.content.attributes import set_digest
from spanseal.telemetry.signals.events import emit_event
from spanseal.telemetry.spans.failure import fail
from spanseal.telemetry.spans.inner import add_event, open_span, tell
from spanseal.verification.check import VerificationCheck, VerificationReport, VerificationResult

_ERROR_TYPE: Final = "error_type"


class VerificationPipeline:
    """Checks in order. ``fail_fast`` stops at the first failure of severity ``error``; otherwise all run.

    >>> from spanseal.verification.checks.max_length import MaxLengthCheck
    >>> VerificationPipeline([MaxLengthCheck(2)]).run(LLMResponse("391", "m")).failed[0].check_name
    'max_length'
    """

    def __init__(
        self, checks: Sequence[VerificationCheck] = (), fail_fast: bool = True, name: str = "default"
    ) -> None:
        if not isinstance(checks, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise UsageError(f"VerificationPipeline: checks is a list of checks, not {type(checks).__name__}")
        for check in checks:
            if not isinstance(check, VerificationCheck):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
                raise UsageError(f"VerificationPipeline: {check!r} is no VerificationCheck; pass an instance")
        self.checks = tuple(checks)
        self.fail_fast = fail_fast
        self.name = name

    def having(self, *first: VerificationCheck) -> VerificationPipeline:
        """A pipeline with these checks before its own."""
        return VerificationPipeline((*first, *self.checks), self.fail_fast, self.name)

    def run(self, response: LLMResponse) -> VerificationReport:
        """The verdict of all checks on ``response``. Never raises for a check's sake."""
        with open_span(self._span_name) as span:
            results: list[VerificationResult] = []
            for check in self.checks:
                try:
                    results.append(_whole(check, check.check(response)))
                except Exception as error:  # noqa: BLE001 - a check that raises is a failed check
                    results.append(_raised(check, error))
                if self.fail_fast and results[-1].fails:
                    break
            return self._report(span, response, results)

    async def arun(self, response: LLMResponse) -> VerificationReport:
        """The same, awaiting each check."""
        with open_span(self._span_name) as span:
            results: list[VerificationResult] = []
            for check in self.checks:
                try:
                    results.append(_whole(check, await check.acheck(response)))
                except Exception as error:  # noqa: BLE001 - a check that raises is a failed check
                    results.append(_raised(check, error))
                if self.fail_fast and results[-1].fails:
                    break
            return self._report(span, response, results)

    @property
    def _span_name(self) -> str:
        return semconv.SPAN_VERIFICATION.format(pipeline=self.name)

    def _report(
        self, span: Span, response: LLMResponse, results: list[VerificationResult]
    ) -> VerificationReport:
        set_digest(span, semconv.VERIFICATION_INPUT, response.text)
        skipped = tuple(check.name for check in self.checks[len(results):])
        report = VerificationReport(tuple(results), self.name, skipped)
        for result in results:
            clear = {
                semconv.EVALUATION_NAME: result.check_name,
                semconv.EVALUATION_SCORE_LABEL: "pass" if result.passed else "fail",
                semconv.CHECK_SEVERITY: result.severity,
            }
            if response.response_id:  # whose answer was judged: the event belongs to the span of the judging
                clear[semconv.RESPONSE_ID] = response.response_id
            if _ERROR_TYPE in result.details:
                clear[semconv.ERROR_TYPE] = str(result.details[_ERROR_TYPE])
            content = {semconv.EVALUATION_EXPLANATION: result.message}
            add_event(span, semconv.EVENT_EVALUATION_RESULT, clear, content)
            emit_event(span, semconv.EVENT_EVALUATION_RESULT, clear, content)
        tell(span, {
            semconv.VERIFICATION_PIPELINE: self.name, semconv.VERIFICATION_PASSED: report.passed,
            semconv.VERIFICATION_CHECKS_RUN: len(results),
            semconv.VERIFICATION_CHECKS_FAILED: [r.check_name for r in results if not r.passed],
        })
        if not report.passed:
            fail(span, semconv.ERROR_VERIFICATION_FAILED, report.reason)
        return report


def _whole(check: VerificationCheck, result: object) -> VerificationResult:
    if isinstance(result, VerificationResult):
        return result
    return VerificationResult(False, check.name, f"the check gave {type(result).__name__}, not a VerificationResult")


def _raised(check: VerificationCheck, error: Exception) -> VerificationResult:
    """A broken check says nothing about the answer: it fails whatever its severity, and names its error."""
    message = f"the check itself failed: {told(error)}"
    return VerificationResult(False, check.name, message, "error", {_ERROR_TYPE: type(error).__name__})
