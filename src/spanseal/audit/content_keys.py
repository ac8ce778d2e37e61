"""The content keys of a log: one random key per scope, one file each, in ``KEYS/content/``, never in the store.

Format of a key file (mode 0600; integers big-endian; ``content/<name>.key``, the name made from the scope)::

    "SSK1" | u8 state (1 key, 2 forgotten) | u8 wrapping (0 none) | u64 time, ns UTC | text8 scope
    | u16 length | wrapped key (32 bytes for wrapping 0; nothing when forgotten)
    | first 8 bytes of the SHA-256 of all before

Wrapping 0 keeps the key as it is, protected by the folder's permissions alone; other schemes (a key service, a
passphrase) get numbers of their own. A key is on disk, file and folder synced, before any frame uses it. ``forget``
replaces the file by a tombstone, so that a late resend of an erased scope is sealed without content. May import the
standard library, ``commitments`` and ``store_disk``.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Container, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from spanseal.audit.commitments import KEY_BYTES
from spanseal.audit.leaf_codec import Cursor, pack_text8
from spanseal.audit.store_disk import RealDisk
from spanseal.effects import Effects
from spanseal.errors import FormatError, TrustError

MAGIC: Final = b"SSK1"
STATE_KEY: Final = 1
STATE_FORGOTTEN: Final = 2
WRAP_NONE: Final = 0

_PLAIN_NAME: Final = re.compile(r"(run|trace|raw):([0-9a-f]{16,64})")
_CACHED: Final = 8192
_AT_ONCE: Final = 128
_FEW: Final = 4
_DISK: Final = RealDisk()


def key_file_name(scope: str) -> str:
    """The file a scope's key lies in; safe on any file system whatever the scope holds.

    >>> key_file_name("run:0af7651916cd43dd8448eb211c80319c")
    'run-0af7651916cd43dd8448eb211c80319c.key'
    """
    plain = _PLAIN_NAME.fullmatch(scope)
    if plain:
        return f"{plain[1]}-{plain[2]}.key"
    return f"sha256-{hashlib.sha256(scope.encode('utf-8')).hexdigest()}.key"


class ContentKeys:
    """Keys of a folder. Reading never creates; only the sealer's ``ensure`` (or ``create=True``) does.

    ``directory`` is ``KEYS/content``. ``whole`` says that it should have the key of every scope (the sealer's own
    folder), so that an absent one is *missing*; a reader who was handed some keys only sets it false, the others are
    then *withheld*. Every method raises :class:`TrustError`, naming the file, for a damaged one.
    """

    def __init__(self, directory: str | Path, effects: Effects | None = None, *, whole: bool = True) -> None:
        self.directory = Path(directory)
        self.whole = whole
        self._effects = effects or Effects()
        self._cache: OrderedDict[str, tuple[bytes, int]] = OrderedDict()

    def key_for(self, scope: str, *, create: bool = False) -> bytes | None:
        """The scope's 32-byte key; None if there is none (never made, withheld, or forgotten).

        With ``create`` a missing key is made and durable on return; a forgotten one stays None.
        """
        cached = self._cache.get(scope)
        if cached is not None:
            return cached[0]
        state, key = self._read(scope)
        if state == STATE_FORGOTTEN:
            return None
        if state is None and create:
            return self.ensure((scope,))[scope]
        if key is not None:
            self._remember(scope, key)
        return key

    def forgotten(self, scope: str) -> bool:
        """Whether the scope's key was destroyed by :meth:`forget`."""
        return scope not in self._cache and self._read(scope)[0] == STATE_FORGOTTEN

    def ensure(self, scopes: Iterable[str], sealed: Container[str] = ()) -> dict[str, bytes | None]:
        """Keys of all these scopes, made where missing, all durable on return; None for forgotten ones.

        What another process forgot meanwhile is noticed. ``sealed`` are scopes that had a key: where it is gone, a
        new one would open nothing of before, so that is a TrustError, and nothing is made. StoreStoppedError if the
        disk cannot make a key durable, OSError if it is full.
        """
        found: dict[str, bytes | None] = {}
        made: dict[str, bytes] = {}
        for scope in scopes:
            state, key = STATE_KEY, self._still_there(scope)
            if key is None:
                state, key = self._read(scope)
            if state is None and scope in sealed:
                path = self.directory / key_file_name(scope)
                raise TrustError(f"{path} is gone, and content is sealed under it: restore it from its backup")
            if state is None:
                key = made[scope] = self._effects.random.bytes(KEY_BYTES)
            found[scope] = key
        if made:
            self._write(STATE_KEY, made)
        for scope, key in found.items():
            if key is not None:
                self._remember(scope, key)
        return found

    def forget(self, scope: str) -> bool:
        """Destroy the key and leave a tombstone, durable on return; False if there was no key to destroy.

        The old file's bytes are overwritten as far as the file system lets us; copies and backups are not reached.
        """
        self._cache.pop(scope, None)
        path = self.directory / key_file_name(scope)
        had_key = self._read(scope)[0] == STATE_KEY
        descriptor = os.open(path, os.O_RDWR) if had_key else -1
        try:
            self._write(STATE_FORGOTTEN, {scope: b""})
            if had_key:
                os.pwrite(descriptor, bytes(os.fstat(descriptor).st_size), 0)
                os.fsync(descriptor)
        finally:
            if had_key:
                os.close(descriptor)
        return had_key

    def sync(self) -> None:
        """The names of all keys are on the disk when this returns."""
        _DISK.sync_folder(self.directory)

    def _still_there(self, scope: str) -> bytes | None:
        """The remembered key, if its file is the one that was read: forgetting puts another one in its place."""
        cached = self._cache.get(scope)
        if cached is None or _inode(self.directory / key_file_name(scope)) != cached[1]:
            return None
        return cached[0]

    def _remember(self, scope: str, key: bytes) -> None:
        self._cache[scope] = (key, _inode(self.directory / key_file_name(scope)))
        if len(self._cache) > _CACHED:
            self._cache.popitem(last=False)

    def _read(self, scope: str) -> tuple[int | None, bytes | None]:
        path = self.directory / key_file_name(scope)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None, None
        except OSError as error:
            raise TrustError(f"content key {path} cannot be read ({error.strerror}): check its permissions") from error
        try:
            return _decode_key_file(data, scope)
        except FormatError as error:
            raise TrustError(f"content key {path} is damaged ({error}): restore it from a backup") from error

    def _write(self, state: int, keys: Mapping[str, bytes]) -> None:
        """Replace the files of these scopes, durable on return.

        All are written first and then synced side by side, which the file system does in one go; none has its name
        before it is durable.
        """
        pending = list(keys.items())
        for start in range(0, len(pending), _AT_ONCE):
            written: list[tuple[int, Path, Path]] = []
            try:
                for scope, key in pending[start : start + _AT_ONCE]:
                    path = self.directory / key_file_name(scope)
                    temporary = path.with_suffix(".tmp")
                    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                    written.append((descriptor, temporary, path))
                    _DISK.append(descriptor, _encode_key_file(scope, state, key, self._effects.clock.time_ns()))
                _sync_all([descriptor for descriptor, _, _ in written])
            finally:
                for descriptor, _, _ in written:
                    os.close(descriptor)
            for _, temporary, path in written:
                temporary.replace(path)
        self.sync()


def _encode_key_file(scope: str, state: int, key: bytes, time: int) -> bytes:
    head = MAGIC + bytes((state, WRAP_NONE)) + time.to_bytes(8) + pack_text8(scope, "scope")
    data = head + len(key).to_bytes(2) + key
    return data + hashlib.sha256(data).digest()[:8]


def _decode_key_file(data: bytes, scope: str) -> tuple[int, bytes | None]:
    cursor = Cursor(data, "key file")
    if cursor.take(4) != MAGIC:
        raise FormatError("not a content key")
    state, wrapping = cursor.u8(), cursor.u8()
    cursor.u64()
    owner, key = cursor.text8(), cursor.take(cursor.u16())
    if cursor.take(8) != hashlib.sha256(data[:-8]).digest()[:8]:
        raise FormatError("checksum does not match")
    cursor.end()
    if owner != scope:
        raise FormatError(f"it is the key of {owner}")
    if state == STATE_FORGOTTEN and not key:
        return state, None
    if state != STATE_KEY or wrapping != WRAP_NONE or len(key) != KEY_BYTES:
        raise FormatError(f"state {state}, wrapping {wrapping} are not known to this program")
    return state, key


def _sync_all(descriptors: list[int]) -> None:
    if len(descriptors) < _FEW:
        for descriptor in descriptors:
            _DISK.sync(descriptor)
        return
    with ThreadPoolExecutor(32, "spanseal-sync") as pool:
        list(pool.map(_DISK.sync, descriptors))


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1
