"""An audit store as a source: verified before the first span is read. May import ``audit`` and siblings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spanseal.audit.belief import belief_about
from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.read import StoreReader
from spanseal.audit.verify import Verdict, verify_store
from spanseal.errors import BadStoreError, DataError, OtlpError, ReplayError, StoreError
from spanseal.records.otlp import parse_span
from spanseal.replay.sources.base import Source, SourceSpan


def open_store(
    path: Path,
    *,
    trust: str | Path | None = None,
    heads: str | Path | None = None,
    content_keys: str | Path | None = None,
    unverified: bool = False,
) -> StoreSource:
    """Verify the store and give it as a source; what is not named is what this user's pin for its log names.

    A bad verdict raises :class:`BadStoreError` unless ``unverified``; an unknown signer is a note of the source.
    """
    if content_keys is not None and not Path(content_keys).is_dir():
        raise ReplayError(f"{content_keys}: no folder of content keys; keygen makes one as content/ in the key folder")
    belief = belief_about(path, trust=trust, heads=heads, content_keys=content_keys)
    verdict = verify_store(path, belief.trust, belief.heads, belief.content_keys)
    if verdict.verdict == "bad" and not unverified:
        raise BadStoreError(_refusal(path, verdict))
    return StoreSource(path, verdict, belief.content_keys, witnessed=belief.witnessed)


class StoreSource(Source):
    """Spans of a verified audit store, private values opened where the keys are here."""

    def __init__(
        self, path: Path, verdict: Verdict, content_keys: ContentKeys | None, *, witnessed: bool = False
    ) -> None:
        super().__init__(path)
        self.verdict = verdict
        self.witnessed = witnessed
        self._judged = verdict
        self._content_keys = content_keys

    def _stored(self) -> Iterator[SourceSpan]:
        if bad_lines := self._judged.covered.get("unparsable", 0):
            self._log.add("malformed", self.path.name, f"{bad_lines} sealed lines are no OTLP; they give no spans")
        try:
            yield from self._readable()
        except (DataError, StoreError) as error:
            if self._judged.verdict != "bad":
                raise
            self._log.add("damaged", self.path.name, f"reading stopped at the damage: {error}")

    def _readable(self) -> Iterator[SourceSpan]:
        """The spans under the head that was verified; what was sealed since is for the next look."""
        for stored in StoreReader(self.path, self._content_keys).spans():
            if stored.leaf_index >= self._judged.size and self._judged.verdict != "bad":
                self._log.add("newer", f"leaf {stored.leaf_index}", "sealed after the store was verified; not read")
                return
            place = f"leaf {stored.leaf_index}"
            try:
                record = parse_span(stored.raw, stored.resource, stored.scope)
            except OtlpError as error:
                self._log.add("malformed", place, f"sealed as a span, but not readable as one: {error}")
                continue
            yield SourceSpan(record, place, stored.content, stored.conflict)


def _refusal(path: Path, verdict: Verdict) -> str:
    bad = [found for found in verdict.findings if found.weight == "bad"]
    found = "; ".join(": ".join(filter(None, (f.code, f.where, f.meaning))) for f in bad[:3])
    found += f"; and {len(bad) - 3} more (spanseal verify names them)" if len(bad) > 3 else ""
    return f"{path}: the store does not verify, nothing was read (--unverified reads it all the same): {found}"
