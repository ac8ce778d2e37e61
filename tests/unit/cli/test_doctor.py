"""doctor as typed: facts of this environment, the route tried with a probe span, findings with their fixes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanseal.telemetry.export.otlp_http import Answer

Typed = Callable[[str], tuple[int, str, str]]


class Wire:
    """Takes the place of the connection: gives the answer that it was told to, and keeps what was posted."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.posted: list[tuple[str, Any, dict[str, str]]] = []

    def __call__(self, url: str, headers: dict[str, str], *_: Any, **__: Any) -> Wire:
        self.url, self.headers = url, headers
        return self

    def post(self, body: bytes) -> Answer:
        self.posted.append((self.url, json.loads(body), self.headers))
        return self.answer

    def close(self) -> None:
        pass


@pytest.fixture
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Wire:
    wire = Wire(getattr(request, "param", Answer("taken")))
    monkeypatch.setattr("spanseal.telemetry.export.otlp_http.OtlpHttp", wire)
    return wire


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPANSEAL_STATE_DIR", str(tmp_path / "state"))


def document(typed: Typed, line: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    code, out, _ = typed(f"{line} --json")
    said = json.loads(out)
    return code, said, {found["code"]: found for found in said["findings"]}


def test_without_an_export_it_is_bad_and_says_what_to_set(type_line: Typed) -> None:
    code, said, found = document(type_line, "doctor")
    assert (code, said["verdict"]) == (1, "bad")
    assert "SPANSEAL_EXPORT" in found["no-export"]["fix"]
    assert said["facts"]["export"] == "nowhere"


def test_a_folder_is_probed_and_left_as_it_was(type_line: Typed, tmp_path: Path) -> None:
    (tmp_path / "spans").mkdir()
    code, said, found = document(type_line, "doctor spans")
    assert (code, said["verdict"]) == (0, "ok")
    assert found["route-works"]["where"] == str(tmp_path / "spans")
    assert said["facts"]["capture"] == "full"
    assert list((tmp_path / "spans").iterdir()) == []


def test_a_url_is_probed_with_a_span_and_the_token(
    type_line: Typed, server: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANSEAL_TOKEN", "t0ken-never-shown")
    code, said, found = document(type_line, "doctor http://c.example:4318")
    assert code == 0
    assert "route-works" in found
    url, body, headers = server.posted[0]
    assert url == "http://c.example:4318/v1/traces"
    assert body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"] == "spanseal.probe"
    assert headers["authorization"] == "Bearer t0ken-never-shown"
    assert "t0ken-never-shown" not in json.dumps(said)
    assert said["facts"]["authentication"] == "SPANSEAL_TOKEN"


@pytest.mark.parametrize("url", [
    "http://me:hunter2@c.example:4318/otlp?key=hunter2", "ftp://me:hunter2@c.example", "https://:hunter2@/x?key=hunter2",
])
def test_what_a_url_says_of_user_and_key_is_not_shown(
    type_line: Typed, server: Wire, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("SPANSEAL_EXPORT", url)
    _, out, err = type_line("doctor")
    assert "hunter2" not in out + err
    _, out, err = type_line("doctor --json")
    assert "hunter2" not in out + err
    if server.posted:
        assert server.posted[0][0] == "http://me:hunter2@c.example:4318/otlp/v1/traces?key=hunter2"


def test_the_headers_of_one_server_do_not_go_to_another(
    type_line: Typed, server: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://theirs.example:4318")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=theirs-only")
    _, said, _ = document(type_line, "doctor http://c.example:4318")
    assert "x-key" not in server.posted[-1][2]
    assert said["facts"]["authentication"] == "none"
    _, said, _ = document(type_line, "doctor")
    assert server.posted[-1][0] == "http://theirs.example:4318/v1/traces"
    assert server.posted[-1][2]["x-key"] == "theirs-only"
    assert said["facts"]["authentication"] == "x-key"


@pytest.mark.parametrize("verdict", ["later", "refused", "split", "partly"])
def test_a_server_that_takes_nothing_is_bad(type_line: Typed, server: Wire, verdict: Any) -> None:
    server.answer = Answer(verdict, "HTTP 4xx")
    code, _, found = document(type_line, "doctor http://c.example:4318")
    assert code == 1
    assert "HTTP 4xx" in found["route-fails"]["meaning"]
    assert found["route-fails"]["fix"]


def test_no_probe_sends_nothing(type_line: Typed, server: Wire) -> None:
    code, _, found = document(type_line, "doctor --no-probe http://c.example:4318")
    assert code == 0
    assert not server.posted
    assert "route-works" not in found


def test_what_the_sdk_would_cut_is_reported(type_line: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spans").mkdir()
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "100")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    _, said, found = document(type_line, "doctor spans")
    assert found["sdk-limit"]["where"] == "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"
    assert "100 characters" in said["facts"]["limits"]
    assert said["facts"]["sampled"].startswith("AlwaysOffSampler")


GRPC = {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c.example:4317"}


@pytest.mark.parametrize(("target", "code", "weight"), [("", 1, "bad"), (" spans", 0, "info")])
def test_an_endpoint_that_speaks_grpc_is_named(
    type_line: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, code: int, weight: str
) -> None:
    (tmp_path / "spans").mkdir()
    for name, value in GRPC.items():
        monkeypatch.setenv(name, value)
    done, said, found = document(type_line, f"doctor --no-probe{target}")
    assert done == code
    assert found["endpoint-not-ours"]["weight"] == weight
    assert "grpc" in found["endpoint-not-ours"]["meaning"]
    assert said["facts"]["export"] == ("nowhere" if not target else str(tmp_path / "spans"))


@pytest.mark.parametrize(
    ("variables", "metrics", "events"),
    [
        ({}, "http://c.example:4318/v1/metrics", "http://c.example:4318/v1/logs"),
        ({"SPANSEAL_METRICS": "off", "SPANSEAL_EVENTS": "off"}, "off", "off"),
        ({"OTEL_LOGS_EXPORTER": "none"}, "http://c.example:4318/v1/metrics", "nowhere by our hand"),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://me:pw@m.example/x"}, "http://m.example/x", "http://c.example"),
        ({"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai/dup"}, "http://c.example:4318/v1/metrics, under the names", "http"),
    ],
)
def test_where_numbers_and_events_go_is_told(
    type_line: Typed, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], metrics: str, events: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    _, said, _ = document(type_line, "doctor --no-probe http://c.example:4318")
    assert said["facts"]["metrics"].startswith(metrics)
    assert said["facts"]["events"].startswith(events)


def test_what_waits_in_a_spool_is_told(type_line: Typed, tmp_path: Path) -> None:
    spool = tmp_path / "state" / "spool" / "abc"
    (spool / "rejected").mkdir(parents=True)
    (spool / "endpoint").write_text("http://c.example/v1/traces\n")
    (spool / "spans-1.jsonl").write_text("{}\n")
    (spool / "rejected" / "rejected-1.jsonl").write_text("{}\n{}\n")
    _, _, found = document(type_line, "doctor")
    assert "http://c.example/v1/traces" in found["spool-waiting"]["meaning"]
    assert "2 spans" in found["spool-refused"]["meaning"]


def test_a_collector_is_read_from_its_files(type_line: Typed, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "exporters: {file: {path: x.jsonl}}\nservice: {pipelines: {traces: {exporters: [file]}}}\n"
    )
    code, out, _ = type_line("doctor c.yaml")
    assert code == 1
    assert "file-truncated" in out
    assert "fix: rotation:" in out


def test_people_read_facts_findings_and_fixes(type_line: Typed, tmp_path: Path) -> None:
    (tmp_path / "spans").mkdir()
    code, out, err = type_line("doctor spans")
    assert (code, err) == (0, "")
    for word in ("capture", "masked", "sampled", "durability", "route-works"):
        assert word in out


@pytest.mark.parametrize("line", ["doctor nowhere", "doctor a.yaml b", "doctor missing.yaml", "doctor a b"])
def test_what_it_cannot_look_at_is_wrong_usage(type_line: Typed, line: str) -> None:
    assert type_line(line)[0] == 2


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, {"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"}),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, set[str]()),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "nobody"},
         {"OTEL_LOGS_EXPORTER"}),
        ({"OTEL_PYTHON_CONFIGURATOR": "none"}, set[str]()),
        ({"OTEL_SDK_DISABLED": "true"}, set[str]()),
    ],
)  # fmt: skip
def test_a_distribution_that_would_not_start_is_named(
    type_line: Typed, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], told: set[str]
) -> None:
    """The distribution and the HTTP exporter are installed here, the gRPC one is not."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    _, out, _ = type_line("doctor --json")
    found = [finding for finding in json.loads(out)["findings"] if finding["code"] == "zero-code-exporter"]
    assert {finding["where"] for finding in found} == told
    assert all("none" in finding["fix"] for finding in found)
