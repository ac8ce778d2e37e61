"""Spanseal makes LLM agents verifiable with OpenTelemetry: watch, check, stop, prove.

Public names load on first use (PEP 562), so that an auditor's import pulls in neither a model client nor the SDK.

>>> import spanseal
>>> spanseal.Message("user", "What is 17 * 23?").role
'user'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "spanseal.adapters.base": ("LLMAdapter",),
    "spanseal.adapters.factory": ("create_adapter",),
    "spanseal.adapters.ollama": ("OllamaAdapter",),
    "spanseal.adapters.openai": ("OpenAIAdapter",),
    "spanseal.agent.build": ("VerifiableAgent",),
    "spanseal.agent.result": ("RunResult",),
    "spanseal.audit.audit_store": ("AuditStore",),
    "spanseal.control.action": ("Action", "FinalAnswer", "ModelAnswer", "ModelCall", "Seam", "ToolAnswer", "ToolUse"),
    "spanseal.control.plane": ("ControlPlane",),
    "spanseal.control.policies.max_steps": ("MaxStepsPolicy",),
    "spanseal.control.policies.spool_health": ("SpoolHealthPolicy",),
    "spanseal.control.policies.token_budget": ("TokenBudgetPolicy",),
    "spanseal.control.policies.tool_allow_list": ("ToolAllowListPolicy",),
    "spanseal.control.policies.tool_first": ("ToolFirstPolicy",),
    "spanseal.control.policy": ("ControlDecision", "ControlPolicy", "ControlResult"),
    "spanseal.effects": ("Effects",),
    "spanseal.errors": ("SpansealError",),
    "spanseal.genai.chat_model": ("ChatModel",),
    "spanseal.genai.messages": (
        "ChatRequest", "Chunk", "LLMResponse", "Message", "ToolCall", "ToolResult", "ToolSpec", "Usage",
    ),
    "spanseal.genai.state": ("AgentState", "ToolOutcome"),
    "spanseal.replay.reader": ("RecordedCall", "RunReader", "replay_llm_calls"),
    "spanseal.telemetry.configure": ("configure", "flush", "health", "shutdown"),
    "spanseal.telemetry.instrument": ("instrument", "uninstrument"),
    "spanseal.telemetry.propagation.bind": ("bind",),
    "spanseal.telemetry.run_span": ("RunSpan", "run_span"),
    "spanseal.tools.executor": ("current_call",),
    "spanseal.tools.tool": ("Tool", "tool"),
    "spanseal.verification.check": ("VerificationCheck", "VerificationReport", "VerificationResult"),
    "spanseal.verification.checks.complete": ("CompleteCheck",),
    "spanseal.verification.checks.forbidden_phrase": ("ForbiddenPhraseCheck",),
    "spanseal.verification.checks.json_schema": ("JSONSchemaCheck",),
    "spanseal.verification.checks.max_length": ("MaxLengthCheck",),
    "spanseal.verification.checks.not_empty": ("NotEmptyCheck",),
    "spanseal.verification.checks.valid_json": ("ValidJSONCheck",),
    "spanseal.verification.pipeline": ("VerificationPipeline",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

if TYPE_CHECKING:
    from spanseal.adapters.base import LLMAdapter
    from spanseal.adapters.factory import create_adapter
    from spanseal.adapters.ollama import OllamaAdapter
    from spanseal.adapters.openai import OpenAIAdapter
    from spanseal.agent.build import VerifiableAgent
    from spanseal.agent.result import RunResult
    from spanseal.audit.audit_store import AuditStore
    from spanseal.control.action import Action, FinalAnswer, ModelAnswer, ModelCall, Seam, ToolAnswer, ToolUse
    from spanseal.control.plane import ControlPlane
    from spanseal.control.policies.max_steps import MaxStepsPolicy
    from spanseal.control.policies.spool_health import SpoolHealthPolicy
    from spanseal.control.policies.token_budget import TokenBudgetPolicy
    from spanseal.control.policies.tool_allow_list import ToolAllowListPolicy
    from spanseal.control.policies.tool_first import ToolFirstPolicy
    from spanseal.control.policy import ControlDecision, ControlPolicy, ControlResult
    from spanseal.effects import Effects
    from spanseal.errors import SpansealError
    from spanseal.genai.chat_model import ChatModel
    from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse, Message, ToolCall, ToolResult, ToolSpec, Usage
    from spanseal.genai.state import AgentState, ToolOutcome
    from spanseal.replay.reader import RecordedCall, RunReader, replay_llm_calls
    from spanseal.telemetry.configure import configure, flush, health, shutdown
    from spanseal.telemetry.instrument import instrument, uninstrument
    from spanseal.telemetry.propagation.bind import bind
    from spanseal.telemetry.run_span import RunSpan, run_span
    from spanseal.tools.executor import current_call
    from spanseal.tools.tool import Tool, tool
    from spanseal.verification.check import VerificationCheck, VerificationReport, VerificationResult
    from spanseal.verification.checks.complete import CompleteCheck
    from spanseal.verification.checks.forbidden_phrase import ForbiddenPhraseCheck
    from spanseal.verification.checks.json_schema import JSONSchemaCheck
    from spanseal.verification.checks.max_length import MaxLengthCheck
    from spanseal.verification.checks.not_empty import NotEmptyCheck
    from spanseal.verification.checks.valid_json import ValidJSONCheck
    from spanseal.verification.pipeline import VerificationPipeline

__all__ = [  # noqa: RUF022 - in the order of the modules above, not of the alphabet
    "LLMAdapter", "create_adapter", "OllamaAdapter", "OpenAIAdapter",
    "VerifiableAgent", "RunResult", "AuditStore",
    "Action", "FinalAnswer", "ModelAnswer", "ModelCall", "Seam", "ToolAnswer", "ToolUse",
    "ControlPlane", "MaxStepsPolicy", "SpoolHealthPolicy", "TokenBudgetPolicy", "ToolAllowListPolicy",
    "ToolFirstPolicy",
    "ControlDecision", "ControlPolicy", "ControlResult",
    "Effects", "SpansealError",
    "ChatModel", "ChatRequest", "Chunk", "LLMResponse", "Message", "ToolCall", "ToolResult", "ToolSpec", "Usage",
    "AgentState", "ToolOutcome",
    "RecordedCall", "RunReader", "replay_llm_calls",
    "configure", "flush", "health", "shutdown", "instrument", "uninstrument", "bind", "RunSpan", "run_span",
    "Tool", "tool", "current_call",
    "VerificationCheck", "VerificationReport", "VerificationResult", "VerificationPipeline",
    "CompleteCheck", "ForbiddenPhraseCheck", "JSONSchemaCheck", "MaxLengthCheck", "NotEmptyCheck", "ValidJSONCheck",
]


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'spanseal' has no attribute {name!r}")
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
