"""Keys are made once, read strictly, and never lie beside what they sign."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from spanseal.audit.pins import pin_for
from spanseal.audit.tlog.keys import VKey
from spanseal.audit.tlog.note import Note
from spanseal.audit.trust import Trust
from spanseal.errors import SpansealError, TrustError, UsageError
from spanseal.sealer.keys import SealerKeys, check_apart, load_keys, make_keys, parse_private, private_text


@pytest.fixture
def keys(tmp_path: Path) -> SealerKeys:
    return make_keys(tmp_path / "keys", tmp_path / "state", "example.com/agents")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_keygen_makes_the_folder_and_pins_it_for_this_user(keys: SealerKeys, tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    assert sorted(path.name for path in folder.iterdir()) == ["content", "log.key", "log.vkey", "trust"]
    assert [mode(path) for path in (folder, folder / "log.key", folder / "content")] == [0o700, 0o600, 0o700]
    assert list((folder / "content").iterdir()) == []
    assert VKey.parse((folder / "log.vkey").read_text().strip()).name == "example.com/agents"
    pin = pin_for("example.com/agents", tmp_path / "state")
    assert pin is not None
    assert (pin.trust_path, pin.keys_dir) == (folder / "trust", folder)


def test_what_the_key_signs_the_trust_file_believes(keys: SealerKeys) -> None:
    text = b"example.com/agents\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    note = Note(text, (load_keys(keys.folder).signer().sign(text),))
    assert Trust.load(keys.folder / "trust").verify_head(note.serialise()).origin == "example.com/agents"


def test_the_private_text_is_what_go_reads() -> None:
    """Key from the documentation of golang.org/x/mod/sumdb/note."""
    skey = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
    name, private = parse_private(skey, "log.key")
    keys = SealerKeys(Path("keys"), name, private)
    assert keys.vkey.text == "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    assert private_text(keys) == skey


def test_two_logs_have_two_names(tmp_path: Path) -> None:
    origins = {make_keys(tmp_path / str(number), tmp_path / "state").origin for number in range(3)}
    assert len(origins) == 3
    assert all(origin.startswith("spanseal.local/") for origin in origins)


@pytest.mark.parametrize("name", ["log.key", "log.vkey", "trust"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine\n")
    with pytest.raises(UsageError, match="not overwritten"):
        make_keys(tmp_path, tmp_path / "state")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine\n"]


@pytest.mark.parametrize("origin", ["", "a b", "a+b", "https://example.com/x", "a\nb", "x" * 300, "a\u00a0b"])
def test_a_name_that_no_log_can_have_is_refused(tmp_path: Path, origin: str) -> None:
    with pytest.raises(UsageError, match="--origin"):
        make_keys(tmp_path / "keys", tmp_path / "state", origin)
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "one line"),
        ("a\nb\n", "line 2"),
        ("hello\n", "line 1.*not a log's private key"),
        ("example.com/a+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k\n", "public key"),
        ("PRIVATE+KEY+a+00000000+!!!!\n", "line 1"),
        ("PRIVATE+KEY+a+00000000\n", "line 1"),
        ("PRIVATE+KEY+PeterNeumann+c74f20a4+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz\n", "hash"),
        ("PRIVATE+KEY+PeterNeumann+c74f20a3+AoEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz\n", "Ed25519"),
        ("PRIVATE+KEY+PeterNeumanm+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz\n", "hash"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "not a log's private key"),
    ],
)
def test_a_wrong_key_file_is_refused_naming_file_line_and_remedy(keys: SealerKeys, text: str, says: str) -> None:
    (keys.folder / "log.key").write_text(text)
    with pytest.raises(TrustError, match=says) as caught:
        load_keys(keys.folder)
    assert "log.key" in str(caught.value)
    assert "keygen" in str(caught.value)


def test_any_changed_byte_of_the_key_is_noticed(keys: SealerKeys) -> None:
    path = keys.folder / "log.key"
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(SpansealError):
            load_keys(keys.folder)


def test_a_folder_that_is_not_whole_or_open_to_all_is_refused(keys: SealerKeys, tmp_path: Path) -> None:
    with pytest.raises(TrustError, match="no such file"):
        load_keys(tmp_path / "missing")
    (keys.folder / "log.key").chmod(0o604)
    with pytest.raises(TrustError, match="chmod 600"):
        load_keys(keys.folder)
    (keys.folder / "log.key").chmod(0o640)
    assert load_keys(keys.folder).origin == "example.com/agents"
    other = make_keys(tmp_path / "other", tmp_path / "state")
    (keys.folder / "log.vkey").write_text(other.vkey.text + "\n")
    with pytest.raises(TrustError, match=r"log\.vkey.*public half"):
        load_keys(keys.folder)
    keys.content.rmdir()
    (keys.folder / "log.vkey").unlink()
    with pytest.raises(TrustError, match="content"):
        load_keys(keys.folder)


def test_keys_and_store_may_not_lie_in_one_another(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "store")
    for keys, store in [("store/keys", "store"), ("keys", "keys/store"), ("same", "same"), ("link/keys", "store")]:
        with pytest.raises(UsageError, match="one another"):
            check_apart(tmp_path / keys, tmp_path / store)
    check_apart(tmp_path / "store-keys", tmp_path / "store")


def test_keys_that_could_not_be_pinned_are_good_and_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the way")
    with pytest.raises(TrustError, match=r"made and good.*--trust"):
        make_keys(tmp_path / "keys", tmp_path / "state")
    assert load_keys(tmp_path / "keys").origin.startswith("spanseal.local/")
