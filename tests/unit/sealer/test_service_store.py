"""A sealer's store opens with the content keys that it was sealed under, never with new ones in their place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.attacks.store_kit import document, lines, span

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.verify import verify_store
from spanseal.errors import TrustError
from spanseal.sealer.keys import make_keys
from spanseal.sealer.seal import Sealer
from spanseal.sealer.service_store import open_writer


def test_a_store_whose_content_keys_are_gone_takes_nothing_until_they_are_restored(tmp_path: Path) -> None:
    keys, store = make_keys(tmp_path / "keys", tmp_path / "state", "example.com/log"), tmp_path / "store"
    with open_writer(store, keys):
        pass
    with open_writer(store, keys) as writer:
        Sealer(writer).seal(lines([document(span(1))]))
        size = writer.size
    shutil.move(keys.content, tmp_path / "backup")
    keys.content.mkdir()
    with pytest.raises(TrustError, match=r"no content key is left.*backup"):
        open_writer(store, keys).__enter__()
    assert not list(keys.content.iterdir())
    keys.content.rmdir()
    shutil.move(tmp_path / "backup", keys.content)
    with open_writer(store, keys) as writer:
        assert Sealer(writer).seal(lines([document(span(1))])).duplicates == 1
        assert writer.size > size


def test_a_store_with_erased_content_only_goes_on(tmp_path: Path) -> None:
    keys, store = make_keys(tmp_path / "keys", tmp_path / "state", "example.com/log"), tmp_path / "store"
    with open_writer(store, keys) as writer:
        Sealer(writer).seal(lines([document(span(1))]))
        for scope in {f"{kind}:{value}" for kind, value in (p.stem.split("-", 1) for p in keys.content.glob("*.key"))}:
            assert writer.content_keys.forget(scope)
    with open_writer(store, keys) as writer:
        assert Sealer(writer).seal(lines([document(span(2))])).spans == 1


@pytest.mark.parametrize("reopened", [False, True])
def test_one_lost_key_is_never_replaced_by_a_new_one(tmp_path: Path, reopened: bool) -> None:
    keys, store = make_keys(tmp_path / "keys", tmp_path / "state", "example.com/log"), tmp_path / "store"
    with open_writer(store, keys) as writer:
        Sealer(writer).seal(lines([document(span(1, 1)), document(span(2, 2))]))
        lost = next(path for path in sorted(keys.content.glob("*.key")) if not path.name.startswith("sha256"))
        backup = lost.read_bytes()
        lost.unlink()
        if not reopened:
            _refused_until_restored(Sealer(writer), lost, backup)
    with open_writer(store, keys) as writer:
        if reopened:
            _refused_until_restored(Sealer(writer), lost, backup)
    assert verify_store(store, None, None, ContentKeys(keys.content)).verdict == "unknown", "no trust, nothing bad"


def _refused_until_restored(sealer: Sealer, lost: Path, backup: bytes) -> None:
    more = lines([document(span(11, 1)), document(span(12, 2))], start=10_000)
    with pytest.raises(TrustError, match=f"{lost.name} is gone.*backup"):
        sealer.seal(more)
    assert not lost.exists()
    lost.write_bytes(backup)
    lost.chmod(0o600)
    assert sealer.seal(more).spans == 2
