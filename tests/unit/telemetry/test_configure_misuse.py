"""What a caller gets wrong about configure() is named at once; where the process goes to later changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.telemetry.processes import spans_in

from spanseal.errors import SettingsError
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.configure import configure, shutdown
from spanseal.telemetry.run_span import run_span


@pytest.fixture(autouse=True)
def _switched_off() -> object:  # pyright: ignore[reportUnusedFunction] - pytest finds it by decorator
    yield
    shutdown()
    activate(None)


@pytest.mark.parametrize(("arguments", "said"), [
    ({"export": 5}, r"export=…\): 5 is no folder or URL"), ({"export": b"x"}, "no folder or URL"),
    ({"export": ["x"]}, "no folder or URL"), ({"export": "a\0b"}, "no folder or URL"), ({"config": 5}, "no path"),
    ({"export": "localhost:4318"}, "write http://localhost:4318"), ({"export": "collector:4318/x"}, "looks like"),
    ({"service_name": 5}, "no name"), ({"service_name": " "}, "no name"), ({"effects": object()}, "give Effects"),
])
def test_a_wrong_argument_is_named_and_nothing_is_switched_on(
    arguments: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=said):
        configure(**cast("Any", arguments))
    assert not active().configured
    assert list(tmp_path.iterdir()) == []


def test_a_tilde_is_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    configure("a", export="~/spans")
    configure("a", export=tmp_path / "spans")
    with run_span("agent"):
        pass
    assert len(spans_in(tmp_path / "spans")) == 1


def test_the_process_may_change_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    configure("a", export="spans")
    monkeypatch.chdir(tmp_path / "there")
    configure("a", export="../spans")  # the same folder
    with run_span("agent"):
        pass
    assert len(spans_in(tmp_path / "spans")) == 1


@pytest.mark.parametrize("variable", ["SPANSEAL_SPOOL_DIR", "SPANSEAL_STATE_DIR"])
def test_a_relative_spool_stays_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "kept")
    configure("a", export="http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path / "there")
    with run_span("agent"):
        pass
    shutdown()
    assert list((tmp_path / "there").iterdir()) == []
    assert len(list((tmp_path / "kept").rglob("*.jsonl"))) == 1
