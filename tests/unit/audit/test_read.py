"""Reading back: byte by byte with the keys, readable parts without, and the difference between erased and missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.attacks.store_kit import Kit, codes, document, lines, span, three_batches

from spanseal.audit.content_keys import ContentKeys, key_file_name
from spanseal.audit.leaf import ACTION_KEY_DESTROYED, RedactionLeaf
from spanseal.audit.read import StoreReader
from spanseal.errors import NotAStoreError
from spanseal.records.otlp import cut_line, parse_span
from spanseal.sealer.seal import Sealer

RUN_1 = f"run:{1:032x}"


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return three_batches(tmp_path)


def redact(kit: Kit, scope: str) -> None:
    with kit.open() as writer:
        builder = writer.frame({})
        builder.add_leaf(RedactionLeaf(1, scope, ACTION_KEY_DESTROYED, "asked for", "operator"))
        writer.append(builder.finish())
        writer.publish()


def test_spans_come_back_byte_by_byte(kit: Kit) -> None:
    spans = list(StoreReader(kit.store, kit.content_keys).spans())
    assert [int(item.span_id, 16) - 1 for item in spans] == list(range(12))
    assert {item.content for item in spans} == {"open"}
    sealed = cut_line(document(span(3))).spans[0]
    assert (spans[3].raw, spans[3].resource, spans[3].scope) == (sealed.raw, sealed.resource, sealed.scope)
    assert spans[3].scope_schema_url == b'"https://example.com/s"'
    assert (spans[0].run_id, spans[3].run_id) == (f"{1:032x}", "")
    assert parse_span(spans[3].raw, spans[3].resource, spans[3].scope).resource["service.name"] == "shop"


def test_without_keys_only_what_is_clear_can_be_read(kit: Kit) -> None:
    for item in StoreReader(kit.store).spans():
        assert (item.content, item.complete, item.resource) == ("withheld", False, b"")
        assert b"secret" not in item.raw
        assert b"history" not in item.raw
        record = parse_span(item.raw)
        assert record.attributes["gen_ai.operation.name"] == "chat"
        assert record.status_code == 2
    stored = b"".join(path.read_bytes() for path in kit.store.rglob("*") if path.is_file())
    assert b"secret" not in stored
    assert b"shop" not in stored


def test_lines_come_back_byte_by_byte(kit: Kit) -> None:
    found = list(StoreReader(kit.store, kit.content_keys).lines())
    assert found[0].raw == document(span(0, 1))
    assert found[2].raw == document(span(2, 1), span(3))
    assert found[8].raw == b"not json"
    assert found[9].raw == document(span(0, 1)), "a duplicate is put together from where it was sealed first"
    assert [item.start for item in found[1:]] == [item.end for item in found[:-1]]
    assert all(item.raw is None for item in StoreReader(kit.store).lines())


def test_one_leaf(kit: Kit) -> None:
    reader = StoreReader(kit.store, kit.content_keys)
    for item in list(reader.spans()):
        assert reader.span_at(item.leaf_index) == item
    assert reader.span_at(0) is None
    assert reader.span_at(10_000) is None


def test_erased_with_a_sealed_redaction(kit: Kit) -> None:
    kit.content_keys.forget(RUN_1)
    redact(kit, RUN_1)
    spans = list(StoreReader(kit.store, kit.content_keys).spans())
    assert [item.content for item in spans[:4]] == ["erased", "erased", "erased", "open"]
    found = [item.raw is None for item in StoreReader(kit.store, kit.content_keys).lines()]
    assert found == [True, True, True, False, False, False, False, True, False, True, False]
    verdict = kit.verify(content=True)
    assert verdict.exit_code == 0
    assert "content-erased" in codes(verdict, "info")


@pytest.mark.parametrize("forget", [True, False])
def test_missing_without_one(kit: Kit, forget: bool) -> None:
    if forget:
        kit.content_keys.forget(RUN_1)
    else:
        (kit.content_keys.directory / key_file_name(RUN_1)).unlink()
    spans = list(StoreReader(kit.store, kit.content_keys).spans())
    assert [item.content for item in spans[:4]] == ["missing", "missing", "missing", "open"]
    verdict = kit.verify(content=True)
    assert codes(verdict) == {"content-missing"}
    assert kit.verify().exit_code == 0, "with public keys alone content is unchecked, not missing"


def test_a_reader_with_some_keys_is_told_what_is_withheld(kit: Kit) -> None:
    (kit.content_keys.directory / key_file_name(RUN_1)).unlink()
    some = ContentKeys(kit.content_keys.directory, whole=False)
    assert [item.content for item in StoreReader(kit.store, some).spans()][:4] == ["withheld"] * 3 + ["open"]


def test_a_late_resend_of_an_erased_scope_is_sealed_without_content(kit: Kit) -> None:
    kit.content_keys.forget(RUN_1)
    redact(kit, RUN_1)
    again, late = document(span(0, 1)), document(span(50, 1, "came too late"))
    mixed = document(span(51, 1, "came too late"), span(52, 3, "other run"))
    with kit.open() as writer:
        report = Sealer(writer).seal(lines([again, late, mixed], "late"))
    assert (report.spans, report.duplicates) == (3, 1)
    everything = b"".join(path.read_bytes() for path in kit.base.rglob("*") if path.is_file())
    assert b"came too late" not in everything
    spans = {int(item.span_id, 16) - 1: item for item in StoreReader(kit.store, kit.content_keys).spans()}
    assert [spans[number].content for number in (50, 51, 52)] == ["erased", "erased", "open"]
    verdict = kit.verify(content=True)
    assert verdict.exit_code == 0
    assert verdict.unchecked["ranges"] >= 1


def test_conflicting_spans_are_both_kept_and_marked(kit: Kit) -> None:
    with kit.open() as writer:
        Sealer(writer).seal(lines([document(span(0, 1, "another text"))], "other"))
    both = [item for item in StoreReader(kit.store, kit.content_keys).spans() if item.span_id == f"{1:016x}"]
    assert [item.conflict for item in both] == [False, True]
    assert {json.loads(item.raw)["status"]["message"] for item in both} == {"secret!", "another text!"}
    assert "conflict" in codes(kit.verify(), "info")


def test_no_store(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(NotAStoreError):
            StoreReader(path)
