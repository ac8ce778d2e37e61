"""The policy that halts a run whose evidence cannot be kept; the last test with a real run on a spool that is full."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spanseal import ControlPlane, SpoolHealthPolicy, VerifiableAgent, configure, tool
from spanseal.errors import SettingsError
from spanseal.genai.state import AgentState
from spanseal.telemetry.configure import health, shutdown
from spanseal.telemetry.export.sink import Health
from spanseal.testing import ScriptedModel

CALL = '{"action": "look", "input": {}}'


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (Health(), ""),
        (Health(backlog_bytes=100, refused=3), ""),
        (Health(backlog_bytes=101), "101 bytes of spans wait"),
        (Health(lost=1), ""),
        (Health(lost=2), "spans of this process are lost: 2"),
        (Health(ok=False), "spans cannot be kept"),
    ],
)
def test_what_halts(found: Health, reason: str) -> None:
    decided = SpoolHealthPolicy(most_lost=1, most_backlog_bytes=100, health=lambda: found).evaluate(AgentState())
    assert decided.decision.value == ("halt" if reason else "allow")
    assert decided.reason.startswith(reason)


def test_bounds_are_checked() -> None:
    with pytest.raises(SettingsError, match="most_lost"):
        SpoolHealthPolicy(most_lost=-1)
    with pytest.raises(SettingsError, match="most_backlog_bytes"):
        SpoolHealthPolicy(most_backlog_bytes=0)


def test_a_run_halts_when_its_spool_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is a closed port; a tool result of 70 kB does not fit into a spool of 64 kB."""

    @tool
    def look() -> str:
        """Look at something large."""
        return "x" * 70_000

    for name, value in (("FULL", "fail"), ("MAX_BYTES", "65536"), ("DIR", str(tmp_path))):
        monkeypatch.setenv(f"SPANSEAL_SPOOL_{name}", value)
    monkeypatch.setenv("SPANSEAL_METRICS", "off")
    configure("shop", export="http://127.0.0.1:9", capture="full")
    try:
        agent = VerifiableAgent(
            ScriptedModel([CALL] * 5), tools=[look], protocol="json", control=ControlPlane([SpoolHealthPolicy()])
        )
        result = agent.run("What is there?")
        assert not health().ok
    finally:
        shutdown()
    assert (result.outcome, result.steps) == ("halted", 2)
    assert re.search(r"spans of this process are lost: [1-9]", str(result.stop_reason))
