"""Random kills of processes under load while the real collector and the real sealer come and go.

A dozen in the ordinary run, a thousand by ``make soak``.
"""

import json
import os
import threading
import time
from pathlib import Path

import pytest
from tests.integration.line import places
from tests.integration.test_line_outages import route
from tests.unit.telemetry.export.kill_kit import Outcome, adopt_the_rest, campaign

from spanseal.genai import semconv

SOAK = bool(os.environ.get("SPANSEAL_SOAK"))
KILLS = 100 if SOAK else 12


@pytest.mark.parametrize("seed", range(3, 13 if SOAK else 4))
def test_nothing_acknowledged_is_missing_at_the_sealer_and_nothing_is_there_twice(tmp_path: Path, seed: int) -> None:
    spool = tmp_path / "spool"
    environ = {"SPANSEAL_SPOOL_DIR": str(spool), "SPANSEAL_STATE_DIR": str(tmp_path), "SPANSEAL_METRICS": "off"}
    with route(tmp_path / "line") as line:
        outcomes: list[Outcome] = []
        url = line.collector.otlp_http
        killing = threading.Thread(target=lambda: outcomes.append(campaign(url, tmp_path, KILLS, seed, environ)))
        killing.start()
        while killing.is_alive():
            for service in (line.collector.service, line.sealer.service):
                service.kill()
                time.sleep(0.2)
                service.start()
        killing.join()
        (outcome,) = outcomes
        adopt_the_rest(url, spool, environ, patience=120)
        wait_for(outcome.started, line.sealer)
        assert set(places.times_in_store(line.sealer).values()) == {1}
        for one in places.stored(line.sealer):
            key, content = one.trace_id + one.span_id, json.loads(one.raw)
            outcome.arrived[key].add(one.raw)
            marks = {attribute["key"] for attribute in content.get("attributes", [])}
            (outcome.open if semconv.OPEN in marks else outcome.closed).add(key)
        outcome.check()
        assert outcome.open
        places.verify(line.sealer, tmp_path / "stranger")


def wait_for(started: set[str], sealer: places.Sealer) -> None:
    """Until all are sealed; as long as more of them come."""
    found, deadline = sealed(sealer), time.monotonic() + places.PATIENCE
    while not started <= found:
        assert time.monotonic() < deadline, f"{len(started - found)} acknowledged spans do not come"
        time.sleep(2)
        before, found = len(found), sealed(sealer)
        if len(found) > before:
            deadline = time.monotonic() + places.PATIENCE


def sealed(sealer: places.Sealer) -> set[str]:
    """Both ids of every span in the store."""
    return {one.trace_id + one.span_id for one in places.stored(sealer)}
