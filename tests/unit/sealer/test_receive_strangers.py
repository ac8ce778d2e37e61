"""Senders that are wrong, slow, gone or hostile: nothing they could still send right is refused for good, and what
they make the sealer hold is bounded."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from tests.unit.sealer.sinks import MemorySealer, export

from spanseal.errors import UsageError
from spanseal.sealer import receive as receive_module
from spanseal.sealer.group_commit import GroupCommit
from spanseal.sealer.receive import Receiver
from spanseal.sealer.service_address import check_token

MEGABYTE = 1 << 20


class Door:
    """A receiver without a socket; ``send`` gives the answers to several requests at once."""

    def __init__(self) -> None:
        self.sealer = MemorySealer()
        self.commit = GroupCommit(self.sealer, self.sealer.position)

    def send(
        self, *contents: bytes, path: str = "/v1/traces", token: str | None = None, bearer: str = "",
        agent: str = "",
    ) -> list[httpx.Response]:
        async def all_at_once() -> list[httpx.Response]:
            transport = httpx.ASGITransport(app=Receiver(self.commit, token=token).app())
            headers = {"authorization": f"Bearer {bearer}"} if bearer else {}
            headers |= {"user-agent": agent} if agent else {}
            async with httpx.AsyncClient(transport=transport, base_url="http://sealer", headers=headers) as client:
                return list(await asyncio.gather(*(client.post(path, content=content) for content in contents)))

        return asyncio.run(all_at_once())


@pytest.fixture
def door() -> Iterator[Door]:
    door = Door()
    yield door
    door.sealer.gate.set()
    door.commit.close()


def test_a_token_that_was_wrong_is_said_once_and_the_spans_come_again(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "spanseal.sealer"):
        answers = door.send(*[export(1)] * 5, token="fresh", bearer="old")
    assert {answer.status_code for answer in answers} == {503}
    assert door.sealer.raws == []
    said = [record.message for record in caplog.records if "token" in record.message]
    assert len(said) == 1, "one line, however often it happens"
    assert "fresh" not in said[0]
    assert door.send(export(1), token="fresh", bearer="fresh")[0].status_code == 200
    assert door.sealer.raws == [export(1)]


@pytest.mark.parametrize("path", ["/", "/v1/logs", "/v1/metrics", "/v1/traces/", "/otlp/v1/traces", "/healthz"])
def test_another_path_is_no_reason_to_delete_spans(door: Door, path: str) -> None:
    (answer,) = door.send(export(1), path=path)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "/v1/traces" in answer.text
    assert door.sealer.raws == []


@pytest.mark.parametrize("path", ["/v1/logs", "/v1/metrics"])
def test_what_our_sender_measures_beside_its_spans_is_no_fault(
    door: Door, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "spanseal.sealer"):
        (answer,) = door.send(b"{}", path=path, agent="spanseal")
    assert answer.status_code == 404
    assert caplog.records == []
    assert door.send(export(1), path="/v1/trace", agent="spanseal")[0].status_code == 503


@pytest.mark.parametrize("token", ["", "two words", "s\u00e9cret", "tab\t", "\ud800", "line\n"])
def test_a_token_that_no_header_can_carry_is_refused_at_the_start(token: str) -> None:
    with pytest.raises(UsageError, match="SPANSEAL_TOKEN: "):
        check_token(token, "SPANSEAL_TOKEN")


def test_bombs_that_come_together_do_not_lie_open_together(door: Door) -> None:
    bomb = gzip.compress(bytes(8 * MEGABYTE), mtime=0)
    door.sealer.gate.clear()
    waiting: list[int] = []

    def look() -> None:
        waiting.append(door.commit.waiting_bytes)
        door.sealer.gate.set()

    async def storm() -> list[int]:
        receiver = Receiver(door.commit, max_waiting=20 * MEGABYTE, max_body=10 * MEGABYTE)
        transport = httpx.ASGITransport(app=receiver.app())
        async with httpx.AsyncClient(transport=transport, base_url="http://sealer") as client:
            headers = {"content-encoding": "gzip"}
            sent = [client.post("/v1/traces", content=bomb, headers=headers) for _ in range(12)]
            asyncio.get_running_loop().call_later(1.5, look)
            return [answer.status_code for answer in await asyncio.gather(*sent)]

    answers = asyncio.run(storm())
    assert max(waiting) <= 20 * MEGABYTE
    assert answers.count(200) == len(door.sealer.raws)
    assert set(answers) == {200, 503}


def test_a_sender_that_is_gone_without_a_word_is_given_up(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive_module, "STALLED", 0.05)

    async def half() -> AsyncIterator[bytes]:
        yield export(1)[:20]
        await asyncio.sleep(30)

    async def one_after_the_other() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=Receiver(door.commit, max_waiting=len(export(2))).app())
        async with httpx.AsyncClient(transport=transport, base_url="http://sealer") as client:
            return [await client.post("/v1/traces", content=content) for content in (half(), export(2))]

    gone, after = asyncio.run(one_after_the_other())
    assert gone.status_code == 503
    assert "no byte" in gone.text
    assert after.status_code == 200, "its bytes are not counted any more"
