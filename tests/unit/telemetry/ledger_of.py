"""What an auditor does with exported spans: collect rows and manifests, hold one against the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

from spanseal.genai import semconv
from spanseal.records.ledger import Manifest, Row, check_rows, decode_manifest, manifest_valid


@dataclass
class Ledger:
    """Rows and manifests of one run and writer."""

    rows: list[Row] = field(default_factory=list[Row])
    manifests: list[Manifest] = field(default_factory=list[Manifest])

    @property
    def seqs(self) -> list[int]:
        return sorted(row.seq for row in self.rows)

    def check(self) -> None:
        """Every manifest holds, and together they cover every row."""
        covered: set[int] = set()
        for manifest in self.manifests:
            assert manifest_valid(manifest)
            within = [row for row in self.rows if manifest.first <= row.seq < manifest.first + manifest.count]
            assert check_rows(manifest, within) == ()
            covered |= {row.seq for row in within}
        assert covered == {row.seq for row in self.rows}


def ledgers(spans: Iterable[ReadableSpan]) -> dict[tuple[str, str], Ledger]:
    """By (run id, writer id)."""
    found: defaultdict[tuple[str, str], Ledger] = defaultdict(Ledger)
    for span in spans:
        run = attribute(span, semconv.RUN_ID)
        if run is None:
            continue
        ledger = found[run, attribute(span, semconv.WRITER_ID)]
        where = span.get_span_context()
        assert where is not None
        assert span.start_time is not None
        status = span.status.status_code.value
        ledger.rows.append(
            Row(attribute(span, semconv.SEQ), f"{where.span_id:016x}", span.start_time, span.end_time, status)
        )
        text = attribute(span, semconv.MANIFEST)
        if text is not None:
            ledger.manifests.append(decode_manifest(text))
    return dict(found)


def attribute(span: ReadableSpan, key: str) -> Any:
    """An attribute's value, None if it is not there."""
    return (span.attributes or {}).get(key)
