"""Every deviation from the pinned conventions, with its reason. One that is not here, or is over, is a failure."""

from __future__ import annotations

from typing import Final

_TEXT = (
    "Jaeger's GenAI tab, and most viewers, read content as JSON text; it is allowed as such. On events it is structured"
)
_FINISH = "viewers of conventions before the pin read it there; gen_ai.response.finish_reasons says the same"
_TOOLS = "a call is rebuilt from it to the byte; it is content and recorded only where that was asked for"
_AGENT_NAME = "the ledger's stamp: a run whose root was lost with its process still says whose it is"
LISTED: Final[dict[tuple[str, str], str]] = {
    ("inference", "content is JSON text, though structure is possible"): _TEXT,
    ("inference of openai", "content is JSON text, though structure is possible"): _TEXT,
    ("invoke_agent", "content is JSON text, though structure is possible"): _TEXT,
    ("execute_tool", "content is JSON text, though structure is possible"): _TEXT,
    ("inference", "gen_ai.output.messages: has the deprecated finish_reason"): _FINISH,
    ("inference of openai", "gen_ai.output.messages: has the deprecated finish_reason"): _FINISH,
    ("invoke_agent", "gen_ai.output.messages: has the deprecated finish_reason"): _FINISH,
    ("inference", "gen_ai.tool.definitions: has members that are not recommended by default"): _TOOLS,
    ("inference of openai", "gen_ai.tool.definitions: has members that are not recommended by default"): _TOOLS,
    ("invoke_agent", "gen_ai.tool.definitions: has members that are not recommended by default"): _TOOLS,
    ("inference", "gen_ai.agent.name: not of this type"): _AGENT_NAME,
    ("own", "gen_ai.agent.name: not of this type"): _AGENT_NAME,
    ("inference", "openai.api.type: not of this type"): (
        "an adapter of the user's own under another provider's name is recorded in the wire format of OpenAI's chat"
    ),
    ("inference of openai", "gen_ai.response.status: not of this type"): (
        "the Responses API says queued, in_progress or incomplete here, which no finish reason says; the pin has the "
        "name, for reading a response back"
    ),
    ("inference of openai", "gen_ai.input.messages: a reference in place of a large value"): (
        "a value over the size policy lies in spans of its own; a part of it here would be no JSON, or another message"
    ),
    ("execute_tool", "gen_ai.tool.call.result: no JSON"): (
        "the text is what the model is given; to quote it would change it"
    ),
    ("execute_tool", "gen_ai.tool.call.result: not the shape of its schema"): (
        "a tool may return a number or a list; wrapped in an object it would be another result"
    ),
    ("invoke_agent", "gen_ai.usage.cache_read.input_tokens: not of this type"): (
        "the sum over the run's calls, by which its cost can be told"
    ),
    ("invoke_agent", "gen_ai.usage.cache_write.input_tokens: not of this type"): (
        "the sum over the run's calls, by which its cost can be told"
    ),
}
"""By kind of span: what deviates, and why."""

_MODALITY = "no wire format here tells every modality; what the provider told is in the recorded response"
_NOT_THERE = "Ollama's API has nothing of the kind"
_NOT_TOLD = "no provider behind these formats tells it"
_NO_OPTION = "an agent has no such option; each call tells its own"
NEVER: Final[dict[tuple[str, str], str]] = {
    **{
        (kind, f"gen_ai.usage.{modality}.{name}"): _MODALITY
        for kind in ("inference", "inference of openai") for modality in ("text", "image", "audio")
        for name in ("input_tokens", "output_tokens", "cache_read.input_tokens")
    },
    **{
        ("inference", f"gen_ai.{name}"): _NOT_THERE
        for name in (
            "request.choice.count", "prompt.name", "prompt.version", "request.previous_response.id",
            "conversation.compacted",
        )
    },
    ("inference of openai", "gen_ai.usage.cache_write.input_tokens"): _NOT_TOLD,
    **{
        ("invoke_agent", f"gen_ai.{name}"): _NO_OPTION
        for name in (
            "data_source.id", "output.type", "request.choice.count", "request.top_k", "request.top_p",
            "request.frequency_penalty", "request.presence_penalty", "request.reasoning.level",
        )
    },
}
"""Attributes of the table that we never tell."""
