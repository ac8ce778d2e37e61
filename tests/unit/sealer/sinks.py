"""Sealers that write nowhere: what they were given stays in memory, and they fail when told to."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from spanseal.errors import OtlpError
from spanseal.records.otlp import cut_line
from spanseal.sealer.seal import InputLine, SealReport


class MemorySealer:
    """Keeps lines as a store would. ``failures`` are raised one after the other, before anything is kept."""

    def __init__(self) -> None:
        self.groups: list[list[InputLine]] = []
        self.gaps: list[tuple[str, int, int, str]] = []
        self.failures: list[Exception] = []
        self.poison: bytes | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def seal(self, lines: Sequence[InputLine]) -> SealReport:
        self.entered.set()
        assert self.gate.wait(20)
        if self.failures:
            raise self.failures.pop(0)
        if any(line.raw == self.poison for line in lines):
            raise ValueError("a fault in the sealer itself")
        self.groups.append(list(lines))
        readable = [_spans(line.raw) for line in lines]
        return SealReport(
            sum(count for count in readable if count is not None), 0, readable.count(None), len(self.lines) + 1
        )

    def note_gap(self, source: str, start: int, end: int, reason: str) -> None:
        self.gaps.append((source, start, end, reason))

    def position(self, source: str) -> int:
        return max((line.end for line in self.lines if line.source == source), default=0)

    @property
    def lines(self) -> list[InputLine]:
        return [line for group in self.groups for line in group]

    @property
    def raws(self) -> list[bytes]:
        return [line.raw for line in self.lines]


def _spans(raw: bytes) -> int | None:
    try:
        return len(cut_line(raw).spans)
    except OtlpError:
        return None


def export(number: int, spans: int = 1) -> bytes:
    """One export document as the collector sends it, with ``spans`` spans that no other number has."""
    each = b",".join(
        b'{"traceId":"%032x","spanId":"%016x","name":"chat","kind":3,"startTimeUnixNano":"1","endTimeUnixNano":"2",'
        b'"attributes":[{"key":"gen_ai.input.messages","value":{"stringValue":"%d"}}],"status":{}}'
        % (number + 1, index + 1, number)
        for index in range(spans)
    )
    return b'{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{"name":"t"},"spans":[' + each + b"]}]}]}"
