"""The whole service in one process, over a Unix socket: both inputs, one writer, an orderly and a forced end."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.unit.sealer.sinks import export

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.read import StoreReader
from spanseal.audit.store import StoreWriter
from spanseal.audit.store_disk import RealDisk
from spanseal.errors import StoreStoppedError
from spanseal.sealer.keys import SealerKeys, make_keys
from spanseal.sealer.service import Service


class BreakingDisk(RealDisk):
    """A disk whose fsync fails for good once it is told to."""

    broken = False

    def sync(self, descriptor: int) -> None:
        if self.broken:
            raise StoreStoppedError("fsync failed: the store may not be written any more")
        super().sync(descriptor)


class Running:
    """A service in a thread, and a client to it."""

    def __init__(self, folder: Path, keys: SealerKeys, tails: tuple[Path, ...] = ()) -> None:
        self.store, self.disk, self.keys = folder / "store", BreakingDisk(), keys
        self.error: BaseException | None = None
        path = folder / "s"
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen(100)
        self.writer = StoreWriter.open(
            self.store, keys.signer(), ContentKeys(keys.content), origin=keys.origin, disk=self.disk
        )
        self.service = Service(self.writer, tails=tails)
        self.client = httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://sealer")
        self._thread = threading.Thread(target=self._run, args=[listener])
        self._thread.start()

    def _run(self, listener: socket.socket) -> None:
        try:
            self.service.run(listener)
        except StoreStoppedError as error:
            self.error = error

    def post(self, body: bytes) -> int:
        headers = {"content-type": "application/json"}
        return self.client.post("/v1/traces", content=body, headers=headers).status_code

    def end(self) -> None:
        self.service.stop()
        self.join()

    def join(self) -> None:
        self._thread.join(20)
        assert not self._thread.is_alive()
        self.client.close()
        self.writer.close()

    def sealed(self) -> Counter[str]:
        return Counter(span.trace_id for span in StoreReader(self.store, ContentKeys(self.keys.content)).spans())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    keys = make_keys(tmp_path / "keys", tmp_path / "state")
    started: list[Running] = []

    def begin(*tails: Path) -> Running:
        started.append(Running(tmp_path, keys, tails))
        return started[-1]

    yield begin
    for running in started:
        running.end()


def trace(number: int) -> str:
    return f"{number + 1:032x}"


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_comes_both_ways_is_sealed_once(start: Callable[..., Running], tmp_path: Path) -> None:
    spans = tmp_path / "spans"
    spans.mkdir()
    (spans / "a.jsonl").write_bytes(b"".join(export(number) + b"\n" for number in range(20)))
    running = start(spans)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(running.post, [export(number) for number in range(10, 30)])) == {200}
    until(lambda: running.service.counters["duplicate_spans"] >= 10)
    running.end()
    assert running.error is None
    assert running.sealed() == {trace(number): 1 for number in range(30)}
    again = start(spans)
    assert again.service.counters["size"] == again.writer.size > 30
    assert again.post(export(29)) == 200
    again.end()
    assert again.sealed() == {trace(number): 1 for number in range(30)}


def test_a_store_that_stops_answers_503_and_ends_the_service_with_its_reason(start: Callable[..., Running]) -> None:
    running = start()
    assert running.post(export(1)) == 200
    running.disk.broken = True
    assert running.post(export(2)) == 503
    running.join()
    assert isinstance(running.error, StoreStoppedError)
    assert trace(1) in running.sealed()


def test_a_tailed_store_that_stops_ends_the_service_too(start: Callable[..., Running], tmp_path: Path) -> None:
    spans = tmp_path / "spans"
    spans.mkdir()
    running = start(spans)
    running.disk.broken = True
    (spans / "a.jsonl").write_bytes(export(1) + b"\n")
    running.join()
    assert isinstance(running.error, StoreStoppedError)


def test_a_body_on_its_way_when_the_end_comes_is_still_taken(start: Callable[..., Running]) -> None:
    running = start()
    body, half = export(5), threading.Event()

    def slowly() -> Iterator[bytes]:
        yield body[:50]
        half.set()
        time.sleep(1)
        yield body[50:]

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: running.client.post("/v1/traces", content=slowly()))
        assert half.wait(10)
        until = time.monotonic() + 10
        while not running.service.counters["requests"] and time.monotonic() < until:
            time.sleep(0.01)  # sent is not yet received: a connection without a request is closed at once
        running.service.stop()
        assert answer.result(20).status_code == 200
    running.join()
    assert running.sealed() == {trace(5): 1}
