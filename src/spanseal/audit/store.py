"""The only writer of an audit store. Order of every write: nothing is signed before it is durable.

::

    1 append frame -> 2 fdatasync -> 3 tiles, bundles -> 4 sign -> 5 replace checkpoint (tmp, fsync, rename, fsync
    folder) -> 6 history -> 7 index

``append`` does 1 and 2, ``publish`` the rest. What a crash at any point leaves, and what the next ``open`` does about
it, is the table in ``store_recover``. May import the modules of audit, effects and errors.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.leaf import EVENT_OPENED, KeyEventLeaf, scopes_of
from spanseal.audit.segment import decode_body, encode_frame, frame_leaves
from spanseal.audit.segment_build import BuiltFrame, FrameBuilder, IndexRow
from spanseal.audit.store_disk import Disk, RealDisk
from spanseal.audit.store_files import HeadFiles, SegmentFile
from spanseal.audit.store_index import SpanIndex, rows_of
from spanseal.audit.store_names import CHECKPOINT, CHECKPOINT_TMP, HISTORY, INDEX, LOCK, SEGMENTS, TILES
from spanseal.audit.store_recover import Recovered, read_history_state, recover, stop, stored_entries
from spanseal.audit.store_scan import read_frames, segment_first, segments_of
from spanseal.audit.store_tiles import TileWriter
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.keys import VKey
from spanseal.audit.tlog.note import Note, NoteSignature
from spanseal.effects import Effects
from spanseal.errors import FormatError, NotAStoreError, StoreError, StoreLockedError, StoreStoppedError, TrustError


class Signer(Protocol):
    """Signs heads (``tlog.note.NoteSigner``)."""

    vkey: VKey

    def sign(self, text: bytes) -> NoteSignature: ...


class LogMemory(Protocol):
    """Knows which log the keys have opened (``sealer.opened``); asked before anything is signed."""

    def leaf0(self, entry: bytes, *, published: bool) -> None:
        """Raises if the keys belong to a log that begins otherwise. ``published``: a head of this one is out."""
        ...


class StoreWriter:
    """An open store; one per store at a time, one thread. Make it with :meth:`open`, end it with :meth:`close`.

    ``repaired`` names the tiles that had to be rebuilt when it was opened.
    """

    def __init__(
        self, root: Path, signers: Sequence[Signer], content_keys: ContentKeys, origin: str,
        effects: Effects, disk: Disk, lock: int,
    ) -> None:  # fmt: skip
        self.root, self.origin = root, origin
        self.content_keys, self.effects = content_keys, effects
        self.repaired: tuple[str, ...] = ()
        self._signers, self._lock = tuple(signers), lock
        self._segment, self._head_files = SegmentFile(root, disk), HeadFiles(root, disk)
        self._stopped = ""
        self._head: Checkpoint | None = None
        self._positions: dict[str, int] = {}
        self._scopes: set[str] = set()
        self._tiles = TileWriter(root, disk)
        self._index = SpanIndex(root)

    @classmethod
    def open(
        cls, root: Path, signers: Signer | Sequence[Signer], content_keys: ContentKeys, *, origin: str,
        effects: Effects | None = None, disk: Disk | None = None, memory: LogMemory | None = None,
    ) -> Self:  # fmt: skip
        """Open a store for writing, or begin one in a folder that is empty or not there.

        Takes the store's lock (StoreLockedError if another sealer has it), recovers from a crash, and publishes a
        head over all that is stored, if ``memory`` lets it. Raises NotAStoreError for a folder of other things,
        TrustError if ``origin`` or a signer is not the log's, StoreStoppedError if data were lost or changed:
        such a store is never signed again.
        """
        root = Path(root)
        keys = tuple(signers) if isinstance(signers, Sequence) else (signers,)
        if not keys:
            raise TrustError("a store needs at least one key to sign its heads with: make one with `spanseal keygen`")
        _begin_folder(root)
        lock = _take_lock(root)
        try:
            writer = cls(root, keys, content_keys, origin, effects or Effects(), disk or RealDisk(), lock)
        except BaseException:
            os.close(lock)
            raise
        try:
            writer._recover(memory)
        except BaseException:
            writer.close()
            raise
        return writer

    @property
    def size(self) -> int:
        """Leaves that are stored, durable; the index that the next one gets."""
        return self._tiles.size

    @property
    def head(self) -> Checkpoint | None:
        """The head published last."""
        return self._head

    def position(self, source: str) -> int:
        """How many bytes of a source are sealed: where reading it goes on. 0 for one never seen."""
        return self._positions.get(source, 0)

    def sources(self) -> dict[str, int]:
        """Every source ever sealed from, with its position."""
        return dict(self._positions)

    def find(self, trace_id: str, span_id: str) -> list[IndexRow]:
        """The leaves that hold a span with these ids (lower hex), oldest first."""
        return self.find_all([(trace_id, span_id)])[trace_id, span_id]

    def find_all(self, ids: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[IndexRow]]:
        """What :meth:`find` says of each of these (trace id, span id)."""
        wanted = {(bytes.fromhex(trace_id), bytes.fromhex(span_id)): (trace_id, span_id) for trace_id, span_id in ids}
        try:
            found = self._index.find_all(wanted)
        except sqlite3.DatabaseError:  # a cache: made anew from the segments
            self._catch_up_index(0)
            found = self._index.find_all(wanted)
        return {wanted[key]: rows for key, rows in found.items()}

    def keys_for(self, scopes: Iterable[str]) -> dict[str, bytes | None]:
        """The content keys of these scopes, made and durable; None for erased scopes. Raises like :meth:`append`,
        and TrustError if the key of a scope that has content here is lost."""
        with self._guard():
            return self.content_keys.ensure(scopes, self._scopes)

    def frame(self, keys: Mapping[str, bytes | None]) -> FrameBuilder:
        """Begin the next frame; ``keys`` are of :meth:`keys_for`. To be finished and appended before anything else."""
        return FrameBuilder(self.size, self._head, keys, self.effects)

    def append(self, frame: BuiltFrame) -> None:
        """Store a frame, durable on return; it is not yet under a signed head.

        Raises StoreError if the disk is full (nothing is stored; go on when there is room) and StoreStoppedError
        after a failed sync; then the writer is dead for good.
        """
        if frame.first != self.size:
            raise ValueError(f"frame begins at leaf {frame.first}, the log has {self.size}")
        data = encode_frame(frame.first, frame.entries, frame.body)
        with self._guard():
            self._segment.append(frame.first, data)
        self._tiles.append(frame.entries)
        self._scopes.update(scopes_of(frame.entries))
        self._index.add(frame.rows)
        self._positions.update((item.source, item.end) for item in frame.ranges)

    def publish(self) -> Checkpoint:
        """Sign and publish a head over all that is stored; the last one if nothing was added since.

        Raises StoreError if the disk is full (what is stored stays stored; publish again when there is room).
        """
        with self._guard():
            head = self._head
            if head is None or head.size != self.size:
                head = Checkpoint(self.origin, self.size, self._tiles.root())
                note = Note(head.text, tuple(signer.sign(head.text) for signer in self._signers)).serialise()
                self._tiles.flush()
                self._head_files.replace(note)
                self._head = head
            elif self._head_files.paid:
                return head
            self._head_files.pay()
            self._tiles.tidy()
        self._index.commit(head.size, head.root)
        return head

    def close(self) -> None:
        """Release the lock. What was not published stays stored and is published by the next ``open``."""
        self._index.close()
        self._segment.close()
        self._head_files.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        self._stopped = self._stopped or "this store was closed: open it again"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _recover(self, memory: LogMemory | None) -> None:
        with self._guard():
            self.content_keys.sync()
            found = recover(self.root, self._tiles, (self._index.size, self._index.root))
            self._check_identity(found)
            history = read_history_state(self.root, found)
            self._positions, self._scopes, self._head = found.positions, found.scopes, found.head
            (self.root / CHECKPOINT_TMP).unlink(missing_ok=True)
            if found.segment is not None:
                self._segment.resume(found.segment, found.torn[1] if found.torn else None)
            self.repaired = self._tiles.mend(history.sizes, stored_entries(self.root, self.size))
            self._tiles.tidy()
            if not history.whole:
                self._head_files.mend(history.keep, history.append)
        if self.size == 0:
            self._begin_log()
        if memory is not None:
            memory.leaf0(next(stored_entries(self.root, 1))[0], published=self._head is not None)
        self._catch_up_index(max(found.index_at, 0))
        self.publish()

    def _check_identity(self, found: Recovered) -> None:
        own = {signer.vkey.text for signer in self._signers}
        opening = found.opening
        if opening is None:
            return
        if opening.origin != self.origin or (found.head and found.head.origin != self.origin):
            raise TrustError(f"{self.root} is the log {opening.origin}, the keys are those of {self.origin}")
        if not own <= set(opening.vkeys):
            raise TrustError(f"{self.root}: leaf 0 does not name the key that is to sign: use the keys of this log")
        if not found.head:
            return
        try:
            note = Note.parse(found.head_note)
            unsigned = [signer.vkey.name for signer in self._signers if note.signed(signer.vkey) is None]
        except FormatError as error:
            raise stop(self.root, f"the head's signature is damaged ({error})") from error
        if unsigned:
            raise stop(self.root, f"the head is not signed by {', '.join(unsigned)}")

    def _begin_log(self) -> None:
        builder = self.frame({})
        vkeys = tuple(signer.vkey.text for signer in self._signers)
        builder.add_leaf(KeyEventLeaf(self.effects.clock.time_ns(), EVENT_OPENED, self.origin, vkeys))
        self.append(builder.finish())

    def _catch_up_index(self, start: int) -> None:
        if start < self._index.size or start == 0:
            self._index.clear()
            start = 0
        paths = segments_of(self.root)
        firsts = [segment_first(path.name) or 0 for path in paths]
        for path, following in zip(paths, (*firsts[1:], self.size), strict=True):
            if following <= start:
                continue
            for placed in read_frames(path):
                if placed.frame.first >= start:
                    leaves = frame_leaves(placed.frame)
                    self._index.add(rows_of(placed.frame.first, leaves, decode_body(leaves, placed.frame.body)))
            self._index.commit(following, b"")
        self._index.commit(self.size, self._tiles.root())

    @contextlib.contextmanager
    def _guard(self) -> Generator[None]:
        """A failed sync ends this writer for good; any other fault of the disk leaves it usable."""
        if self._stopped:
            raise StoreStoppedError(self._stopped)
        try:
            yield
        except StoreStoppedError as error:
            self._stopped = str(error)
            raise
        except OSError as error:
            raise StoreError(
                f"{self.root} cannot be written ({error.strerror}): make room or correct the permissions; "
                "nothing of this batch is acknowledged"
            ) from error


def _begin_folder(root: Path) -> None:
    own = {CHECKPOINT, CHECKPOINT_TMP, HISTORY, LOCK, SEGMENTS, TILES, INDEX}
    try:
        root.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in root.iterdir()}
        if names and not names & {LOCK, SEGMENTS, CHECKPOINT}:
            raise NotAStoreError(f"{root} holds other things ({min(names)}): give an empty folder or an audit store")
        foreign = names - own
        if foreign and CHECKPOINT not in names:
            raise NotAStoreError(f"{root} holds {min(foreign)}, which is no part of an audit store")
        (root / SEGMENTS).mkdir(exist_ok=True)
    except OSError as error:
        raise NotAStoreError(f"{root} cannot be an audit store ({error.strerror})") from error


def _take_lock(root: Path) -> int:
    descriptor = os.open(root / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise StoreLockedError(f"{root} is being written by another sealer: stop it or use its endpoint") from error
    return descriptor
