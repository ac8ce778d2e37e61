"""verify as typed: verdicts, exit codes, the document, and what is said about trust and witnesses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.replay.recorded import calculator_run, lines
from tests.unit.sealer.sinks import export

from spanseal import settings

Typed = Callable[..., tuple[int, str, str]]
REWRITTEN = "whoever holds the log's key could have rewritten everything"


@pytest.fixture
def typed(tmp_path: Path, type_line: Typed) -> Typed:
    """Types command lines in a folder that has keys of example.com/a and a store with three spans."""
    (tmp_path / "spans").mkdir()
    (tmp_path / "spans" / "a.jsonl").write_bytes(b"".join(export(number) + b"\n" for number in range(3)))
    type_line("keygen keys --origin example.com/a")
    type_line("seal spans --store store --keys keys")
    return type_line


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def codes(document: dict[str, Any]) -> set[str]:
    return {found["code"] for found in document["findings"]}


def test_a_good_store_is_0_by_the_pin_and_says_what_a_key_holder_could_do(typed: Typed) -> None:
    code, out, err = typed("verify store")
    assert (code, err) == (0, "")
    assert "ok" in out.splitlines()[0]
    assert "example.com/a" in out
    assert "3 spans" in out
    assert "3 content" in out
    assert out.count(REWRITTEN) == 1


def test_the_document_is_as_documented(typed: Typed) -> None:
    code, out, _ = typed("verify store --json")
    document: dict[str, Any] = json.loads(out)
    assert code == 0
    assert {"verdict", "size", "findings", "covered", "unchecked", "rebuildable"} <= document.keys()
    assert document["verdict"] == "ok"
    assert document["size"] > 3
    assert all({"code", "where", "meaning"} <= found.keys() for found in document["findings"])
    assert document["rebuildable"] == ["idx/spans.sqlite"]


def test_a_trust_file_alone_is_enough_and_content_is_then_said_to_be_unchecked(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANSEAL_STATE_DIR", str(tmp_path / "elsewhere"))
    code, out, _ = typed("verify store --trust keys/trust --json")
    assert code == 0
    assert "content-unchecked" in codes(json.loads(out))
    code, out, _ = typed("verify store --trust keys/trust --content-keys keys/content --json")
    assert code == 0
    assert "content-unchecked" not in codes(json.loads(out))
    assert typed("verify store --trust keys/trust --content-keys keys --json")[1] == out


def test_without_any_trust_it_cannot_be_judged(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANSEAL_STATE_DIR", str(tmp_path / "elsewhere"))
    code, out, _ = typed("verify store")
    assert code == 2
    assert "no-trust" in out
    assert "--trust" in out
    assert out.count(REWRITTEN) == 1


def test_a_changed_byte_is_1_and_named_even_without_trust(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = next((tmp_path / "store" / "seg").iterdir())
    flip(segment, 700)
    code, out, _ = typed("verify store")
    assert code == 1
    assert f"seg/{segment.name}" in out
    monkeypatch.setenv("SPANSEAL_STATE_DIR", str(tmp_path / "elsewhere"))
    assert typed("verify store")[0] == 1


def test_a_write_that_was_broken_off_cannot_be_judged_until_the_sealer_has_mended_it(
    typed: Typed, tmp_path: Path
) -> None:
    segment = next((tmp_path / "store" / "seg").iterdir())
    with segment.open("ab") as file:
        file.write(segment.read_bytes()[:30])
    code, out, _ = typed("verify store --json")
    assert code == 2
    assert "torn-tail" in codes(json.loads(out))
    assert typed("seal spans --store store --keys keys")[0] == 0
    assert typed("verify store")[0] == 0


def test_another_logs_trust_file_is_1(typed: Typed) -> None:
    typed("keygen other --origin example.com/a2")
    code, out, _ = typed("verify store --trust other/trust --json")
    assert code == 1
    assert "origin-mismatch" in codes(json.loads(out))


def test_an_older_store_than_was_seen_is_a_rollback(typed: Typed, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "store", tmp_path / "old")
    with (tmp_path / "spans" / "a.jsonl").open("ab") as file:
        file.write(export(7) + b"\n")
    typed("seal spans --store store --keys keys")
    assert typed("verify store")[0] == 0
    assert settings.heads_file().exists()
    code, out, _ = typed("verify old --json")
    assert code == 1
    assert "rollback" in codes(json.loads(out))
    assert typed("verify old --heads other-memory.json")[0] == 0


@pytest.mark.parametrize("left", [(), ("seg",)])
def test_a_store_that_was_emptied_since_it_was_seen_is_a_rollback(
    typed: Typed, tmp_path: Path, left: tuple[str, ...]
) -> None:
    assert typed("verify store")[0] == 0
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "store").mkdir()
    for name in left:
        (tmp_path / "store" / name).mkdir()
    code, out, _ = typed("verify store --json")
    assert code == 1
    assert codes(json.loads(out)) == {"rollback"}
    assert typed("verify store --heads other-memory.json")[0] == 2
    (tmp_path / "store").rename(tmp_path / "never-seen")
    assert typed("verify never-seen")[0] == 2, "it may be about to become a store of any log"
    assert typed("verify never-seen --trust keys/trust")[0] == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("verify missing", "no such file or folder"),
        ("verify keys/trust", "no OTLP document"),
        ("verify keys", "no audit store"),
        ("verify empty", "is empty"),
        ("verify store --trust missing", "missing cannot be read"),
        ("verify store --trust keys/log.key", "log.key"),
        ("verify store --content-keys missing", "--content-keys missing"),
    ],
)
def test_what_cannot_be_verified_is_2_and_one_line(typed: Typed, tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "empty").mkdir()
    code, out, err = typed(line)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert says in err
    assert err.count("\n") == 1


def test_plain_export_files_are_judged_by_their_ledgers_and_are_never_good(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    spans = calculator_run()
    (tmp_path / "plain" / "a.jsonl").write_bytes(lines(spans))
    for place in ("plain", "plain/a.jsonl"):
        code, out, err = typed(f"verify {place} --json")
        document: dict[str, Any] = json.loads(out)
        assert (code, err, document["verdict"], document["origin"], document["size"]) == (2, "", "unknown", "", 9)
        assert codes(document) == {"not-sealed"}
    (tmp_path / "plain" / "a.jsonl").write_bytes(lines([*spans[:3], *spans[4:]]))
    code, out, _ = typed("verify plain")
    assert code == 1
    assert out.startswith("✗ bad · export files, not sealed · 8 spans\n")
    assert "run-incomplete: run 4b4b" in out
    assert REWRITTEN not in out


def test_files_in_the_place_of_a_store_are_not_good(typed: Typed, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "a.jsonl").write_bytes(lines(calculator_run()))
    code, out, _ = typed("verify store --json")
    assert (code, codes(json.loads(out))) == (2, {"not-sealed"})


def test_a_damaged_memory_of_heads_is_said_not_forgotten(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "heads.json").write_text("{}")
    code, _, err = typed("verify store --heads heads.json")
    assert code == 2
    assert "heads.json" in err


def test_a_folder_with_some_keys_opens_some_content_and_the_owners_folder_has_to_be_whole(
    typed: Typed, tmp_path: Path
) -> None:
    one = sorted((tmp_path / "keys" / "content").glob("trace-*.key"))[0]
    (tmp_path / "some").mkdir()
    shutil.copy(one, tmp_path / "some")
    code, out, _ = typed("verify store --content-keys some --json")
    document: dict[str, Any] = json.loads(out)
    assert (code, document["verdict"]) == (0, "ok")
    assert document["covered"]["content"] == 1
    assert "content-missing" not in codes(document)
    one.unlink()
    code, out, _ = typed("verify store --json")
    assert code == 1
    assert "content-missing" in codes(json.loads(out))


def test_what_lies_in_a_damaged_frame_counts_as_not_checked(typed: Typed, tmp_path: Path) -> None:
    segment = next((tmp_path / "store" / "seg").iterdir())
    flip(segment, segment.stat().st_size - 100)
    code, out, _ = typed("verify store --json")
    document: dict[str, Any] = json.loads(out)
    assert code == 1
    assert document["covered"].get("spans", 0) + document["unchecked"]["spans"] == 3
    assert "3 spans" in typed("verify store")[1].split("not checked")[1].splitlines()[0]


def test_leaves_that_are_nowhere_count_as_not_checked(typed: Typed, tmp_path: Path) -> None:
    segment = next((tmp_path / "store" / "seg").iterdir())
    shutil.rmtree(tmp_path / "store" / "tile")
    segment.write_bytes(b"")
    code, out, _ = typed("verify store --json")
    document: dict[str, Any] = json.loads(out)
    assert code == 1
    assert document["unchecked"] == {"leaves": document["size"]}
