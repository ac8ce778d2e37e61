"""Processes under load, killed at random moments, while the server comes and goes: nothing acknowledged is missing.

Twenty kills in the quick run, a thousand by ``make soak``.
"""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest
from tests.unit.telemetry.export.flaky_server import flaky_server
from tests.unit.telemetry.export.kill_kit import adopt_the_rest, campaign, lines_in

SOAK = bool(os.environ.get("SPANSEAL_SOAK"))
QUIET = {"OTEL_METRICS_EXPORTER": "none", "SPANSEAL_METRICS": "off"}


@pytest.mark.parametrize("seed", range(10 if SOAK else 1))
def test_kills_with_a_server_that_comes_and_goes(tmp_path: Path, seed: int) -> None:
    spool = tmp_path / "spool"
    environ = {"SPANSEAL_SPOOL_DIR": str(spool), "SPANSEAL_GROUP_MS": "5", "SPANSEAL_STATE_DIR": str(tmp_path), **QUIET}
    with flaky_server(tmp_path / "server", seed) as url:
        outcome = campaign(url, tmp_path, 100 if SOAK else 14, seed, environ)
        (tmp_path / "server" / "calm").touch()
        adopt_the_rest(url, spool, environ)
    for body in (tmp_path / "server" / "bodies").read_bytes().splitlines():
        outcome.see(orjson.loads(body))
    outcome.check()
    assert outcome.open, "nobody died with a span open"


@pytest.mark.parametrize("seed", range(2 if SOAK else 1))
def test_kills_with_a_folder(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "spans"
    environ = {"SPANSEAL_GROUP_MS": "5", "SPANSEAL_STATE_DIR": str(tmp_path), **QUIET}
    outcome = campaign(str(folder), tmp_path, 100 if SOAK else 6, 1000 + seed, environ)
    adopt_the_rest(str(folder), folder, environ)
    for document in lines_in(folder):
        outcome.see(document)
    outcome.check()
    assert not list(folder.glob(".started-*"))
