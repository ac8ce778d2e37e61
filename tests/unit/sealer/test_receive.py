"""The endpoint: 200 means sealed, 503 means send again, and nothing that may heal is refused for good."""

from __future__ import annotations

import asyncio
import gzip
import logging
import zlib
from collections.abc import AsyncIterator, Iterator, MutableMapping

import httpx
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.sealer.sinks import MemorySealer, export

from spanseal.errors import StoreError, StoreStoppedError
from spanseal.sealer.group_commit import GroupCommit
from spanseal.sealer.receive import Receiver
from spanseal.sealer.receive_body import open_body

JSON = {"content-type": "application/json"}


class Endpoint:
    """An endpoint without a socket."""

    def __init__(self) -> None:
        self.sealer = MemorySealer()
        self.commit = GroupCommit(self.sealer, self.sealer.position)
        self.receiver = Receiver(self.commit)

    def configure(self, *, token: str | None = None, max_body: int = 1 << 20, max_waiting: int = 1 << 20) -> None:
        self.receiver = Receiver(self.commit, token=token, max_body=max_body, max_waiting=max_waiting)

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(app=self.receiver.app()), base_url="http://sealer")

    def post(
        self, content: bytes | AsyncIterator[bytes], path: str = "/v1/traces", **headers: str | bytes
    ) -> httpx.Response:
        async def send() -> httpx.Response:
            async with self.client() as client:
                named = httpx.Headers(JSON)
                named.update([(name.replace("_", "-").encode(), _bytes(value)) for name, value in headers.items()])
                return await client.post(path, content=content, headers=named)

        return asyncio.run(send())

    def get(self, path: str, **headers: str) -> httpx.Response:
        async def fetch() -> httpx.Response:
            async with self.client() as client:
                return await client.get(path, headers=headers)

        return asyncio.run(fetch())


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    yield endpoint
    endpoint.sealer.gate.set()
    endpoint.commit.close()


def test_a_body_is_sealed_byte_for_byte_and_answered_as_the_protocol_says(endpoint: Endpoint) -> None:
    answer = endpoint.post(export(1, spans=3))
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, b"{}", "application/json")
    assert endpoint.sealer.raws == [export(1, spans=3)]


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(export(2), mtime=0)),
        ("GZIP", gzip.compress(export(2)[:9], mtime=0) + gzip.compress(export(2)[9:])),
        ("deflate", zlib.compress(export(2))),
        ("zstd", zstandard.ZstdCompressor().compress(export(2))),
        ("identity", export(2)),
    ],
)
def test_packed_bodies_are_opened(endpoint: Endpoint, encoding: str, packed: bytes) -> None:
    assert endpoint.post(packed, content_encoding=encoding).status_code == 200
    assert endpoint.sealer.raws == [export(2)]


@pytest.mark.parametrize(
    ("encoding", "raw"),
    [
        ("gzip", b"no gzip"),
        ("gzip", gzip.compress(export(1), mtime=0)[:-9]),
        ("zstd", zstandard.ZstdCompressor().compress(export(1))[:-3]),
        ("zstd", b"no zstd"),
        ("snappy", b"\xff\x06"),
        ("gzip", gzip.compress(bytes(5000), mtime=0)),
        ("zstd", zstandard.ZstdCompressor().compress(bytes(5000))),
    ],
)
def test_what_cannot_be_opened_is_sealed_packed_and_acknowledged(endpoint: Endpoint, encoding: str, raw: bytes) -> None:
    endpoint.configure(max_body=4000)
    assert endpoint.post(raw, content_encoding=encoding).status_code == 200
    assert endpoint.sealer.raws == [raw]


@given(st.binary(max_size=300), st.sampled_from(["gzip", "zstd", "deflate", ""]))
def test_no_body_breaks_the_opening(raw: bytes, encoding: str) -> None:
    assert open_body(raw, "application/json", encoding, 1000) is not None


@pytest.mark.parametrize(
    "poison", [b"not json", b"[]", b'{"resourceSpans":[{]}', b"\x00" * 50, b"\xff\xfe", b'{"a":NaN}']
)
def test_poison_is_sealed_and_acknowledged(endpoint: Endpoint, poison: bytes) -> None:
    assert endpoint.post(poison).status_code == 200
    assert endpoint.sealer.raws == [poison]


def test_protobuf_is_sealed_raw_answered_in_kind_and_the_remedy_said_once(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        answers = [endpoint.post(b"\n\x02\x12\x00", content_type="application/x-protobuf") for _ in range(3)]
    assert {answer.status_code for answer in answers} == {200}
    assert answers[0].headers["content-type"] == "application/x-protobuf"
    assert answers[0].content == b""
    assert [record.getMessage().count("encoding: json") for record in caplog.records] == [1]
    assert endpoint.commit.counters["unparsable"] == 3


def test_an_empty_body_is_nothing_to_seal(endpoint: Endpoint) -> None:
    assert endpoint.post(b"").status_code == 200
    assert endpoint.sealer.lines == []


@pytest.mark.parametrize(
    "error", [StoreError("disk full"), OSError(28, "No space left on device"), RuntimeError("a bug"), MemoryError()]
)
def test_what_is_not_durable_is_503_with_a_time_to_come_again_and_heals(endpoint: Endpoint, error: Exception) -> None:
    endpoint.sealer.failures.append(error)
    answer = endpoint.post(export(1))
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert endpoint.sealer.lines == []
    assert endpoint.get("/healthz").status_code == 200
    assert endpoint.post(export(1)).status_code == 200
    assert endpoint.commit.counters["refused"] == 1


def test_a_stopped_store_is_503_for_good_and_unhealthy(endpoint: Endpoint) -> None:
    endpoint.sealer.failures.append(StoreStoppedError("fsync failed"))
    assert [endpoint.post(export(1)).status_code for _ in range(2)] == [503, 503]
    assert endpoint.get("/healthz").status_code == 503
    assert "fsync failed" in endpoint.get("/healthz").text
    assert "spanseal_sealer_stopped 1" in endpoint.get("/metrics").text
    assert endpoint.receiver.broken


def test_while_stopping_senders_are_sent_on(endpoint: Endpoint) -> None:
    endpoint.receiver.stopping = True
    assert endpoint.post(export(1)).status_code == 503
    assert endpoint.get("/healthz").status_code == 503


def test_a_body_over_the_limit_is_sealed_in_pieces_and_acknowledged(endpoint: Endpoint) -> None:
    endpoint.configure(max_body=1000)
    whole = export(1, spans=20)

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(whole), 300):
            yield whole[start : start + 300]

    assert endpoint.post(chunks()).status_code == 200
    assert len(endpoint.sealer.raws) > 2
    assert b"".join(endpoint.sealer.raws) == whole
    assert endpoint.commit.counters["unparsable"] == len(endpoint.sealer.raws)


def test_more_than_may_wait_is_503_and_room_comes_back(endpoint: Endpoint) -> None:
    endpoint.configure(max_waiting=1500)
    endpoint.sealer.gate.clear()

    async def both() -> tuple[httpx.Response, httpx.Response]:
        async with endpoint.client() as client:
            waiting = asyncio.create_task(client.post("/v1/traces", content=export(1, spans=4), headers=JSON))
            await asyncio.to_thread(endpoint.sealer.entered.wait, 10)
            refused = await client.post("/v1/traces", content=export(2, spans=4), headers=JSON)
            endpoint.sealer.gate.set()
            return await waiting, refused

    accepted, refused = asyncio.run(both())
    assert (accepted.status_code, refused.status_code) == (200, 503)
    assert endpoint.post(export(2, spans=4)).status_code == 200


def test_a_sender_that_breaks_off_leaves_no_reservation_behind(endpoint: Endpoint) -> None:
    endpoint.configure(max_waiting=1000)

    parts: list[dict[str, object]] = [
        {"type": "http.request", "body": b"x" * 900, "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, object]:
        return parts.pop(0)

    async def send(message: MutableMapping[str, object]) -> None:
        assert message.get("status") != 200

    scope: dict[str, object] = {"type": "http", "method": "POST", "path": "/v1/traces", "headers": []}
    asyncio.run(endpoint.receiver.app()(scope, receive, send))
    assert endpoint.post(b"y" * 900).status_code == 200
    assert endpoint.sealer.raws == [b"y" * 900]


def test_many_posts_at_once_are_all_sealed_once(endpoint: Endpoint) -> None:
    async def storm() -> list[httpx.Response]:
        async with endpoint.client() as client:
            posts = [client.post("/v1/traces", content=export(number), headers=JSON) for number in range(300)]
            return await asyncio.gather(*posts)

    assert {answer.status_code for answer in asyncio.run(storm())} == {200}
    assert sorted(endpoint.sealer.raws) == sorted(export(number) for number in range(300))
    assert len(endpoint.sealer.groups) < 300


@pytest.mark.parametrize(
    "header",
    ["", "Bearer wrong", "Basic s3cret", "s3cret", "Bearer", "Bearer s3cret extra", "Bearer s3cr\u00e9".encode()],
)
def test_without_the_token_nothing_is_taken(endpoint: Endpoint, header: str | bytes) -> None:
    endpoint.configure(token="s3cret")
    answer = endpoint.post(export(1), authorization=header)
    assert answer.status_code == 503, "with 401 the sender would delete its spans"
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["retry-after"]
    assert "s3cret" not in answer.text
    assert endpoint.sealer.lines == []
    assert endpoint.get("/metrics").status_code == 401
    assert endpoint.get("/healthz").status_code == 200
    assert endpoint.commit.counters["unauthorized"] == 2


def test_with_the_token_bodies_are_taken_and_without_one_demanded_any_is(endpoint: Endpoint) -> None:
    assert endpoint.post(export(1), authorization="Bearer none").status_code == 200
    endpoint.configure(token="s3cret")
    assert endpoint.post(export(2), authorization="bearer s3cret").status_code == 200


def test_metrics_count_what_happened(endpoint: Endpoint) -> None:
    endpoint.post(export(1, spans=2))
    endpoint.post(b"poison")
    text = endpoint.get("/metrics").text
    for expected in (
        "spanseal_sealer_requests_total 2",
        "spanseal_sealer_received_spans_total 2",
        "spanseal_sealer_sealed_spans_total 2",
        "spanseal_sealer_unparsable_total 1",
        f"spanseal_sealer_received_bytes_total {len(export(1, spans=2)) + 6}",
        "# TYPE spanseal_sealer_last_seal_age_seconds gauge",
    ):
        assert expected in text
