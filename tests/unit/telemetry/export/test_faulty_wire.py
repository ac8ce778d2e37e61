"""What each misbehaving server gets: a verdict in bounded time. The exchanges run in ``faulty_wire``, on sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.unit.telemetry.export import faulty_wire


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("wire")
    done = subprocess.run(
        [sys.executable, "-m", faulty_wire.__name__, str(folder)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("case", "verdict", "words"),
    [
        ("never answers", "later", "TimeoutError"),
        ("drips its head", "later", "TimeoutError"),
        ("drips its content", "later", "TimeoutError"),
        ("hangs up", "later", "RemoteDisconnected"),
        ("hangs up in the head", "later", ""),
        ("hangs up in the content", "later", "IncompleteRead"),
        ("no HTTP", "later", "BadStatusLine"),
        ("a login page", "later", "the answer is no OTLP (text/html): is this the right URL?"),
        ("an endless content", "later", "the answer is no OTLP"),
        ("empty", "taken", ""),
        ("protobuf", "taken", ""),
        ("in part", "partly", "3 spans refused: too old"),
        ("late", "later", "HTTP 429"),
        ("redirect", "refused", "is not followed"),
        ("gzip", "taken", ""),
        ("mtls", "taken", ""),
        ("mtls without a certificate", "later", ""),
        ("an unknown authority", "later", "CERTIFICATE_VERIFY_FAILED"),
        ("no such file", "later", "FileNotFoundError"),
    ],
)
def test_each_has_its_verdict_in_bounded_time(said: dict[str, Any], case: str, verdict: str, words: str) -> None:
    found = said[case]
    assert found["verdict"] == verdict, found
    assert words in found["reason"]
    assert found["seconds"] < faulty_wire.TIMEOUT + 3


def test_no_answer_takes_longer_than_the_timeout_however_slowly_it_drips(said: dict[str, Any]) -> None:
    for case in ("never answers", "drips its head", "drips its content"):
        assert faulty_wire.TIMEOUT * 0.9 < said[case]["seconds"] < faulty_wire.TIMEOUT + 1.5


def test_what_the_server_says_is_read(said: dict[str, Any]) -> None:
    assert said["late"]["after"] == 7
    assert said["in part"]["rejected"] == 3
    assert said["redirect"]["followed"] == 0


def test_gzip_is_what_it_says(said: dict[str, Any]) -> None:
    assert said["gzip"]["same"]
    assert "content-encoding: gzip" in said["gzip"]["head"]
    assert said["gzip"]["bytes"] < 20_000
