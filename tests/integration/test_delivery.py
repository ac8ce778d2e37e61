"""What the collector acknowledged arrives, whoever is away or crashes: on the configuration that is shipped."""

import json
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.integration.parts import services
from tests.integration.parts.process import free_ports, wait_until
from tests.integration.parts.sealer import Sealer
from tests.integration.parts.sealer import sealer as real_sealer
from tests.integration.parts.sink import sink
from tests.integration.parts.spans import document, send, span


def holding(lines: list[bytes], text: str) -> list[bytes]:
    return [line for line in lines if text.encode() in line]


def soon(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, 30, what)


def test_nothing_is_lost_while_the_sealer_is_away(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    before, after = span("chat before", {}), span("chat after", {})
    with services.collector(tmp_path, sealer=f"http://127.0.0.1:{port}") as collector:
        send(collector.otlp_http, before)
        collector.service.restart()  # in order, with the sealer away: the queue must survive that
        assert holding(collector.archived(), before["traceId"])
        send(collector.otlp_http, after)
        assert holding(collector.archived(), before["traceId"])  # a restart appends
        collector.service.kill()
        collector.service.start()
        with sink(port) as sealer:
            soon(lambda: len(sealer.received) >= 2, "both spans at the sealer")
        bodies = [one.body for one in sealer.received]
    assert len(holding(bodies, before["traceId"])) == 1
    assert len(holding(bodies, after["traceId"])) == 1


def test_a_refusing_sealer_gets_the_span_again_and_once(tmp_path: Path) -> None:
    sent = span("chat again", {})
    with sink() as sealer, services.collector(tmp_path, sealer=sealer.url) as collector:
        sealer.status = 503
        send(collector.otlp_http, sent)
        soon(lambda: len(sealer.received) >= 2, "a second try")
        sealer.status = 200
        tries = len(sealer.received)
        soon(lambda: len(sealer.received) > tries, "a try that is accepted")
        assert len({one.body for one in sealer.received}) == 1


def test_what_is_refused_for_good_is_in_the_archive(tmp_path: Path) -> None:
    """The sealer never answers so, but what stands before it may, and then the queued copy is dropped."""
    sent, after = span("chat refused", {}), span("chat after", {})
    with sink() as sealer, services.collector(tmp_path, sealer=sealer.url) as collector:
        sealer.status = 401
        send(collector.otlp_http, sent)
        soon(lambda: len(sealer.received) == 1, "the refused request")
        sealer.status = 200
        send(collector.otlp_http, after)
        soon(lambda: len(sealer.received) == 2, "the next request")
        assert holding([sealer.received[1].body], after["traceId"])  # and not the refused one again
        assert holding(collector.archived(), sent["traceId"])


def test_the_collector_answers_without_jaeger_prometheus_and_sealer(tmp_path: Path) -> None:
    sent = span("chat alone", {})
    with services.collector(tmp_path) as collector:
        send(collector.otlp_http, sent)
        assert holding(collector.archived(), sent["traceId"])


def test_what_was_acknowledged_survives_kills_under_load(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    acknowledged: list[str] = []
    stop = threading.Event()

    def client(url: str) -> None:
        while not stop.is_set():
            one = span("chat load", {"gen_ai.input.messages": "x" * 2000})
            try:
                send(url, one)
            except httpx.HTTPError:
                continue  # the collector is down or says no: not acknowledged
            acknowledged.append(one["traceId"])

    with services.collector(tmp_path, sealer=f"http://127.0.0.1:{port}") as collector:
        clients = [threading.Thread(target=client, args=(collector.otlp_http,)) for _ in range(2)]
        for thread in clients:
            thread.start()
        try:
            for _ in range(3):
                reached = len(acknowledged)
                soon(lambda reached=reached: len(acknowledged) > reached + 20, "more spans to be acknowledged")
                collector.service.kill()
                collector.service.start()
        finally:
            stop.set()
            for thread in clients:
                thread.join()
        with sink(port) as sealer:

            def arrived() -> set[str]:
                text = b"".join(one.body for one in list(sealer.received)).decode()
                return {one for one in acknowledged if one in text}

            soon(lambda: len(arrived()) == len(acknowledged), "all that was acknowledged")
        archive = b"".join(collector.archived()).decode()
    assert [one for one in acknowledged if one not in archive] == []


def test_rotation_keeps_every_line_whole(tmp_path: Path) -> None:
    sent = [span("chat large", {"gen_ai.input.messages": "y" * 300_000}) for _ in range(12)]
    with services.collector(tmp_path, env={"SPANSEAL_ARCHIVE_MEGABYTES": "1"}) as collector:
        for one in sent:
            send(collector.otlp_http, one)
        assert len(list(collector.archive_dir.glob("*.jsonl"))) >= 4
        lines = [json.loads(line) for line in collector.archived()]
    assert lines == [document(one, service="shop") for one in sent]


def test_a_request_of_many_megabytes_is_taken(tmp_path: Path) -> None:
    spans = [span("chat", {"gen_ai.input.messages": "z" * 100_000}) for _ in range(250)]  # above the default of 20 MiB
    with sink() as sealer, services.collector(tmp_path, sealer=sealer.url) as collector:
        send(collector.otlp_http, *spans)
        soon(lambda: len(sealer.received) == 1, "the request at the sealer")
        assert json.loads(sealer.received[0].body) == document(*spans, service="shop")


def test_a_full_queue_is_said_and_what_was_taken_arrives(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    taken: list[str] = []
    refused = 0
    env = {"SPANSEAL_QUEUE_BYTES": "100000"}
    with services.collector(tmp_path, sealer=f"http://127.0.0.1:{port}", env=env) as collector:
        for _ in range(30):
            one = span("chat", {"gen_ai.input.messages": "q" * 10_000})
            answer = httpx.post(
                f"{collector.otlp_http}/v1/traces", json=document(one, service="s"), trust_env=False, timeout=30
            )
            if answer.status_code == 200:
                taken.append(one["traceId"])
            else:
                assert answer.status_code == 503  # what clients send again
                refused += 1
        assert refused
        assert len(taken) > 3
        with sink(port) as sealer:
            soon(lambda: len(sealer.received) >= len(taken), "what was taken")
    assert [one for one in taken if not holding([r.body for r in sealer.received], one)] == []


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    loopback = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = (
        builder.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    )
    signed = builder.add_extension(loopback, critical=False).sign(key, hashes.SHA256())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "cert.pem").write_bytes(signed.public_bytes(pem))
    (folder / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return folder / "cert.pem", folder / "key.pem"


def test_exposed_receivers_demand_tls_and_their_token(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    env = {"SPANSEAL_INGEST_TOKEN": "let-me-in", "SPANSEAL_TLS_CERT": str(cert), "SPANSEAL_TLS_KEY": str(key)}
    body = document(span("chat exposed", {}), service="s")
    with services.collector(tmp_path, env=env, overlays=("exposed.yaml",)) as collector:
        url = collector.otlp_http.replace("http:", "https:") + "/v1/traces"
        with httpx.Client(verify=ssl.create_default_context(cafile=cert), trust_env=False, timeout=30) as client:
            assert client.post(url, json=body).status_code == 401
            assert client.post(url, json=body, headers={"Authorization": "Bearer guess"}).status_code == 401
            assert client.post(url, json=body, headers={"Authorization": "Bearer let-me-in"}).status_code == 200
        # without a body: the server closes at once, and unread bytes would make that a reset
        plain = httpx.post(f"{collector.otlp_http}/v1/traces", trust_env=False, timeout=30)
        assert plain.status_code == 400
        assert len(collector.archived()) == 1


def counted(sealer: Sealer, name: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    text = httpx.get(f"{sealer.url}/metrics", headers=headers, trust_env=False, timeout=30).text
    return int(text.partition(f"\nspanseal_sealer_{name}_total ")[2].split()[0])


@pytest.mark.parametrize("token", ["", "t" * 32])
def test_collector_and_sealer_fit(tmp_path: Path, token: str) -> None:
    sent = span("chat sealed", {"gen_ai.operation.name": "chat"})
    with (
        real_sealer(tmp_path / "sealer", token=token) as sealer,
        services.collector(tmp_path, sealer=sealer.url, token=token) as collector,
    ):
        send(collector.otlp_http, sent)
        soon(lambda: counted(sealer, "sealed_spans", token) == 1, "the span to be sealed")
    assert (sealer.store / "checkpoint").exists()


def test_a_wrong_token_loses_nothing(tmp_path: Path) -> None:
    """The queue keeps what the sealer did not take; with the right token it arrives."""
    token = "t" * 32
    with real_sealer(tmp_path / "sealer", token=token) as sealer:
        with services.collector(tmp_path, sealer=sealer.url, token="mistyped") as collector:
            send(collector.otlp_http, span("chat early", {}))
            soon(lambda: counted(sealer, "unauthorized", token) >= 2, "a second try with the wrong token")
        assert counted(sealer, "sealed_spans", token) == 0
        with services.collector(tmp_path, sealer=sealer.url, token=token):
            soon(lambda: counted(sealer, "sealed_spans", token) == 1, "the span to be sealed")
