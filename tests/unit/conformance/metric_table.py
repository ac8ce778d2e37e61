"""The pinned conventions' metrics as data: instrument, unit, buckets, attributes with their levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Row:
    """``levels`` as in :mod:`tests.unit.conformance.conventions`."""

    instrument: str
    unit: str
    buckets: tuple[float, ...]
    levels: Mapping[str, str]


SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
AGENT_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
CALLS = (1, 2, 4, 8, 16, 32, 64, 128)
_G = {
    "gen_ai.operation.name": "R", "gen_ai.provider.name": "R", "gen_ai.request.model": "C", "server.port": "C",
    "gen_ai.response.model": "r", "server.address": "r",
}
_ERROR = {"error.type": "C"}
_MODALITY = {"gen_ai.token.modality": "R"}
_AGENT = {"gen_ai.agent.name": "C"}


def _inference(name: str) -> str:
    return f"gen_ai.client.inference.{name}"


TABLE: Final[Mapping[str, Row]] = {
    _inference("duration"): Row("histogram", "s", SECONDS, {**_G, **_ERROR}),
    _inference("time_to_first_chunk"): Row("histogram", "s", SECONDS, _G),
    _inference("time_per_output_chunk"): Row("histogram", "s", SECONDS, _G),
    "gen_ai.client.operation.duration": Row("histogram", "s", SECONDS, {**_G, **_ERROR}),
    **{
        _inference(f"usage.{name}"): Row("counter", "{token}", (), {**_G, **_MODALITY})
        for name in (
            "input_tokens", "output_tokens", "cache_read.input_tokens", "cache_write.input_tokens",
            "reasoning.output_tokens",
        )
    },
    _inference("operation.input_tokens"): Row("histogram", "{token}", TOKENS, _G),
    _inference("operation.output_tokens"): Row("histogram", "{token}", TOKENS, _G),
    "gen_ai.execute_tool.duration": Row(
        "histogram", "s", SECONDS, {"gen_ai.tool.name": "R", "gen_ai.tool.type": "r", **_AGENT, **_ERROR}
    ),
    "gen_ai.invoke_agent.duration": Row(
        "histogram", "s", AGENT_SECONDS, {**_AGENT, "gen_ai.request.model": "C", **_ERROR}
    ),
    "gen_ai.invoke_agent.inference_calls": Row("histogram", "{inference_call}", CALLS, _AGENT),
    "gen_ai.invoke_agent.tool_calls": Row("histogram", "{tool_call}", CALLS, _AGENT),
}
NOT_OURS: Final = (
    "gen_ai.invoke_workflow.duration",  # we have no workflows
    "gen_ai.server.request.duration", "gen_ai.server.time_per_output_token", "gen_ai.server.time_to_first_token",
    "mcp.client.operation.duration", "mcp.server.operation.duration", "mcp.client.session.duration",
    "mcp.server.session.duration",
)
REMOVED: Final = "gen_ai.client.token.usage"
