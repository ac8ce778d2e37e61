"""The sealer as people run it: killed under load, started again, stopped in order. Acknowledged means there once."""

from __future__ import annotations

import itertools
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import shake_256
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, prlimit

import httpx
import pytest
from tests.integration.parts.process import wait_until
from tests.integration.parts.sealer import COMMAND, Sealer, sealer

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.read import StoreReader

KILLS = 4
SENDERS = 6


def span(number: int) -> bytes:
    return (
        b'{"traceId":"%032x","spanId":"%016x","name":"chat","kind":3,"startTimeUnixNano":"1","endTimeUnixNano":"2",'
        b'"attributes":[{"key":"gen_ai.input.messages","value":{"stringValue":"%s"}}],"status":{}}'
        % (number + 1, number + 1, shake_256(b"%d" % number).hexdigest(600).encode())
    )


def export(number: int) -> bytes:
    return (
        b'{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{"name":"t"},"spans":['
        + span(number)
        + b"]}]}]}"
    )


class Load:
    """Senders that post one span after the other, each again until it is acknowledged, as a collector does."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/v1/traces"
        self._numbers = itertools.count()
        self._stop = threading.Event()
        self.acknowledged: list[int] = []
        self.sent_again = 0

    def run(self, meanwhile: Callable[[], None]) -> None:
        with ThreadPoolExecutor(SENDERS) as pool:
            senders = [pool.submit(self._send) for _ in range(SENDERS)]
            try:
                meanwhile()
            finally:
                self._stop.set()
            for sender in senders:
                sender.result()

    def _send(self) -> None:
        with httpx.Client(trust_env=False, timeout=10) as client:
            while not self._stop.is_set():
                number = next(self._numbers)
                while not self._accepted(client, number):
                    self.sent_again += 1
                    if self._stop.wait(0.02):
                        return
                self.acknowledged.append(number)

    def _accepted(self, client: httpx.Client, number: int) -> bool:
        try:
            answer = client.post(self._url, content=export(number), headers={"content-type": "application/json"})
        except httpx.HTTPError:
            return False
        assert answer.status_code in (200, 503), answer.text
        return answer.status_code == 200


def sealed_spans(running: Sealer) -> Counter[bytes]:
    return Counter(stored.raw for stored in StoreReader(running.store, ContentKeys(running.keys / "content")).spans())


def verify(running: Sealer) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "verify", running.store, "--trust", running.trust],
        env={"SPANSEAL_STATE_DIR": str(running.state)}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_a_store_that_is_being_written_verifies(tmp_path: Path) -> None:
    with sealer(tmp_path) as running:
        load = Load(running.url)

        def look() -> None:
            for _ in range(6):
                verified = verify(running)
                assert verified.returncode == 0, verified.stdout

        load.run(look)
        assert len(load.acknowledged) > 20


def test_killed_under_load_everything_acknowledged_is_there_once(tmp_path: Path) -> None:
    spans = tmp_path / "spans"
    spans.mkdir()
    file = spans / "spans.jsonl"
    file.write_bytes(b"")
    tailed = range(10_000_000, 10_000_000 + 100 * (KILLS + 1))

    with sealer(tmp_path, options=(f"--tail={spans}",)) as running:
        load = Load(running.url)

        def kill_and_start() -> None:
            for turn in range(KILLS + 1):
                reached = len(load.acknowledged) + 60
                with file.open("ab") as more:
                    more.write(b"".join(export(number) + b"\n" for number in tailed[100 * turn : 100 * turn + 100]))
                wait_until(lambda reached=reached: len(load.acknowledged) >= reached, 30, "spans to be acknowledged")
                if turn < KILLS:
                    running.service.kill()
                    running.service.start()

        load.run(kill_and_start)
        size = -1

        def settled() -> bool:
            nonlocal size
            text = httpx.get(f"{running.url}/metrics", trust_env=False).text
            before, size = size, int(text.split("\nspanseal_sealer_size ")[1].split("\n")[0])
            return size == before

        wait_until(settled, 20, "the tail to have read everything")
        running.service.stop()
        stored = sealed_spans(running)
    assert set(stored.values()) == {1}
    assert {span(number) for number in load.acknowledged} <= set(stored)
    assert {span(number) for number in tailed} <= set(stored)
    assert len(load.acknowledged) >= 60 * (KILLS + 1)
    assert load.sent_again > 0


@pytest.mark.parametrize("room", [2_000, 12_000])
def test_a_full_disk_refuses_what_it_cannot_hold_and_takes_it_when_there_is_room(tmp_path: Path, room: int) -> None:
    with sealer(tmp_path) as running, httpx.Client(trust_env=False) as client:
        process = running.service.process
        assert process is not None
        written = max(path.stat().st_size for path in running.store.rglob("*") if path.is_file())
        prlimit(process.pid, RLIMIT_FSIZE, (written + room, RLIM_INFINITY))  # every write behind it fails, like ENOSPC
        answers = {n: client.post(f"{running.url}/v1/traces", content=export(n)).status_code for n in range(50)}
        assert set(answers.values()) == {200, 503}
        assert client.get(f"{running.url}/healthz").status_code == 200
        prlimit(process.pid, RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))
        refused = [number for number, status in answers.items() if status == 503]
        assert {client.post(f"{running.url}/v1/traces", content=export(n)).status_code for n in refused} == {200}
        running.service.stop()
        assert sealed_spans(running) == {span(number): 1 for number in answers}
        assert verify(running).returncode == 0


def test_sigterm_ends_in_order_and_a_second_sealer_is_refused(tmp_path: Path) -> None:
    with sealer(tmp_path, token="let-me-in") as running:
        process = running.service.process
        assert process is not None
        second = subprocess.run(
            [COMMAND, "seal", tmp_path, "--store", running.store, "--keys", running.keys],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert second.returncode == 2
        assert second.stderr.startswith("error: ")
        assert "another sealer" in second.stderr
        assert "Traceback" not in second.stderr
        headers = {"authorization": "Bearer let-me-in", "content-type": "application/json"}
        assert httpx.post(f"{running.url}/v1/traces", content=export(1), trust_env=False).status_code == 503
        with httpx.Client(headers=headers, trust_env=False) as client:
            assert client.post(f"{running.url}/v1/traces", content=export(1)).status_code == 200
            assert client.post(f"{running.url}/v1/traces", content=b"poison").status_code == 200
            process.terminate()
            assert process.wait(20) == 0
        assert sealed_spans(running) == {span(1): 1}


def test_seal_follows_a_folder_until_it_is_told_to_end(tmp_path: Path) -> None:
    spans, store, keys = tmp_path / "spans", tmp_path / "store", tmp_path / "keys"
    spans.mkdir()
    env = {"SPANSEAL_STATE_DIR": str(tmp_path / "state")}
    subprocess.run([COMMAND, "keygen", keys], env=env, check=True, capture_output=True, timeout=60)
    command = [COMMAND, "seal", spans, "--store", store, "--keys", keys, "--follow"]
    with (tmp_path / "log").open("wb") as log:
        following = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        for number in range(3):
            file = spans / "spans.jsonl"
            with file.open("ab") as more:
                more.write(export(number) + b"\n" + export(number + 1)[:40])
            said = f"{number + 1} spans sealed"
            wait_until(lambda said=said: said in (tmp_path / "log").read_text(), 30, said)
            with file.open("ab") as more:
                more.write(b"\n")  # broken off: sealed as it is
        following.terminate()
        out, _ = following.communicate(timeout=30)
    finally:
        following.kill()
    assert following.returncode == 0
    assert "sealed 3 spans" in out
