"""What is masked and what stays: detectors, keys, own functions, in text and in JSON, in every place of a span."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags

from spanseal.records.otlp import parse_line
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.content.redaction.numbers import account_length, is_card
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.content.split_values import masked_texts, without_tokens
from spanseal.telemetry.export.encode import LineEncoder
from spanseal.testing import capture_spans

ALL = ("secrets", "email", "card", "iban")
FOUND = [
    ("write to Ann.O'Hara+x@mail.example.org, please", "Ann.O'Hara+x@mail.example.org", "email"),
    ("https://h/?u=ann%40example.org&x=1", "ann%40example.org", "email"),
    ("müller@bücher.example", "müller@bücher.example", "email"),
    ("card 4111 1111 1111 1111, exp 12/29", "4111 1111 1111 1111", "card"),
    ("on 2026-01-02 378282246310005.", "378282246310005", "card"),
    ("no. 7 5555-5555-5555-4444 ok", "5555-5555-5555-4444", "card"),
    ("to DE89 3704 0044 0532 0130 00 and on", "DE89 3704 0044 0532 0130 00", "iban"),
    ("gb82west12345698765432", "gb82west12345698765432", "iban"),
    ("x MT84MALT011000012345MTLCAST001S", "MT84MALT011000012345MTLCAST001S", "iban"),
    ("Bearer abcdefghijk", "Bearer abcdefghijk", "bearer"),
    ("Authorization: Basic dXNlcjpwYXNz", "Basic dXNlcjpwYXNz", "basic"),
    ("use ghs_abcdefghijklmnopqrst here", "ghs_abcdefghijklmnopqrst", "token"),
    ("Bearer\tabcdefgh12345678", "Bearer\tabcdefgh12345678", "bearer"),
    ("postgres://bob:hunter2@db.example.org/x", "bob:hunter2", "url-password"),
    ("redis://:hunter2@localhost:6379/0", ":hunter2", "url-password"),
    ("pay sk_live_51HxAbCdEfGhIjKlMn", "sk_live_51HxAbCdEfGhIjKlMn", "api-key"),
    ("clone with glpat-AbCdEfGhIjKlMnOpQrSt", "glpat-AbCdEfGhIjKlMnOpQrSt", "token"),
    ("npm_AbCdEfGhIjKlMnOpQrStUvWx", "npm_AbCdEfGhIjKlMnOpQrStUvWx", "token"),
    ("ValueError('a\\nsk-proj-AbCdEf0123456789')", "sk-proj-AbCdEf0123456789", "api-key"),
    ("4111.1111.1111.1111", "4111.1111.1111.1111", "card"),
    ("4111  1111  1111  1111", "4111  1111  1111  1111", "card"),
    ("paid by 4111111111111111.0", "4111111111111111", "card"),
    ("DE89  3704 0044 0532 0130 00", "DE89  3704 0044 0532 0130 00", "iban"),
]
DISGUISED = [
    ("ann＠example.org", "ann@example.org", "email"),
    ("mail ann\\u0040example.org", "ann@example.org", "email"),
    ("mail ann\\x40example.org", "ann@example.org", "email"),
    ("４１１１１１１１１１１１１１１１", "4111111111111111", "card"),
    ("٤١١١١١١١١١١١١١١١", "4111111111111111", "card"),
    ("4111‑1111‑1111‑1111", "4111-1111-1111-1111", "card"),
    ("4111\u200b1111\u200b1111\u200b1111", "4111111111111111", "card"),
    ("4111%201111%201111%201111", "4111 1111 1111 1111", "card"),
    ("DE89\u20093704\u20090044\u20090532\u20090130\u200900", "DE89 3704 0044 0532 0130 00", "iban"),
]
NAMED = [
    ("{'password': 'hunter2', 'user': 'x'}", "{'password': '[redacted:key:7]', 'user': 'x'}"),
    ("Config(dbPassword='hunter2', user='x')", "Config(dbPassword='[redacted:key:7]', user='x')"),
    ("DB_PASSWORD=hunter2 python app.py", "DB_PASSWORD=[redacted:key:7] python app.py"),
    ("X-Api-Key: hunter2hunter", "X-Api-Key: [redacted:key:13]"),
    ("{'Authorization': b'Token hunter2'}", "{'Authorization': b'[redacted:key:13]'}"),
    ("authorization: password='hunter2'", "authorization: password='[redacted:key:7]'"),
    ('OpenAI(api_key="hunter2")', 'OpenAI(api_key="[redacted:key:7]")'),
    ("GET /\nauthorization: Token hunter2", "GET /\nauthorization: [redacted:key:13]"),
    ("https://h/?api_key=hunter2&x=1", "https://h/?api_key=[redacted:key:7]&x=1"),
    ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAb+/=\n-----END RSA PRIVATE KEY-----.",
     "[redacted:private-key:91]."),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAb+/=\n-----END PGP PRIVATE KEY BLOCK-----",
     "[redacted:private-key:80]"),
]
STAYS = [
    "order 4111111111111112 of 1234567812345670", "4111111111111111a", "id_4111111111111111", "at 1764525600000000000",
    "4.111111111111111", "span 4111111111111111ab", "@decorator and a @ b.c", "lodash@4.17.21", "a@b",
    "DE88370400440532013000",
    "client = OpenAI(api_key=api_key)", "password=os.environ['DB_PASSWORD']", "password: see below",
    "if token == 'x1':",
    "sk-learn-is-a-great-library", "the Bearer authentication scheme", "Basic understanding", "basic mathematics",
    "https://example.org:8080/a?b=1", "ISBN 9783161484100", "call +1 (555) 123-4567", "1,234,567,890,123,456",
    "550e8400-e29b-41d4-a716-446655440000", "f(key='value', token_count=12345678)", "100% of 50%20",
    "the price is 12 34 56 78", "Basic research is needed", '{"max_tokens": 5, "token": "a", "passwords_ok": true}',
    '{"properties": {"password": {"type": "string", "description": "the password"}}, "required": ["password"]}',
    '{"password": null, "secret": true, "api_key": {}}', '{"logprobs": [{"token": "Hi", "logprob": -0.1}]}',
]


@pytest.mark.parametrize(("text", "value", "name"), FOUND)
def test_values_are_found_in_text_and_in_json_however_it_is_written(text: str, value: str, name: str) -> None:
    redactor = Redactor(ALL)
    masked = text.replace(value, f"[redacted:{name}:{len(value)}]")
    assert redactor.text(text) == masked
    forms: list[dict[str, Any]] = [{}, {"ensure_ascii": False}, {"indent": 1}]
    for flags in forms:
        document = json.dumps([{"a": text, "n": 1.50}, text], **flags)
        assert json.loads(redactor.text(document)) == [{"a": masked, "n": 1.5}, masked]
        inside = json.dumps({"arguments": document})
        assert json.loads(json.loads(redactor.text(inside))["arguments"]) == [{"a": masked, "n": 1.5}, masked]
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in text)
    assert json.loads(redactor.text(f'{{"k":"{escaped}"}}')) == {"k": masked}
    assert json.loads(redactor.text(json.dumps(f"line\n\t\"{text}\"\\"))) == f"line\n\t\"{masked}\"\\"


@pytest.mark.parametrize(("text", "plain", "name"), DISGUISED)
def test_a_disguise_hides_nothing(text: str, plain: str, name: str) -> None:
    redactor, mark = Redactor(ALL), f"[redacted:{name}:{len(plain)}]"
    assert redactor.text(text).removeprefix("mail ") == mark
    for ascii_only in (True, False):
        document = json.dumps({"a": [text], "b": "é"}, ensure_ascii=ascii_only)
        masked = json.loads(redactor.text(document))
        assert masked["a"][0].removeprefix("mail ") == mark
        assert masked["b"] == "é"


@pytest.mark.parametrize(("text", "masked"), NAMED)
def test_what_prose_names_goes(text: str, masked: str) -> None:
    assert Redactor().text(text) == masked
    assert json.loads(Redactor().text(json.dumps({"error": text}))) == {"error": masked}


def test_a_card_number_that_became_a_float_is_one() -> None:
    redactor = Redactor(ALL)
    assert redactor.value("n", 4111111111111111.0) == "[redacted:card:16]"
    assert json.loads(redactor.text('{"n": 4.111111111111111e15, "m": 4.2e15}')) == {
        "n": "[redacted:card:16]", "m": 4.2e15,
    }


@pytest.mark.parametrize("text", STAYS)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert Redactor(ALL).text(text) is text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"password": "hunter2"}', '{"password": "[redacted:key:7]"}'),
        ('{"Authorization":"x","n":[1,2]}', '{"Authorization":"[redacted:key:1]","n":[1,2]}'),
        ('{"api_key": 12345, "x": 1e5}', '{"api_key": "[redacted:key:5]", "x": 1e5}'),
        ('{"cookie":["a","b" , 3]}', '{"cookie":["[redacted:key:1]","[redacted:key:1]" , "[redacted:key:1]"]}'),
        ('{"pass\\u0077ord":"a\\"b"}', '{"pass\\u0077ord":"[redacted:key:3]"}'),
        ('set {"client_secret": "abc"} and go', 'set {"client_secret": "[redacted:key:3]"} and go'),
        ('{"args":"{\\"access_token\\": \\"abc\\"}"}', '{"args":"{\\"access_token\\": \\"[redacted:key:3]\\"}"}'),
        ('{"password": "hun', '{"password": "hun'),
        ('[1, {"secret":"x"}, {"a":1', '[1, {"secret":"[redacted:key:1]"}, {"a":1'),
        ('{"private_key":""}', '{"private_key":""}'),
        ('["see {\\"pass\\\\u0077ord\\": \\"x\\"}"]', '["see {\\"pass\\\\u0077ord\\": \\"[redacted:key:1]\\"}"]'),
    ],
)
def test_texts_and_numbers_under_secret_keys_go_and_nothing_else_changes(text: str, masked: str) -> None:
    assert Redactor().text(text) == masked


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(
        ["a@b.org", "4111111111111111", "Bearer abcdefgh", '{"password":"x"}', "DE89370400440532013000"]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(["password"]), inner),
    max_leaves=10,
)


def shape(value: Any) -> Any:
    """The structure, without what texts and numbers say."""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [shape(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value if value is None or isinstance(value, bool) else ""


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_json_stays_json_with_its_structure(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    masked = Redactor(ALL).text(text)
    assert shape(json.loads(masked)) == shape(json.loads(text))
    for secret in ("a@b.org", "4111111111111111", "Bearer abcdefgh"):
        assert secret not in masked


@given(st.text(st.sampled_from('@.a1 "\\{}[]:,4u0\n-'), max_size=60))
def test_any_text_is_searched_without_a_fault(text: str) -> None:
    redactor = Redactor(ALL, custom=[str.upper])
    assert isinstance(redactor.text(text), str)


def test_long_texts_of_one_kind_are_searched_in_one_go() -> None:
    for piece in ("a", "4", "4 ", '"', "@", "aa11 ", "\\", "a@", '"password":', "4111-", "password=a",
                  "\\npassword=", "Bearer ", "://a:", "%20", "４１ ", "{'password':"):
        text = piece * (40_001 // len(piece))
        Redactor(ALL).text(text)
        Redactor(ALL).text("[" + json.dumps(text + "\\u0040"))


def test_functions_of_the_application_see_decoded_strings_and_a_fault_costs_what_they_were_given(
    caplog: pytest.LogCaptureFixture,
) -> None:
    given_texts: list[str] = []

    def names(text: str) -> str:
        given_texts.append(text)
        if "boom" in text:
            raise ValueError("secret " + text)
        return text.replace("Ann", "[redacted:name:3]")

    redactor = Redactor((), (), [names, lambda text: 7 if "seven" in text else text])  # type: ignore[list-item, return-value]  # pyright: ignore[reportArgumentType]
    with caplog.at_level(logging.WARNING, "spanseal"):
        assert redactor.text('{"a":"\\u0041nn","b":2}') == '{"a":"[redacted:name:3]","b":2}'
        assert redactor.text('["boom!","ok"]') == '["[redacted:error:5]","ok"]'
        assert redactor.text("boom") == "[redacted:error:4]"
        assert redactor.text("seven") == "[redacted:error:5]"
    assert "Ann" in given_texts
    assert len(caplog.records) == 2
    assert "secret" not in caplog.text
    assert "names raised ValueError" in caplog.text


def test_a_detector_that_makes_spans_or_wants_to_exit_is_a_fault_like_any_other() -> None:
    def spans(text: str) -> str:
        return text + masks.text("inner " + text)

    def leaves(text: str) -> str:
        raise SystemExit

    masks = Redactor((), (), [spans])
    assert masks.text("a") == "a[redacted:error:7]"
    assert masks.text("b") == "b[redacted:error:7]"
    assert Redactor((), (), [leaves]).text("a") == "[redacted:error:1]"


def test_a_fault_of_our_own_costs_the_whole_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> str:
        raise RuntimeError

    monkeypatch.setattr("spanseal.telemetry.content.redaction.redactor.walked", broken)
    assert json.loads(Redactor(ALL).text('{"a":"a@b.org"}')) == "[redacted:error:15]"


def test_numbers() -> None:
    assert is_card("6011111111111117")
    assert is_card("3530111333300000")
    assert not is_card("0000000000000000")
    assert account_length("NO9386011117947") == 15
    assert account_length("DE8937040044053201300") == 0


class Attack:
    """A span of another instrumentation with a secret in every place."""

    SECRET = "ann@example.org"

    def line(self, scope: str) -> bytes:
        there = SpanContext(1, 2, False, TraceFlags(1))
        provider = TracerProvider(
            resource=Resource({"service.name": "s", "db.password": "hunter2", "who": self.SECRET}),
            shutdown_on_exit=False,
        )
        made = provider.get_tracer(scope, "1", None, {"who": self.SECRET})
        span = made.start_span(
            f"get {self.SECRET}",
            attributes={
                "text": self.SECRET, "list": [self.SECRET, "ok"], "bytes": self.SECRET.encode() + b"\xff",
                "map": {"to": self.SECRET, "password": "hunter2"},
                "http.request.header.authorization": ["Token hunter2"],
                "gen_ai.prompt": json.dumps({"m": self.SECRET, "api_key": "hunter2"}), f"key {self.SECRET}": 1,
                "db.password": 4711, "count": 5,
            },  # type: ignore[dict-item]
            links=[Link(there, {"to": self.SECRET})],
        )
        span.add_event(f"event {self.SECRET}", {"to": self.SECRET})
        span.record_exception(ValueError(f"no {self.SECRET}"))
        span.set_status(Status(StatusCode.ERROR, f"for {self.SECRET}"))
        span.end()
        return LineEncoder().line(span, {})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("scope", ["another", "spanseal"])
def test_every_place_of_every_span_is_covered(scope: str) -> None:
    with capture_spans():
        activate(replace(active(), redactor=Redactor(ALL)))
        line = Attack().line(scope)
    assert b"ann@" not in line
    assert b"hunter2" not in line
    assert b'"4711"' not in line
    (record,) = parse_line(line)
    assert record.attributes["list"] == ("[redacted:email:15]", "ok")
    assert record.attributes["bytes"] == b"[redacted:email:15]\xff"
    assert record.attributes["db.password"] == "[redacted:key:4]"
    assert record.attributes["count"] == 5
    prompt = json.loads(str(record.attributes["gen_ai.prompt"]))
    assert prompt == {"m": "[redacted:email:15]", "api_key": "[redacted:key:7]"}


def delta(text: str, index: int = 0) -> str:
    return json.dumps({"id": "x", "choices": [{"index": index, "delta": {"content": text}}]})


def test_what_a_stream_gives_in_pieces_is_masked_in_pieces() -> None:
    with capture_spans():
        activate(replace(active(), redactor=Redactor(ALL)))
        said = ("mail ", "ann", "", "@exam", "ple.org", " now")
        texts = [*(delta(text) if text else delta("no", 1) for text in said), "[DONE]"]
        masked = masked_texts(texts)
        assert masked[0] == texts[0]
        assert masked[2] == texts[2]
        assert masked[5:] == texts[5:]
        told = "".join(json.loads(text)["choices"][0]["delta"]["content"] for text in masked[:-1] if text != texts[2])
        assert told == "mail [redacted:email:15] now"
        clean = [delta("a"), delta("b"), "torn {"]
        assert masked_texts(clean) == clean


def test_the_tokens_beside_a_masked_text_go_too() -> None:
    entry = {"token": "ann", "logprob": -1.0, "bytes": [97], "top_logprobs": [{"token": "ann", "logprob": -1.0}]}
    masked = json.loads(without_tokens(json.dumps({"logprobs": {"content": [entry]}})))
    assert masked["logprobs"]["content"] == [
        {"token": "[redacted:token-text:3]", "logprob": -1.0, "bytes": None, "top_logprobs": []}
    ]
