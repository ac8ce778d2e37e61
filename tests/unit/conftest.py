"""Unit tests touch no network, no state of the user and no setting of the machine."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
import pytest_socket
from hypothesis import HealthCheck, settings
from opentelemetry import context

# how fast an example is says nothing on a shared machine; pytest's own time limit stops what hangs
settings.register_profile("unit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unit")


@pytest.fixture(autouse=True)
def _no_network() -> None:  # pyright: ignore[reportUnusedFunction] - pytest finds it by decorator
    pytest_socket.disable_socket(allow_unix_socket=True)  # asyncio's own wake-up needs a socket pair


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:  # pyright: ignore[reportUnusedFunction]
    for name in list(os.environ):
        if name.startswith(("SPANSEAL_", "OTEL_", "OPENAI_", "OLLAMA_", "AZURE_OPENAI_")) and name != "SPANSEAL_SOAK":
            monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)  # as wide as the terminal that the tests run in, or its workers
    state = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("SPANSEAL_STATE_DIR", str(state))
    return state


@pytest.fixture(autouse=True)
def _no_context_left() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    """A span or run that a test leaves current would be the parent of every span of the tests behind it."""
    yield
    left = dict(context.get_current())
    if left:
        context.attach(context.Context())
    assert not left
