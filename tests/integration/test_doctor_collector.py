"""What doctor says of a collector's configuration, held against the real collector; and its probe on the real route."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.parts import services
from tests.integration.parts.build import binary
from tests.unit.doctor.collector_cases import CASES, FILE, GONE, changed

REFUSED = ("append-with-rotation", "storage-missing", "storage-not-started", "wait-with-storage", "component-undefined")
"""The findings that say that the collector does not start."""


def doctor(*arguments: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "spanseal.cli", "doctor", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, json.loads(done.stdout)


def starts(folder: Path, document: dict[str, Any]) -> bool:
    """Whether the collector gets as far as running with this configuration."""
    file = folder / "c.yaml"
    file.write_text(json.dumps(document))
    validated = subprocess.run(
        [str(binary("otelcol")), "validate", f"--config={file}"], capture_output=True, timeout=60, check=False
    )
    if validated.returncode:
        return False
    try:  # some of it is only found when the components are started
        subprocess.run(
            [str(binary("otelcol")), f"--config={file}"], capture_output=True, timeout=5, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return False


def in_folder(folder: Path, document: dict[str, Any]) -> dict[str, Any]:
    """On ports of its own, in this folder."""
    grpc, http = services.free_ports(2)
    text = json.dumps(document).replace("/tmp/", f"{folder}/").replace("127.0.0.1:4317", f"127.0.0.1:{grpc}")
    made = json.loads(text.replace("127.0.0.1:4318", f"127.0.0.1:{http}"))
    (folder / "a").mkdir(exist_ok=True)
    (folder / "q").mkdir(exist_ok=True)
    made["service"]["telemetry"] = {"metrics": {"level": "none"}}
    return made


@pytest.mark.parametrize("case", [case for case in CASES if case[0] in REFUSED], ids=lambda case: case[0])
def test_a_configuration_said_not_to_start_does_not(tmp_path: Path, case: Any) -> None:
    assert not starts(tmp_path, in_folder(tmp_path, changed(case[2])))


def test_the_good_configuration_starts(tmp_path: Path) -> None:
    assert starts(tmp_path, in_folder(tmp_path, changed({})))


def test_a_file_said_to_be_emptied_at_a_start_is(tmp_path: Path) -> None:
    document = in_folder(tmp_path, changed({(*FILE, "rotation"): GONE}))
    kept = Path(document["exporters"]["file/archive"]["path"])
    kept.write_text("evidence\n")
    assert starts(tmp_path, document)
    assert kept.read_text() == ""
    kept.write_text("evidence\n")
    assert starts(tmp_path, in_folder(tmp_path, changed({})))
    assert kept.read_text() == "evidence\n"


def test_the_probe_reaches_the_archive_through_the_collector(tmp_path: Path) -> None:
    with services.collector(tmp_path) as running:
        code, said = doctor(running.otlp_http)
        works = next(found for found in said["findings"] if found["code"] == "route-works")
        assert code == 0
        assert any(works["meaning"][-32:].encode() in line for line in running.archived())
    code, said = doctor(running.otlp_http)
    assert code == 1
    assert "route-fails" in {found["code"] for found in said["findings"]}


def test_the_shipped_configuration_is_healthy() -> None:
    code, said = doctor(str(services.CONFIG / "otelcol.yaml"))
    assert (code, said["findings"]) == (0, [])
