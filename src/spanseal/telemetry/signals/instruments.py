"""The instruments: names, units and buckets of the pinned conventions, as data. May import genai's names.

Buckets are the conventions' own; those of call counts, which the conventions leave open, double from 1 to 128.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from spanseal.genai import semconv as sc


@dataclass(frozen=True, slots=True, eq=False)  # compared, and hashed at every measurement, by identity
class Instrument:
    """``bounds`` are the upper bounds of a histogram's buckets; ``whole`` says that values are integers."""

    name: str
    kind: Literal["histogram", "counter"]
    unit: str
    about: str
    bounds: tuple[float, ...] = ()
    whole: bool = False


CALL_SECONDS: Final = tuple(0.01 * 2**power for power in range(14))
AGENT_SECONDS: Final = tuple(0.1 * 2**power for power in range(13))
TOKENS: Final = tuple(float(4**power) for power in range(14))
CALLS: Final = tuple(float(2**power) for power in range(8))


def _seconds(name: str, about: str, bounds: tuple[float, ...] = CALL_SECONDS) -> Instrument:
    return Instrument(name, "histogram", "s", about, bounds)


def _tokens(name: str, about: str) -> Instrument:
    return Instrument(name, "counter", "{token}", about, whole=True)


INFERENCE: Final = _seconds(sc.METRIC_INFERENCE_DURATION, "Duration of model calls, retries included")
FIRST_CHUNK: Final = _seconds(sc.METRIC_TIME_TO_FIRST_CHUNK, "Time from a request to the first chunk of its stream")
NEXT_CHUNK: Final = _seconds(sc.METRIC_TIME_PER_OUTPUT_CHUNK, "Time between a chunk of a stream and the one before")
OPERATION: Final = _seconds(sc.METRIC_OPERATION_DURATION, "Duration of client operations")
TOOL: Final = _seconds(sc.METRIC_TOOL_DURATION, "Duration of tool executions")
AGENT: Final = _seconds(sc.METRIC_AGENT_DURATION, "Duration of agent runs", AGENT_SECONDS)
AGENT_INFERENCES: Final = Instrument(
    sc.METRIC_AGENT_INFERENCE_CALLS, "histogram", "{inference_call}", "Model calls of a run, failed ones too", CALLS,
    whole=True,
)
AGENT_TOOLS: Final = Instrument(
    sc.METRIC_AGENT_TOOL_CALLS, "histogram", "{tool_call}", "Tool calls of a run, failed ones too", CALLS, whole=True
)
SPENT: Final = {
    sc.USAGE_INPUT_TOKENS: _tokens(sc.METRIC_INPUT_TOKENS, "Tokens sent to models, cached ones included"),
    sc.USAGE_OUTPUT_TOKENS: _tokens(sc.METRIC_OUTPUT_TOKENS, "Tokens written by models, reasoning included"),
    sc.USAGE_CACHE_READ_TOKENS: _tokens(sc.METRIC_CACHE_READ_TOKENS, "Input tokens read from a provider's cache"),
    sc.USAGE_CACHE_WRITE_TOKENS: _tokens(sc.METRIC_CACHE_WRITE_TOKENS, "Input tokens written to a provider's cache"),
    sc.USAGE_REASONING_TOKENS: _tokens(sc.METRIC_REASONING_TOKENS, "Output tokens that were reasoning"),
}
"""The counter of each usage attribute."""
EACH: Final = {
    sc.USAGE_INPUT_TOKENS: Instrument(
        sc.METRIC_INPUT_TOKENS_EACH, "histogram", "{token}", "Tokens sent per model call", TOKENS, True
    ),
    sc.USAGE_OUTPUT_TOKENS: Instrument(
        sc.METRIC_OUTPUT_TOKENS_EACH, "histogram", "{token}", "Tokens written per model call", TOKENS, True
    ),
}
"""The histogram over single calls of a usage attribute."""
BEFORE: Final = Instrument(
    sc.METRIC_TOKEN_USAGE_BEFORE, "histogram", "{token}", "Tokens used per model call", TOKENS, True
)
"""The one histogram that the pinned conventions replaced by all of the above."""
ALL: Final = (
    INFERENCE, FIRST_CHUNK, NEXT_CHUNK, OPERATION, TOOL, AGENT, AGENT_INFERENCES, AGENT_TOOLS, *SPENT.values(),
    *EACH.values(), BEFORE,
)
