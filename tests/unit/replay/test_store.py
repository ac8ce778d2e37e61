"""An audit store as a source: verified before anything is read, content as far as keys are here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.replay.recorded import Span, calculator_run, line, lines

from spanseal import settings
from spanseal.audit.content_keys import ContentKeys
from spanseal.errors import BadStoreError, ReplayError
from spanseal.replay.reader import RunReader
from spanseal.replay.render.tree import tree
from spanseal.replay.run import Run
from spanseal.replay.sources import is_store, open_source
from spanseal.sealer.keys import load_keys, make_keys
from spanseal.sealer.seal import InputLine, Sealer
from spanseal.sealer.service_store import open_writer


def sealed(tmp_path: Path, *parts: bytes) -> Path:
    """A store with these export lines in it, sealed with keys that are pinned for this user."""
    keys = make_keys(tmp_path / "keys", settings.state_dir(), "example.com/log")
    with open_writer(tmp_path / "store", keys) as writer:
        sealer, at = Sealer(writer), 0
        for part in parts:
            sealer.seal([InputLine("spans.jsonl", at, at + len(part), part)])
            at += len(part)
    return tmp_path / "store"


def seal_more(store: Path, part: bytes) -> None:
    with open_writer(store, load_keys(store.parent / "keys")) as writer:
        Sealer(writer).seal([InputLine("more.jsonl", 0, len(part), part)])


def export(spans: list[Span]) -> list[bytes]:
    return [line(span) for span in spans]


def only(path: Path) -> Run:
    (run,) = RunReader.open(path).runs()
    return run


def test_a_store_gives_the_run_that_the_export_gives(tmp_path: Path) -> None:
    spans = calculator_run()
    store = sealed(tmp_path, *export(spans))
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "spans.jsonl").write_bytes(lines(spans))
    assert is_store(store)
    assert only(store) == only(tmp_path / "plain")
    source = open_source(store)
    assert source.verdict is not None
    assert source.verdict.verdict == "ok"


def test_without_content_keys_the_skeleton_is_read_and_said_to_be_one(tmp_path: Path) -> None:
    store = sealed(tmp_path, *export(calculator_run()))
    shutil.move(tmp_path / "keys" / "content", tmp_path / "elsewhere")
    run = only(store)
    assert (run.content, run.grade, run.outcome, run.agent) == ("withheld", "complete", "completed", "calculator")
    assert run.question == ()
    assert {(call.replayable, call.replay_reason) for call in run.calls} == {("no", "content withheld")}
    (again,) = RunReader.open(store, content_keys=tmp_path / "elsewhere").runs()
    assert (again.content, again.question[0].text) == ("open", "What is 17 * 23?")


def test_some_keys_open_some_runs(tmp_path: Path) -> None:
    other = calculator_run("5c" * 16, "f" * 32, shift=5000)
    store = sealed(tmp_path, *export([*calculator_run(), *other]))
    content = tmp_path / "keys" / "content"
    some = tmp_path / "some"
    shutil.copytree(content, some)
    files = sorted(some.iterdir())
    assert len(files) == 2
    files[0].unlink()
    found = RunReader.open(store, content_keys=some).runs()
    assert sorted(run.content for run in found) == ["open", "withheld"]
    files = sorted(content.iterdir())
    files[0].unlink()
    with pytest.raises(BadStoreError, match="content-missing"):
        open_source(store)
    assert sorted(run.content for run in RunReader.open(store, unverified=True).runs()) == ["missing", "open"]


def test_lines_that_were_sealed_without_being_otlp_are_counted(tmp_path: Path) -> None:
    reader = RunReader.open(sealed(tmp_path, b"nonsense\n", *export(calculator_run())))
    assert [run.grade for run in reader.runs()] == ["complete"]
    assert [(note.kind, note.meaning) for note in reader.notes] == [
        ("malformed", "1 sealed lines are no OTLP; they give no spans")
    ]


def test_a_folder_of_keys_that_is_not_there(tmp_path: Path) -> None:
    store = sealed(tmp_path, *export(calculator_run()))
    with pytest.raises(ReplayError, match="no folder of content keys"):
        open_source(store, content_keys=tmp_path / "nowhere")


def test_an_unknown_signer_is_read_and_the_verdict_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = sealed(tmp_path, *export(calculator_run()))
    monkeypatch.setenv("SPANSEAL_STATE_DIR", str(tmp_path / "another user"))
    source = open_source(store)
    assert source.verdict is not None
    assert source.verdict.verdict == "unknown"
    assert len(list(source.spans())) == 9
    assert open_source(store, trust=tmp_path / "keys" / "trust").verdict != source.verdict


def flipped(store: Path, at: int) -> None:
    segment = next((store / "seg").iterdir())
    data = bytearray(segment.read_bytes())
    data[at % len(data)] ^= 1
    segment.write_bytes(data)


def test_a_changed_store_is_not_read(tmp_path: Path) -> None:
    store = sealed(tmp_path, *export(calculator_run()))
    flipped(store, -300)
    with pytest.raises(BadStoreError, match=r"does not verify.*payload-changed.*seg/"):
        open_source(store)


def test_a_changed_store_is_read_up_to_the_damage_when_asked(tmp_path: Path) -> None:
    store = sealed(tmp_path, *export(calculator_run()))
    outcomes: set[str] = set()
    for at in range(0, 12_000, 701):
        flipped(store, at)
        reader = RunReader.open(store, unverified=True)
        assert reader.source.verdict is not None
        assert reader.source.verdict.verdict == "bad"
        counts = [run.span_count for run in reader.runs()]
        assert not counts or max(counts) <= 9
        outcomes |= {note.kind for note in reader.notes}
        flipped(store, at)
    assert "damaged" in outcomes
    assert only(store).grade == "complete"


def test_an_older_store_than_was_seen_is_not_read(tmp_path: Path) -> None:
    first, *rest = export(calculator_run())
    store = sealed(tmp_path, first)
    shutil.copytree(store, tmp_path / "older")
    seal_more(store, rest[0])
    assert open_source(store).verdict is not None
    with pytest.raises(BadStoreError):
        open_source(tmp_path / "older")


def test_what_was_sealed_after_the_verification_is_not_read(tmp_path: Path) -> None:
    first, second, *_ = export(calculator_run())
    store = sealed(tmp_path, first)
    source = open_source(store)
    seal_more(store, second)
    assert len(list(source.spans())) == 1
    assert [note.kind for note in source.notes] == ["newer"]
    assert len(list(open_source(store).spans())) == 2


def test_two_contents_of_one_span_stay_apart_even_without_keys(tmp_path: Path) -> None:
    spans = calculator_run()
    again = calculator_run()[1]
    again.attributes["x"] = "y"
    store = sealed(tmp_path, *export([*spans, again]))
    shutil.move(tmp_path / "keys" / "content", tmp_path / "elsewhere")
    run = only(store)
    assert (run.grade, run.span_count) == ("conflicting", 10)


def test_an_erased_run_is_said_to_be_erased(tmp_path: Path) -> None:
    scope = "run:" + "4b" * 16
    content = ContentKeys(tmp_path / "keys" / "content")
    content.directory.mkdir(parents=True)
    content.ensure((scope,))
    content.forget(scope)
    run = only(sealed(tmp_path, *export(calculator_run())))
    assert (run.content, run.grade, run.question) == ("erased", "complete", ())
    shown = "\n".join(line.plain for line in tree(run))
    assert "content erased: its key was destroyed on purpose" in shown
    assert "391" not in shown
