"""The public names are there, and an auditor's import stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spanseal


@pytest.mark.parametrize("name", spanseal.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(spanseal, name) is not None


@pytest.mark.parametrize("name", sorted(set(spanseal.__all__) - {"Action", "Seam"}))  # these two are unions of others
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(spanseal, name).__doc__ or "")


def test_no_public_name_is_missing_from_the_list() -> None:
    homes = spanseal._HOMES  # pyright: ignore[reportPrivateUsage] - held against the list that users read
    assert sorted(spanseal.__all__) == sorted(name for names in homes.values() for name in names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = getattr(spanseal, "nonsense")  # noqa: B009


@pytest.mark.parametrize(
    "code",
    [
        "import spanseal",
        "import spanseal.audit",
        "import spanseal.replay",
        "from spanseal import AuditStore",
        "from spanseal import RunReader, replay_llm_calls",
    ],
)
def test_an_auditor_imports_neither_clients_nor_the_sdk(code: str) -> None:
    heavy = "openai ollama httpx httpx2 opentelemetry starlette uvicorn typer"
    probe = f"{code}\nimport sys\nprint([name for name in {heavy.split()!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
