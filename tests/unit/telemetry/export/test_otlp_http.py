"""The verdict on each kind of answer, and what happens to the connection; against a scripted http.client."""

from __future__ import annotations

import email.message
import email.utils
import http.client
import time
from typing import Any

import pytest

from spanseal.telemetry.export.otlp_http import Answer, OtlpHttp


class Response:
    def __init__(self, status: int, content: bytes = b"", retry_after: str = "", closed: bool = True) -> None:
        self.status = status
        self.headers = email.message.Message()
        if retry_after:
            self.headers["Retry-After"] = retry_after
        self._content = content
        self._closed = closed
        self.length = 0

    def read(self, most: int) -> bytes:
        return self._content[:most]

    def isclosed(self) -> bool:
        return self._closed


class Wire:
    """Stands for http.client's connections; each answer is a response or an exception to raise."""

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers = list(answers)
        self.opened: list[tuple[str, int | None]] = []
        self.sock = None
        self.requests: list[tuple[str, str, bytes, dict[str, str]]] = []

    def __call__(self, host: str, port: int | None = None, **_: Any) -> Wire:
        self.opened.append((host, port))
        return self

    def request(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        self.requests.append((method, path, body, headers))

    def getresponse(self) -> Response:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        pass


def post(
    monkeypatch: pytest.MonkeyPatch, wire: Wire, url: str = "http://h:4318/v1/traces", times: int = 1
) -> list[Answer]:
    monkeypatch.setattr(http.client, "HTTPConnection", wire)
    client = OtlpHttp(url, {"x-key": "v"})
    return [client.post(b"{}") for _ in range(times)]


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, "taken"), (202, "taken"), (400, "split"), (413, "smaller"), (422, "split"), (401, "refused"),
        (404, "refused"), (301, "refused"), (408, "later"), (429, "later"), (500, "later"), (503, "later"),
    ],
)  # fmt: skip
def test_each_status_has_its_verdict(status: int, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert post(monkeypatch, Wire(Response(status, b"" if status < 300 else b"no")))[0].verdict == verdict


@pytest.mark.parametrize(
    ("content", "verdict"),
    [
        (b"", "taken"),
        (b"{}", "taken"),
        (b'{"partialSuccess":{}}', "taken"),
        (b'{"partialSuccess":null}', "taken"),
        (b'{"partialSuccess":{"rejectedSpans":"0","errorMessage":"slow down"}}', "taken"),
        (b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}', "partly"),
        (b"<html>", "later"),
        (b"[" * 100_000, "later"),
        (b"[1]", "taken"),
        (b'{"partialSuccess":{"rejectedSpans":"many"}}', "taken"),
    ],
)
def test_a_partial_success_is_read(content: bytes, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = post(monkeypatch, Wire(Response(200, content)))[0]
    assert answer.verdict == verdict
    if verdict == "partly":
        assert (answer.reason, answer.rejected) == ("2 spans refused: too old", 2)


def test_retry_after_may_be_seconds_or_a_date_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    date = email.utils.formatdate(time.time() + 60)
    headers = ["7", "-3", "999999", "soon", date]
    wire = Wire(*(Response(503, retry_after=header) for header in headers))
    waits = [answer.retry_after for answer in post(monkeypatch, wire, times=5)]
    assert waits[:4] == [7.0, 0.0, 300.0, None]
    assert waits[4] is not None
    assert 50 < waits[4] <= 61


def test_one_connection_is_kept_and_opened_again_when_the_server_closed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(Response(200), Response(200), http.client.RemoteDisconnected("idle"), Response(200))
    assert [answer.verdict for answer in post(monkeypatch, wire, times=3)] == ["taken"] * 3
    assert wire.opened == [("h", 4318)] * 2


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError("nobody"), TimeoutError("slow"), http.client.BadStatusLine("x"), ValueError("odd")]
)
def test_trouble_on_the_wire_means_later(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = post(monkeypatch, Wire(error))[0]
    assert answer.verdict == "later"
    assert type(error).__name__ in answer.reason


def test_an_answer_that_does_not_end_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(Response(200, b"x" * (1 << 21), closed=False), Response(200))
    post(monkeypatch, wire, times=2)
    assert len(wire.opened) == 2


def test_path_query_headers_and_credentials_go_along(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(Response(200))
    post(monkeypatch, wire, "http://me:p%40ss@h/base/v1/traces?a=b")
    method, path, _, headers = wire.requests[0]
    assert (method, path) == ("POST", "/base/v1/traces?a=b")
    assert headers["x-key"] == "v"
    assert headers["Content-Type"] == "application/json"
    assert headers["Authorization"] == "Basic bWU6cEBzcw=="
