"""An audit store as an auditor uses it: judge it, then read what it holds. May import the modules of audit.

Needs no model client and no OpenTelemetry; only ``cryptography``, and ``zstandard`` to open content.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.heads import HeadMemory
from spanseal.audit.read import StoredSpan, StoreReader
from spanseal.audit.trust import Trust
from spanseal.audit.verify import Verdict, verify_store


class AuditStore:
    """The store in folder ``root``. ``trust`` is a trust file: without one a signer is never believed (*unknown*).

    ``content_keys`` is the folder of the runs' keys, or of some of them, where content may be read; ``heads`` a file
    in which the last head of each log is remembered, so that a store that was rolled back is noticed. Nothing is
    written to the store.

    >>> import tempfile
    >>> AuditStore(tempfile.mkdtemp()).verify()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    spanseal.errors.NotAStoreError: ...
    """

    def __init__(
        self,
        root: str | Path,
        *,
        trust: str | Path | None = None,
        content_keys: str | Path | None = None,
        heads: str | Path | None = None,
    ) -> None:
        self.root = Path(root)
        self._trust = Trust.load(Path(trust)) if trust is not None else None
        self._keys = ContentKeys(Path(content_keys), whole=False) if content_keys is not None else None
        self._heads = HeadMemory(heads) if heads is not None else None

    def verify(self) -> Verdict:
        """Check every byte. Raises NotAStoreError for another folder; what is wrong with the store is a finding."""
        return verify_store(self.root, self._trust, self._heads, self._keys)

    def spans(self) -> Iterator[StoredSpan]:
        """Every sealed span in order, content as far as keys are there. Judge the store first."""
        return StoreReader(self.root, self._keys).spans()
