"""Export into a folder, with real processes that crash and fork, and with folders and disks that refuse."""

from __future__ import annotations

import logging
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from tests.unit.telemetry.processes import KILLED, agent, spans_in

from spanseal.genai import semconv
from spanseal.records.ledger import Row, check_rows, decode_manifest
from spanseal.telemetry.export.folder import FolderExport
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans


def a_span() -> ReadableSpan:
    with capture_spans() as captured, tracer().start_as_current_span("s"):
        pass
    return captured.spans[0]


def test_a_kill_loses_no_ended_span(tmp_path: Path) -> None:
    code = """
configure("a", export=sys.argv[1])
with run_span("agent"):
    for number in range(20):
        span(f"step {number}")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    agent(code, str(tmp_path), expect=KILLED)
    spans = spans_in(tmp_path)
    assert [span.name for span in spans] == [f"step {number}" for number in range(20)]
    assert [span.attributes[semconv.SEQ] for span in spans] == list(range(1, 21))
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_fork_writes_its_own_file_under_its_own_writer_and_no_span_twice(tmp_path: Path) -> None:
    code = """
configure("a", export=sys.argv[1])
with run_span("agent"):
    span("before")
    with tracer().start_as_current_span("around"):
        child = os.fork()
        span("child" if child == 0 else "parent")
    if child == 0:
        span("child again")
        os._exit(0)
    os.waitpid(child, 0)
"""
    agent(code, str(tmp_path))
    spans = spans_in(tmp_path)
    assert len(list(tmp_path.glob("spans-*"))) == 2
    assert max(Counter(span.span_id for span in spans).values()) == 1
    by_writer: dict[str, list[int]] = {}
    for span in spans:
        by_writer.setdefault(str(span.attributes[semconv.WRITER_ID]), []).append(int(str(span.attributes[semconv.SEQ])))
    assert len({str(span.attributes[semconv.RUN_ID]) for span in spans}) == 1
    assert all(sorted(seqs) == list(range(len(seqs))) for seqs in by_writer.values())
    assert len(by_writer) == 2
    instances = {str(span.resource["service.instance.id"]) for span in spans}
    assert len(instances) == 2
    for span in spans:
        if semconv.MANIFEST in span.attributes:
            manifest = decode_manifest(str(span.attributes[semconv.MANIFEST]))
            mine = [other for other in spans if other.attributes[semconv.WRITER_ID] == manifest.writer_id]
            rows = [Row(int(str(s.attributes[semconv.SEQ])), s.span_id, s.start, s.end, s.status_code) for s in mine]
            covered = range(manifest.first, manifest.first + manifest.count)
            assert check_rows(manifest, [row for row in rows if row.seq in covered]) == ()


def test_an_unwritable_folder_is_said_once_and_the_agent_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code = """
configure("a", export=sys.argv[1])
for number in range(5):
    span("s")
print("flushed", flush(), file=sys.stderr)
"""
    said = agent(code, str(tmp_path / "file" / "below"))
    assert said.count("spans cannot be written to") == 1
    assert "flushed False" in said
    assert "Traceback" not in said


def test_a_full_disk_is_said_once_and_counted_and_a_gap_is_told_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    span, export = a_span(), FolderExport(tmp_path)
    export.emit(span, {})
    real, calls = os.write, [0]

    def filling_up(fd: int, data: memoryview) -> int:
        """Takes ten bytes of a line, then nothing."""
        calls[0] += 1
        if calls[0] % 2:
            return real(fd, data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "spanseal"):
        patched.setattr(os, "write", filling_up)
        for _ in range(3):
            export.emit(span, {})
    assert export.complaints.counts["lost"] == 3
    assert len([record for record in caplog.records if "No space left" in record.getMessage()]) == 1
    assert export.flush(1) is False
    with caplog.at_level(logging.WARNING, "spanseal"):
        export.emit(span, {})
    assert "can be written to" in caplog.messages[-1]
    assert export.flush(1) is True
    export.close(1)
    assert [span.name for span in spans_in(tmp_path)] == ["s", "s", "spanseal.gap"]
    gap = spans_in(tmp_path)[-1]
    assert gap.attributes[semconv.GAP_SPANS] == 3
    assert gap.attributes[semconv.GAP_REASONS] == ("No space left on device",)
    assert gap.start < gap.end


def test_a_file_that_is_deleted_under_our_hands_is_said_and_a_new_one_begun(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    span, export = a_span(), FolderExport(tmp_path / "spans")
    export.emit(span, {})
    shutil.rmtree(tmp_path / "spans")
    assert export.flush(1) is False
    assert [message for message in caplog.messages if "was deleted" in message]
    export.emit(span, {})
    assert export.flush(1) is True
    assert len(spans_in(tmp_path / "spans")) == 1
    export.close(1)


def test_what_a_killed_process_never_ended_is_shown_open_by_the_next_and_only_once(tmp_path: Path) -> None:
    code = """
configure("a", export=sys.argv[1])
with run_span("agent"):
    span("ended")
    with tracer().start_as_current_span("open", attributes={"n": 1}):
        os.kill(os.getpid(), signal.SIGKILL)
"""
    agent(code, str(tmp_path), expect=KILLED)
    alive = max(path.stat().st_mtime_ns for path in tmp_path.iterdir())
    for _ in range(2):
        agent('configure("b", export=sys.argv[1])', str(tmp_path))
    spans = {span.name: span for span in spans_in(tmp_path)}
    assert len(spans_in(tmp_path)) == len(spans) == 3
    assert {name for name, span in spans.items() if span.attributes.get(semconv.OPEN)} == {"open", "invoke_agent agent"}
    assert spans["open"].attributes["n"] == 1
    assert spans["open"].attributes[semconv.SEQ] == 2
    assert spans["open"].end == max(alive, spans["open"].start)
    assert not list(tmp_path.glob(".started-*"))


def test_what_is_open_at_a_normal_end_is_shown_open_at_once(tmp_path: Path) -> None:
    code = """
configure("a", export=sys.argv[1])
left = tracer().start_span("left")
span("ended")
"""
    agent(code, str(tmp_path))
    marks = {span.name: span.attributes.get(semconv.OPEN) for span in spans_in(tmp_path)}
    assert marks == {"ended": None, "left": True}
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_two_exports_never_share_a_file(tmp_path: Path) -> None:
    span = a_span()
    exports = [FolderExport(tmp_path) for _ in range(3)]
    for export in exports:
        export.emit(span, {})
        export.close(1)
    assert len(spans_in(tmp_path)) == len(list(tmp_path.glob("spans-*"))) == 3
