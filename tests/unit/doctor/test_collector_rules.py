"""Every way in which a collector's configuration loses evidence is named, at its line, with a fix that removes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doctor.collector_cases import CASES, GOOD, changed

from spanseal.doctor.collector_file import read_collector
from spanseal.doctor.finding import Finding
from spanseal.doctor.pipeline_rules import collector_findings
from spanseal.errors import UsageError

COLLECTOR = Path(__file__).parents[3] / "collector"


def findings_of(folder: Path, *documents: Mapping[str, Any]) -> list[Finding]:
    files: list[Path] = []
    for number, document in enumerate(documents):
        files.append(folder / f"{number}.yaml")
        files[-1].write_text(json.dumps(document, indent=1))
    return list(collector_findings(read_collector(files)))


def test_nothing_is_said_of_a_configuration_that_loses_nothing(tmp_path: Path) -> None:
    assert findings_of(tmp_path, GOOD) == []


def test_nothing_is_said_of_the_configuration_that_spanseal_ships() -> None:
    assert list(collector_findings(read_collector([COLLECTOR / "otelcol.yaml"]))) == []


@pytest.mark.parametrize(("code", "weight", "changes"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_each_loss_is_named_with_its_fix(tmp_path: Path, code: str, weight: str, changes: Any) -> None:
    found = [finding for finding in findings_of(tmp_path, changed(changes)) if finding.code == code]
    assert found, f"{code} is not named"
    assert {finding.weight for finding in found} == {weight}
    assert all(finding.meaning and finding.where for finding in found)
    assert all(finding.fix for finding in found) or weight == "info"


def test_what_other_files_hold_is_put_in_and_judged(tmp_path: Path) -> None:
    (tmp_path / "main.yaml").write_text(
        "exporters: ${file:out.yaml}\nreceivers: {otlp: }\n"
        "service:\n  pipelines:\n    traces: {receivers: [otlp], exporters: [file/archive]}\n"
    )
    (tmp_path / "out.yaml").write_text("# ours\nfile/archive: ${file:deeper.yaml}\n")
    (tmp_path / "deeper.yaml").write_text("path: /tmp/x.jsonl\n")
    found = {finding.code for finding in collector_findings(read_collector([tmp_path / "main.yaml"]))}
    assert "file-truncated" in found
    assert "component-undefined" not in found
    (tmp_path / "out.yaml").write_text("file/archive: ${file:out.yaml}\n")
    assert read_collector([tmp_path / "main.yaml"]).unread == ("out.yaml",)


def test_of_what_is_not_here_nothing_is_claimed(tmp_path: Path) -> None:
    pipelines = "service: {pipelines: {traces: {receivers: [otlp], exporters: [file/x]}}}\n"
    (tmp_path / "main.yaml").write_text("exporters: ${file:not/here.yaml}\n" + pipelines)
    found = {finding.code: finding for finding in collector_findings(read_collector([tmp_path / "main.yaml"]))}
    assert found["include-unread"].where == "not/here.yaml"
    assert "component-undefined" not in found


@pytest.mark.parametrize("pipeline", ["traces:", "traces: {}", "logs: {receivers: [otlp]}", "metrics: {receivers: []}"])
def test_a_pipeline_without_both_ends_is_named(tmp_path: Path, pipeline: str) -> None:
    (tmp_path / "main.yaml").write_text(f"receivers: {{otlp: }}\nservice:\n  pipelines:\n    {pipeline}\n")
    found = [finding.code for finding in collector_findings(read_collector([tmp_path / "main.yaml"]))]
    assert "pipeline-incomplete" in found


def test_a_finding_names_file_and_line(tmp_path: Path) -> None:
    pipelines = "service:\n  pipelines:\n    traces: {exporters: [file/archive]}\n"
    (tmp_path / "mine.yaml").write_text("exporters:\n  file/archive:\n    path: /tmp/x.jsonl\n" + pipelines)
    found = {finding.code: finding.where for finding in collector_findings(read_collector([tmp_path / "mine.yaml"]))}
    assert found["file-truncated"] == "mine.yaml:2 exporters.file/archive"


def test_a_later_file_is_laid_over_an_earlier_one(tmp_path: Path) -> None:
    over = {"service": {"pipelines": {"traces/audit": {"processors": ["memory_limiter", "batch"]}}}}
    found = findings_of(tmp_path, GOOD, over)
    assert [(finding.code, finding.where.split()[0]) for finding in found] == [("batch-in-evidence", "1.yaml:5")]


def test_variables_are_expanded_as_a_collector_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEP", "3")
    monkeypatch.delenv("GONE", raising=False)
    rotation = {"max_megabytes": "${env:MB:-256}", "max_backups": "${KEEP}", "max_days": "${env:GONE}"}
    document = changed({("exporters", "file/archive", "rotation"): rotation})
    found = {finding.code: finding for finding in findings_of(tmp_path, document)}
    assert found.keys() == {"backups-deleted", "variable-unset"}
    assert "beyond 3" in found["backups-deleted"].meaning
    assert found["variable-unset"].where == "GONE"


@pytest.mark.parametrize("text", ["a: [", "just words", "- a\n- b\n", ""])
def test_what_is_no_configuration_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"x\.yaml"):
        read_collector([tmp_path / "x.yaml"])


@pytest.mark.parametrize("odd", [None, [], "x", 5, {"traces": None}, {"traces": {"exporters": "file"}}])
def test_odd_shapes_do_not_break_it(tmp_path: Path, odd: Any) -> None:
    sections = dict.fromkeys(("exporters", "receivers", "extensions", "connectors"), odd)
    found = findings_of(tmp_path, {"service": {"pipelines": odd}, **sections})
    assert "no-evidence-route" in {finding.code for finding in found}
