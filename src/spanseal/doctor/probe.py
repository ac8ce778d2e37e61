"""Tests a route with a span of its own, ``spanseal.probe``: posted to a URL, or a file written, synced, removed.

A spool is not touched, and nothing that waits in one is sent. The probe goes the way that spans of
this process would: same headers, certificates, compression. May import telemetry's export and plan.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from spanseal import __version__
from spanseal.doctor.finding import Finding
from spanseal.doctor.process import Process
from spanseal.genai import semconv
from spanseal.telemetry.export.encode import LineEncoder, batch
from spanseal.telemetry.export.otlp_http import without_secrets
from spanseal.telemetry.plan import route_of

_REMEDIES = {
    "later": "start the server, or correct the URL; spans are kept in the spool until it answers",
    "refused": "this URL takes no OTLP/HTTP traces: correct the path or the credentials",
    "split": "this URL does not take OTLP JSON: give an OTLP/HTTP endpoint (port 4318 of a collector)",
    "smaller": "this server takes bodies of a few hundred bytes only: raise its limit",
    "partly": "the server took the request and refused the span: see its log",
}


def probe(process: Process) -> Finding:
    """Try the way that spans would go. The finding's weight is ``info`` where it works, ``bad`` where it does not."""
    plan = process.plan
    if plan.url is not None:
        return _post(plan.url, process)
    if plan.folder is not None:
        return _write(plan.folder)
    return Finding("info", "no-route", "export", "there is no route to test")


def _post(url: str, process: Process) -> Finding:
    http = route_of(url, process.plan, process.settings).connection()
    span = _span()
    started = time.perf_counter()
    answer = http.post(batch([LineEncoder().line(span, {})]))
    took = (time.perf_counter() - started) * 1000
    http.close()
    where = without_secrets(url)
    if answer.verdict == "taken":
        context = span.get_span_context()
        trace = "" if context is None else f", trace {context.trace_id:032x}"
        return Finding("info", "route-works", where, f"a probe span was taken in {took:.0f} ms{trace}")
    return Finding("bad", "route-fails", where, f"{answer.verdict}: {answer.reason}", _REMEDIES[answer.verdict])


def _write(folder: Path) -> Finding:
    line = LineEncoder().line(_span(), {})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe-") as file:
            file.write(line)
            file.flush()
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            took = (time.perf_counter() - started) * 1000
    except OSError as error:
        return Finding("bad", "route-fails", str(folder), f"cannot be written ({error.strerror or error})",
                       "give a folder that this user may write, on a disk with room")
    return Finding("info", "route-works", str(folder), f"a probe span was written and synced (in {took:.1f} ms)")


def _span() -> ReadableSpan:
    """An ended span of a provider of its own, so that nothing else sees it."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(sampler=ALWAYS_ON)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    provider.get_tracer(semconv.SCOPE_NAME, __version__, semconv.SCHEMA_URL).start_span(semconv.SPAN_PROBE).end()
    provider.shutdown()
    return memory.get_finished_spans()[0]
