"""Opens the store of a sealer for writing. May import audit and the sealer's keys."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.store import StoreWriter
from spanseal.errors import TrustError
from spanseal.sealer.keys import SealerKeys, check_apart
from spanseal.sealer.opened import opened_log


@contextmanager
def open_writer(store: Path, keys: SealerKeys) -> Generator[StoreWriter, None, None]:
    """The one writer of a store; made if there is none yet, brought to a good state after a crash.

    Raises UsageError (keys and store in one another, keys that opened another log), TrustError (the content keys are
    gone), StoreLockedError (another sealer runs), StoreStoppedError.
    """
    check_apart(keys.folder, store)
    content = ContentKeys(keys.content)
    with opened_log(keys.folder, store) as memory:
        memory.demand_store()
        writer = StoreWriter.open(store, keys.signer(), content, origin=keys.origin, memory=memory)
        try:
            memory.published()
            _demand_content_keys(writer, keys)
        except BaseException:
            writer.close()
            raise
    try:
        yield writer
    finally:
        writer.close()


def _demand_content_keys(writer: StoreWriter, keys: SealerKeys) -> None:
    """New keys in the place of lost ones would open nothing that is sealed, and could not be parted from them again."""
    if writer.sources() and not any(keys.content.glob("*.key")):
        raise TrustError(
            f"{keys.content}: no content key is left, and {writer.root} has content that was sealed under some: "
            "restore the folder from its backup, or begin a new store with new keys"
        )
