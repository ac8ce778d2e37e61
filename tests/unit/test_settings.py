"""Settings: where they come from, in which order, and that every complaint names its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spanseal.errors import SettingsError
from spanseal.settings import Settings, load_settings, state_dir, traces_url


def test_nothing_said_gives_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spanseal.toml").write_text('export = "elsewhere"\n')
    monkeypatch.chdir(tmp_path)
    assert load_settings({}) == Settings()


def test_a_variable_outranks_the_named_file(tmp_path: Path) -> None:
    file = tmp_path / "spanseal.toml"
    file.write_text(
        'capture = "full"\nexport = "from-file"\nmax_value_bytes = 2048\nthreads = false\nspool_dir = "/s"\n'
    )
    settings = load_settings({"SPANSEAL_CONFIG": str(file), "SPANSEAL_EXPORT": "from-variable"})
    assert (settings.export, settings.capture, settings.max_value_bytes) == ("from-variable", "full", 2048)
    assert (settings.threads, settings.spool_dir) == (False, Path("/s"))


@pytest.mark.parametrize(
    ("environ", "place", "allowed"),
    [
        ({"SPANSEAL_CAPTURE": "yes"}, "SPANSEAL_CAPTURE", "off, full"),
        ({"SPANSEAL_THREADS": "maybe"}, "SPANSEAL_THREADS", "true or false"),
        ({"SPANSEAL_MAX_VALUE_BYTES": "big"}, "SPANSEAL_MAX_VALUE_BYTES", "at least 1024"),
        ({"SPANSEAL_MAX_VALUE_BYTES": "-1"}, "SPANSEAL_MAX_VALUE_BYTES", "at least 1024"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"}, "OTEL_EXPORTER_OTLP_ENDPOINT", "http or https URL"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http or https URL"),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "OTEL_EXPORTER_OTLP_TIMEOUT", "seconds"),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "nan"}, "OTEL_EXPORTER_OTLP_TIMEOUT", "seconds"),
        (
            {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "some"},
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
            "SPAN_ONLY",
        ),
    ],
)
def test_a_wrong_variable_is_named_with_what_is_allowed(environ: dict[str, str], place: str, allowed: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ)
    assert place in str(caught.value)
    assert allowed in str(caught.value)


@pytest.mark.parametrize("endpoint", ["http://h:4317", "h:4317"])
def test_an_endpoint_for_grpc_is_a_fault_only_of_whoever_uses_it(endpoint: str) -> None:
    settings = load_settings({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})
    assert settings.endpoint is None
    assert "OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' is not one of http/json" in settings.endpoint_fault


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('service_name = "x"\ncapture = "some"\n', ":2 capture: 'some' is not one of off, full"),
        ("capture = true\n", ":1 capture: True is not one of off, full"),
        ("# note\n\nkapture = 1\n", ":3 kapture: no such setting"),
        ('service_name = "x"\n= 3\n', "line 2"),
        ("threads = 7\n", ":1 threads: 7 is not true or false"),
        ("max_value_bytes = true\n", ":1 max_value_bytes: True is not a whole number"),
        ("export = 5\n", ":1 export: 5 is not a text"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings({}, file)
    assert str(file) in str(caught.value)
    assert expected in str(caught.value)


def test_a_missing_or_binary_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"gone\.toml"):
        load_settings({"SPANSEAL_CONFIG": str(tmp_path / "gone.toml")})
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match=r"binary\.toml"):
        load_settings({}, tmp_path / "binary.toml")


def test_the_standard_endpoint_variables_are_understood() -> None:
    base = load_settings({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/", "OTEL_EXPORTER_OTLP_HEADERS": "A=b%20c,d=e"})
    assert base.endpoint == "http://c:4318/v1/traces"
    assert base.headers == (("a", "b c"), ("d", "e"))
    own = load_settings(
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://c/x", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://no"}
    )
    assert own.endpoint == "https://c/x"


def test_headers_never_show_up_in_messages_or_representation() -> None:
    assert "hush-1234" not in repr(load_settings({"OTEL_EXPORTER_OTLP_HEADERS": "authorization=hush-1234"}))
    with pytest.raises(SettingsError) as caught:
        load_settings({"OTEL_EXPORTER_OTLP_HEADERS": "a=b,secret"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "asked"),
    [("SPAN_ONLY", True), ("span_and_event", True), ("true", True), ("EVENT_ONLY", False), ("NO_CONTENT", False)],
)
def test_the_conventions_own_switch(mode: str, asked: bool) -> None:
    assert load_settings({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": mode}).genai_capture is asked


def test_the_service_name_may_come_from_opentelemetry() -> None:
    assert load_settings({"OTEL_SERVICE_NAME": "shop"}).service_name == "shop"
    assert load_settings({"OTEL_RESOURCE_ATTRIBUTES": "a=b,service.name=my%20shop"}).service_name == "my shop"
    assert load_settings({"OTEL_SERVICE_NAME": "shop", "SPANSEAL_SERVICE_NAME": "mine"}).service_name == "mine"


def test_the_traces_path_is_added_once() -> None:
    assert traces_url("https://h/v1/traces", "export") == "https://h/v1/traces"
    assert traces_url("https://h/base/", "export") == "https://h/base/v1/traces"
    with pytest.raises(SettingsError, match="export: 'ftp://h' is not"):
        traces_url("ftp://h", "export")


def test_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("SPANSEAL_STATE_DIR", str(tmp_path / "own"))
    assert state_dir() == tmp_path / "own"
    monkeypatch.delenv("SPANSEAL_STATE_DIR")
    assert state_dir() == tmp_path / "spanseal"


@pytest.mark.parametrize(
    ("environ", "field", "value"),
    [
        ({"SPANSEAL_DURABILITY": "sync"}, "durability", "sync"),
        ({"SPANSEAL_GROUP_MS": "5"}, "group_ms", 5),
        ({"SPANSEAL_SPOOL_FULL": "block"}, "spool_full", "block"),
        ({"SPANSEAL_SPOOL_MAX_BYTES": "100000"}, "spool_max_bytes", 100_000),
        ({"SPANSEAL_REDACT": "iban, email"}, "redact", ("email", "iban")),
        ({"SPANSEAL_REDACT": "all"}, "redact", ("secrets", "email", "card", "iban")),
        ({"SPANSEAL_REDACT": "none"}, "redact", ()),
        ({"SPANSEAL_REDACT_KEYS": "^pin$,token$"}, "redact_keys", ("^pin$", "token$")),
        ({"SPANSEAL_STREAM_IDLE_SECONDS": "0"}, "stream_idle_seconds", 0.0),
        ({"SPANSEAL_METRICS": "off"}, "metrics", False),
        ({"SPANSEAL_EVENTS": "on"}, "events", True),
        ({"OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true"}, "events", True),
        ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "event_only"}, "content_on_events", True),
        ({"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "gzip"}, "compression", "gzip"),
        ({"OTEL_SEMCONV_STABILITY_OPT_IN": "http, gen_ai_latest_experimental"}, "semconv_opt_in",
         frozenset({"http", "gen_ai_latest_experimental"})),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "10"}, "sdk_limits", frozenset({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"})),
    ],
)
def test_each_setting_is_read_from_its_variable(environ: dict[str, str], field: str, value: object) -> None:
    assert getattr(load_settings(environ), field) == value


@pytest.mark.parametrize(
    ("environ", "allowed"),
    [
        ({"SPANSEAL_DURABILITY": "fast"}, "sync, group, off"),
        ({"SPANSEAL_SPOOL_FULL": "drop"}, "block, fail, shed"),
        ({"SPANSEAL_REDACT": "phone"}, "secrets, email, card, iban, all, none"),
        ({"SPANSEAL_REDACT": "none,email"}, "none stands alone"),
        ({"SPANSEAL_REDACT_KEYS": "("}, "no regular expression"),
        ({"SPANSEAL_STREAM_IDLE_SECONDS": "-1"}, "number of seconds"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "br"}, "gzip, none"),
    ],
)
def test_a_wrong_setting_of_capture_or_export_is_named(environ: dict[str, str], allowed: str) -> None:
    with pytest.raises(SettingsError, match=next(iter(environ))) as caught:
        load_settings(environ)
    assert allowed in str(caught.value)


def test_the_table_of_the_readme_names_every_setting(tmp_path: Path) -> None:
    file = tmp_path / "spanseal.toml"
    file.write_text("nonsense = 1")
    with pytest.raises(SettingsError) as raised:
        load_settings({}, file)
    there = str(raised.value).partition("there are ")[2].split(", ")
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    table = text.partition("| setting |")[2].partition("\n\n")[0]
    told = [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(told) == sorted(there)
