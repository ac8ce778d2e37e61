"""What each place at the end of the line holds of some traces: archive, audit store, Jaeger, Prometheus."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, setrlimit
from typing import Any

import httpx
from tests.integration.line.running import environment
from tests.integration.line.seen import Seen, of_otlp, of_otlp_span
from tests.integration.parts import services
from tests.integration.parts.process import wait_until
from tests.integration.parts.sealer import COMMAND, Sealer

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.read import StoredSpan, StoreReader

PATIENCE = 60


def soon(condition: Callable[[], bool], what: str) -> None:
    """Wait for what has to happen by itself."""
    wait_until(condition, PATIENCE, what)


def in_archive(collector: services.Collector, traces: Collection[str]) -> list[Seen]:
    """The archive's spans of these traces, in order."""
    spans = (span for line in collector.archived() for span in of_otlp(json.loads(line)))
    return [span for span in spans if span.trace_id in traces]


def stored(sealer: Sealer) -> list[StoredSpan]:
    """Every span of the store, opened; none before the first head."""
    if not (sealer.store / "checkpoint").exists():
        return []
    return list(StoreReader(sealer.store, ContentKeys(sealer.keys / "content")).spans())


def in_store(sealer: Sealer, traces: Collection[str]) -> list[Seen]:
    """The store's spans of these traces, in order, their content opened."""
    return [
        of_otlp_span(json.loads(one.raw), json.loads(one.resource or b"{}"), json.loads(one.scope or b"{}"))
        for one in stored(sealer) if one.trace_id in traces
    ]  # fmt: skip


def times_in_store(sealer: Sealer) -> Counter[str]:
    """How often the store holds each span id."""
    return Counter(one.span_id for one in stored(sealer))


def in_jaeger(jaeger: services.Jaeger, traces: Collection[str]) -> list[Seen]:
    """What Jaeger's v3 API gives for these traces, without the adjustments that its own page wants."""
    found: list[Seen] = []
    for trace in traces:
        url = f"{jaeger.query}/api/v3/traces/{trace}"
        answer = httpx.get(url, params={"raw_traces": "true"}, trust_env=False, timeout=60).json()
        if "result" in answer:
            found += of_otlp(answer["result"])
    return found


def ask(prometheus: services.Prometheus, query: str) -> list[dict[str, Any]]:
    """The series that a query gives now."""
    answer = httpx.get(f"{prometheus.url}/api/v1/query", params={"query": query}, trust_env=False, timeout=60).json()
    assert answer["status"] == "success", f"{query}: {answer}"
    return answer["data"]["result"]


def spanseal(
    sealer: Sealer, *arguments: str | Path, largest_file: int = RLIM_INFINITY
) -> subprocess.CompletedProcess[str]:
    """The installed command, as the user whose state folder the sealer's keys are pinned in.

    `largest_file`: writes behind this many bytes of a file fail, as on a full disk.
    """
    return subprocess.run(
        [COMMAND, *arguments], env=environment(sealer.state), capture_output=True, text=True, check=False, timeout=120,
        preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (largest_file, RLIM_INFINITY)),
    )  # fmt: skip


def verify(sealer: Sealer, state: Path) -> dict[str, Any]:
    """The verdict of a stranger with nothing but the store and the trust file; fails unless it is good."""
    command = [COMMAND, "verify", sealer.store, "--trust", sealer.trust, "--json"]
    done = subprocess.run(
        command, env=environment(state), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def runs(sealer: Sealer) -> dict[str, dict[str, Any]]:
    """`spanseal runs --json` on the store, by run id."""
    done = spanseal(sealer, "runs", sealer.store, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return {run["run_id"]: run for run in json.loads(done.stdout)}
