"""What an auditor does with exported lines: every manifest holds, and together they cover every numbered span."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from spanseal.genai import semconv
from spanseal.records.ledger import Manifest, Row, check_rows, decode_manifest, manifest_valid
from spanseal.records.otlp import SpanRecord


def check_ledgers(spans: Iterable[SpanRecord]) -> dict[tuple[str, str], list[Row]]:
    """The rows by (run id, writer id), each checked against the writer's manifests."""
    rows: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    manifests: defaultdict[tuple[str, str], list[Manifest]] = defaultdict(list)
    for span in spans:
        found = span.attributes
        if semconv.RUN_ID not in found:
            continue
        key = (str(found[semconv.RUN_ID]), str(found[semconv.WRITER_ID]))
        row = Row(int(str(found[semconv.SEQ])), span.span_id, span.start, span.end, span.status_code)
        rows[key].append(row)
        if semconv.MANIFEST in found:
            manifests[key].append(decode_manifest(str(found[semconv.MANIFEST])))
    for key, there in rows.items():
        covered: set[int] = set()
        for manifest in manifests[key]:
            assert manifest_valid(manifest)
            within = [row for row in there if manifest.first <= row.seq < manifest.first + manifest.count]
            assert check_rows(manifest, within) == (), key
            covered |= {row.seq for row in within}
        assert covered == set(range(len(there))), (key, covered)
    return dict(rows)
