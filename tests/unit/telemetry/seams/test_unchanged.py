"""The same program on a bare and on an instrumented client: whatever it can see is the same, well or ill."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import httpx
import httpx2
import pytest
from tests.unit.telemetry.seams.clients import made
from tests.unit.telemetry.seams.faults import CANCELS, FAULTS, STOPS, Script
from tests.unit.telemetry.seams.observed import Seen, differences, observe
from tests.unit.telemetry.seams.programs import RECORDED, UNRECORDED, Way
from tests.unit.telemetry.seams.servers import Fault
from tests.unit.telemetry.wire_world import recording

from spanseal.telemetry.instrument import instrument

_HARD = (
    "chat create", "chat streaming", "chat stream", "chat stream left early", "responses stream", "chat",
    "generate stream",
)
HARD = [way for way in RECORDED if way.name in _HARD]


def seen(way: Way, faults: Sequence[Fault], *, asynchronous: bool, instrumented: bool) -> Seen:
    """What the program sees."""
    client, log = made(way.kind, faults, asynchronous=asynchronous)
    if instrumented:
        instrument(client)
    return observe(way, client, log, asynchronous=asynchronous)


def same(way: Way, script: Script | None, *, asynchronous: bool) -> Seen:
    """Run both against the same script and compare; the instrumented one has made its one span, or none."""
    library = httpx if way.kind == "ollama" else httpx2
    bare = seen(way, script(library) if script else (), asynchronous=asynchronous, instrumented=False)
    with recording() as exporter:
        ours = seen(way, script(library) if script else (), asynchronous=asynchronous, instrumented=True)
    assert differences(dataclasses.asdict(ours), dataclasses.asdict(bare)) == []
    spans = exporter.get_finished_spans()
    assert len(spans) == (0 if way.span is None else 1)
    return ours


@pytest.mark.parametrize("way", [*RECORDED, *UNRECORDED], ids=str)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_when_all_goes_well(way: Way, asynchronous: bool) -> None:
    assert same(way, None, asynchronous=asynchronous).outcome[0] == "returned"


@pytest.mark.parametrize("way", HARD, ids=str)
@pytest.mark.parametrize("fault", FAULTS)
def test_when_the_server_fails(fault: str, way: Way) -> None:
    for asynchronous in (False, True):
        same(way, FAULTS[fault], asynchronous=asynchronous)


@pytest.mark.parametrize("way", HARD, ids=str)
@pytest.mark.parametrize("stop", [*STOPS, *CANCELS])
def test_when_the_program_is_stopped(stop: str, way: Way) -> None:
    found = same(way, STOPS.get(stop) or CANCELS[stop], asynchronous=stop in CANCELS)
    assert found.outcome[0] == "raised"
