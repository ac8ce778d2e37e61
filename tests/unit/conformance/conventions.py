"""The pinned GenAI conventions as data: commit 6fd0d763 of semantic-conventions-genai, 2026-10-09, all Development.

Written down from the specification and not from our own module of names, which is what they are to judge. Levels: ``R``
required, ``C`` conditionally required, ``r`` recommended, ``o`` opt-in. Types: ``str``, ``int``, ``float``, ``bool``,
``strs`` (array of strings), ``json`` (structured, or JSON text on spans).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

OPERATIONS: Final = frozenset((
    "chat", "generate_content", "text_completion", "embeddings", "retrieval", "fetch_response", "create_agent",
    "invoke_agent", "execute_tool", "invoke_workflow", "plan", "search_memory", "create_memory", "update_memory",
    "upsert_memory", "delete_memory", "create_memory_store", "delete_memory_store",
))
PROVIDERS: Final = frozenset((
    "openai", "azure.ai.openai", "azure.ai.inference", "anthropic", "aws.bedrock", "gcp.gen_ai", "gcp.vertex_ai",
    "gcp.gemini", "cohere", "ibm.watsonx.ai", "perplexity", "x_ai", "deepseek", "groq", "mistral_ai", "moonshot_ai",
))
WORDS: Final[Mapping[str, frozenset[str]]] = {
    "gen_ai.operation.name": OPERATIONS,
    "gen_ai.provider.name": PROVIDERS | {"ollama", "spanseal.scripted"},  # open; custom values that others use too
    "gen_ai.output.type": frozenset(("text", "json", "image", "speech")),
    "gen_ai.token.modality": frozenset(("text", "image", "audio", "unknown")),
    "gen_ai.response.status": frozenset(("queued", "in_progress", "completed", "incomplete", "failed", "cancelled")),
    "gen_ai.tool.type": frozenset(("function", "extension", "datastore")),
    "openai.api.type": frozenset(("chat_completions", "responses")),
}

_SAMPLING = {
    "gen_ai.request.temperature": "float", "gen_ai.request.top_p": "float", "gen_ai.request.max_tokens": "int",
    "gen_ai.request.stop_sequences": "strs", "gen_ai.request.frequency_penalty": "float",
    "gen_ai.request.presence_penalty": "float", "gen_ai.request.reasoning.level": "str",
}
_USED = {f"gen_ai.usage.{name}": "int" for name in ("input_tokens", "output_tokens", "reasoning.output_tokens")}
_CACHED = {f"gen_ai.usage.cache_{name}.input_tokens": "int" for name in ("read", "write")}
_BY_MODALITY = {
    f"gen_ai.usage.{kind}.{name}": "int" for kind in ("text", "image", "audio")
    for name in ("input_tokens", "output_tokens", "cache_read.input_tokens")
}
_CONTENT = {
    "gen_ai.system_instructions": "json", "gen_ai.input.messages": "json", "gen_ai.output.messages": "json",
    "gen_ai.tool.definitions": "json",
}
TYPES: Final[Mapping[str, str]] = {
    "gen_ai.operation.name": "str", "gen_ai.provider.name": "str", "error.type": "str", "server.address": "str",
    "server.port": "int", "gen_ai.request.model": "str", "gen_ai.conversation.id": "str", "gen_ai.output.type": "str",
    "gen_ai.conversation.compacted": "bool",
    "gen_ai.request.choice.count": "int", "gen_ai.request.seed": "int", "gen_ai.request.stream": "bool",
    "gen_ai.request.top_k": "int", "gen_ai.prompt.name": "str", "gen_ai.prompt.version": "str",
    "gen_ai.request.previous_response.id": "str", "gen_ai.response.id": "str", "gen_ai.response.model": "str",
    "gen_ai.response.finish_reasons": "strs", "gen_ai.response.time_to_first_chunk": "float",
    "gen_ai.response.status": "str",
    "gen_ai.request.encoding_formats": "strs", "gen_ai.embeddings.dimension.count": "int",
    "gen_ai.agent.name": "str", "gen_ai.agent.description": "str", "gen_ai.data_source.id": "str",
    "gen_ai.tool.name": "str", "gen_ai.tool.type": "str", "gen_ai.tool.description": "str",
    "gen_ai.tool.call.id": "str", "gen_ai.tool.call.arguments": "json", "gen_ai.tool.call.result": "json",
    "gen_ai.token.modality": "str",
    "gen_ai.evaluation.name": "str", "gen_ai.evaluation.score.value": "float", "gen_ai.evaluation.score.label": "str",
    "gen_ai.evaluation.explanation": "str", "exception.type": "str", "exception.message": "str",
    "exception.stacktrace": "str",
    "openai.request.service_tier": "str", "openai.response.service_tier": "str",
    "openai.response.system_fingerprint": "str", "openai.api.type": "str",
    **_SAMPLING, **_USED, **_CACHED, **_BY_MODALITY, **_CONTENT,
}


@dataclass(frozen=True)
class Kind:
    """One type of span: its kind, what its name ends with, and the level of each of its attributes."""

    kind: str
    subject: str
    levels: Mapping[str, str]


def _levels(required: str = "", conditional: str = "", recommended: str = "", opt_in: str = "") -> dict[str, str]:
    given = (("R", required), ("C", conditional), ("r", recommended), ("o", opt_in))
    return {
        (name if name.startswith(("server.", "error.", "openai.")) else f"gen_ai.{name}"): level
        for level, names in given for name in names.split()
    }


def _all(level: str, *groups: Mapping[str, str]) -> dict[str, str]:
    return {name: level for group in groups for name in group}


_INFERENCE = {
    **_levels(
        "operation.name provider.name",
        "error.type server.port request.model conversation.id output.type request.choice.count request.seed"
        " request.stream request.top_k prompt.name prompt.version",
        "server.address request.previous_response.id conversation.compacted response.id response.model"
        " response.finish_reasons response.time_to_first_chunk",
    ),
    **_all("r", _SAMPLING, _USED, _CACHED, _BY_MODALITY),
    **_all("o", _CONTENT),
}
_OPENAI = _levels(
    "request.model", "openai.request.service_tier openai.response.service_tier",
    "openai.response.system_fingerprint openai.api.type",
)
_AGENT = {
    **_levels(
        "operation.name",
        "error.type agent.name agent.description conversation.id data_source.id output.type request.choice.count"
        " request.seed",
        "request.model request.top_k response.finish_reasons",
    ),
    **_all("r", _SAMPLING, _USED),
    **_all("o", _CONTENT),
}
SPANS: Final[Mapping[str, Kind]] = {
    "inference": Kind("CLIENT", "gen_ai.request.model", _INFERENCE),
    "inference of openai": Kind("CLIENT", "gen_ai.request.model", {**_INFERENCE, **_OPENAI}),
    "embeddings": Kind("CLIENT", "gen_ai.request.model", _levels(
        "operation.name provider.name", "error.type server.port request.model",
        "server.address request.encoding_formats usage.input_tokens embeddings.dimension.count response.model",
    )),
    "invoke_agent": Kind("INTERNAL", "gen_ai.agent.name", _AGENT),
    "execute_tool": Kind("INTERNAL", "gen_ai.tool.name", _levels(
        "operation.name tool.name", "error.type agent.name conversation.id",
        "tool.call.id tool.description tool.type", "tool.call.arguments tool.call.result",
    )),
    "own": Kind("INTERNAL", "", _levels("", "error.type")),
}
"""``own`` are the spans that the conventions have no type for: step, control, verification, approval, manifest."""

EVENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "gen_ai.client.inference.operation.details": {**_INFERENCE, **_OPENAI},
    "gen_ai.evaluation.result": {
        **_levels("evaluation.name", "evaluation.score.value evaluation.score.label error.type",
                  "evaluation.explanation response.id"),
    },
    "gen_ai.client.operation.exception": {
        **_levels("", "operation.name provider.name request.model"),
        "exception.type": "C", "exception.message": "C", "exception.stacktrace": "r",
    },
}
SEVERITIES: Final = {
    "gen_ai.client.inference.operation.details": "DEBUG", "gen_ai.client.operation.exception": "WARN",
}
