"""What a check is, what it finds, and what a pipeline reports. Values only; no telemetry.

>>> class Polite(VerificationCheck):
...     def check(self, response):
...         return self.passed() if "please" in response.text else self.failed("say please")
>>> Polite().check(LLMResponse("now!", "m")).message
'say please'
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from spanseal.errors import UsageError
from spanseal.genai.messages import LLMResponse

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The verdict of one check. ``message`` says what was wrong and what is expected: it is the model's feedback.

    Only a failed result of severity ``error`` fails the pipeline; ``warning`` and ``info`` are recorded.

    >>> VerificationResult(False, "length", "too long", "warning").fails
    False
    """

    passed: bool
    check_name: str
    message: str = ""
    severity: Severity = "error"
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if self.severity not in get_args(Severity):
            raise UsageError(f"{self.check_name}: severity is info, warning or error, not {self.severity!r}")

    @property
    def fails(self) -> bool:
        """True when this result alone fails the pipeline."""
        return not self.passed and self.severity == "error"


class VerificationCheck(ABC):
    """One explicit condition on an answer. ``name`` is the class name in snake case unless set.

    >>> class HasNumberCheck(VerificationCheck):
    ...     def check(self, response):
    ...         return self.passed() if any(map(str.isdigit, response.text)) else self.failed("give digits")
    >>> HasNumberCheck().check(LLMResponse("many", "m")).check_name
    'has_number'
    """

    name: str = ""
    severity: Severity = "error"

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if not cls.__dict__.get("name"):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower()
            cls.name = cls.name.removesuffix("_check")

    @abstractmethod
    def check(self, response: LLMResponse) -> VerificationResult:
        """The verdict on ``response``. An exception counts as a failed check that names it."""

    async def acheck(self, response: LLMResponse) -> VerificationResult:
        """The same, awaitable; override it when the check itself waits (a model as judge)."""
        return self.check(response)

    def passed(self, message: str = "", **details: Any) -> VerificationResult:
        """A passed result of this check."""
        return VerificationResult(True, self.name, message, self.severity, details)

    def failed(self, message: str, **details: Any) -> VerificationResult:
        """A failed result of this check; say what is wrong and what is expected."""
        return VerificationResult(False, self.name, message, self.severity, details)


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """What a pipeline found. ``skipped`` names checks that did not run because an earlier one failed.

    >>> VerificationReport((VerificationResult(False, "json", "no JSON"),)).reason
    'json: no JSON'
    """

    results: tuple[VerificationResult, ...] = ()
    pipeline: str = "default"
    skipped: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True when no check of severity ``error`` failed."""
        return not any(result.fails for result in self.results)

    @property
    def failed(self) -> tuple[VerificationResult, ...]:
        """The results that failed the pipeline."""
        return tuple(result for result in self.results if result.fails)

    @property
    def warnings(self) -> tuple[VerificationResult, ...]:
        """Failed results that do not fail the pipeline."""
        return tuple(result for result in self.results if not result.passed and not result.fails)

    @property
    def reason(self) -> str:
        """The failures in one line, "" when it passed."""
        return "; ".join(f"{result.check_name}: {result.message}" for result in self.failed)

    def feedback(self) -> str:
        """What the model is told before it tries again: each failure by name, and what to do."""
        lines = [f"- {result.check_name}: {result.message}" for result in self.failed]
        if not lines:
            return ""
        return "\n".join(["Your last answer was not accepted:", *lines, "Answer again and correct exactly this."])
