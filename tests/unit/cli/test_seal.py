"""keygen and seal as typed: what is printed, what is refused, and with which exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sealer.sinks import export

from spanseal import settings
from spanseal.audit.pins import pin_for

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(type_line: Typed) -> Typed:
    return type_line


@pytest.fixture
def spans(tmp_path: Path) -> Path:
    folder = tmp_path / "spans"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(export(1) + b"\n" + export(2, spans=2) + b"\npoison\n" + export(3)[:50])
    return folder


def test_keygen_says_what_is_private_and_pins(typed: Typed, tmp_path: Path) -> None:
    code, out, err = typed("keygen keys --origin example.com/agents")
    assert (code, err) == (0, "")
    assert "example.com/agents" in out
    assert "PRIVATE+KEY" not in out
    pin = pin_for("example.com/agents", settings.state_dir())
    assert pin is not None
    assert pin.trust_path == tmp_path / "keys" / "trust"
    assert typed("keygen keys")[0] == 2


def test_seal_says_where_there_is_nothing_to_seal(typed: Typed, spans: Path, tmp_path: Path) -> None:
    typed("keygen keys")
    (tmp_path / "other").mkdir()
    code, out, _ = typed("seal other spans --store store --keys keys")
    assert code == 0
    assert "other: no export file" in out
    assert "spans: no export file" not in out


def test_seal_tells_what_was_sealed_and_what_was_left(typed: Typed, spans: Path) -> None:
    typed("keygen keys --origin example.com/agents")
    code, out, err = typed("seal spans --store store --keys keys")
    assert (code, err) == (0, "")
    for said in ("sealed 3 spans", "1 lines are no OTLP JSON", "last 50 bytes", "example.com/agents", "root"):
        assert said in out
    with (spans / "a.jsonl").open("ab") as file:
        file.write(export(3)[50:] + b"\n")
    code, out, _ = typed("seal spans --store store --keys keys --json")
    document: dict[str, Any] = json.loads(out)
    assert code == 0
    assert (document["spans"], document["duplicates"], document["unparsable"]) == (1, 0, 0)
    assert (document["torn"], document["gaps"], document["unread"]) == ([], [], [])
    assert document["origin"] == "example.com/agents"
    assert typed("seal spans --store store --keys keys --json")[1].count(f'"size": {document["size"]}') == 1


def test_what_cannot_be_read_is_named_and_makes_the_exit_code_2_after_sealing_the_rest(
    typed: Typed, spans: Path
) -> None:
    (spans / "old.jsonl.zst").write_bytes(b"")
    typed("keygen keys")
    code, out, _ = typed("seal spans --store store --keys keys")
    assert code == 2
    assert "sealed 3 spans" in out
    assert "NOT READ spans/old.jsonl.zst" in out


def test_a_strange_file_name_is_shown_harmlessly(typed: Typed, spans: Path) -> None:
    Path(os.fsdecode(bytes(spans) + b"/\xff\x1b[31m.jsonl")).write_bytes(b"torn")
    typed("keygen keys")
    code, out, _ = typed("seal spans --store store --keys keys")
    assert code == 0
    assert "\x1b" not in out
    assert "last 4 bytes" in out
    assert typed("seal spans --store store --keys keys --json")[0] == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("seal missing --store store --keys keys", "no such file or folder"),
        ("seal spans --store store --keys missing", "missing/log.key: no such file"),
        ("seal spans --store store --keys spans", "spans/log.key: no such file"),
        ("seal spans --store keys/store --keys keys", "one another"),
        ("seal spans --store spans --keys keys", "spans holds other things"),
        ("seal spans --store spans/a.jsonl --keys keys", "spans/a.jsonl"),
        ("serve --store store --keys keys --listen 0.0.0.0:4320", "SPANSEAL_TOKEN"),
        ("serve --store store --keys keys --listen nonsense", "HOST:PORT"),
        ("serve --store store --keys keys --token-file missing", "cannot be read"),
        ("serve --store store --keys keys --tail missing", "no such file or folder"),
        ("keygen spans/a.jsonl", "cannot be written"),
        ("keygen new --origin a+b", "--origin"),
    ],
)
def test_bad_input_is_one_line_naming_place_and_remedy(typed: Typed, spans: Path, line: str, says: str) -> None:
    typed("keygen keys")
    code, out, err = typed(line)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert says in err
    assert err.count("\n") == 1


def test_keys_of_another_log_are_refused(typed: Typed, spans: Path) -> None:
    typed("keygen keys --origin example.com/a")
    typed("keygen other --origin example.com/b")
    assert typed("seal spans --store store --keys keys")[0] == 0
    code, _, err = typed("seal spans --store store --keys other")
    assert code == 2
    assert "example.com/a" in err
    assert "example.com/b" in err
