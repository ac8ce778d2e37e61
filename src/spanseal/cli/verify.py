"""``spanseal verify``: judge an audit store against its signed head, and say what was and what was not looked at."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spanseal import settings
from spanseal.cli.reading import ContentKeysOption, HeadsOption, TrustOption
from spanseal.errors import NotAStoreError, UsageError

if TYPE_CHECKING:
    from rich.text import Text

    from spanseal.audit.content_keys import ContentKeys
    from spanseal.audit.heads import HeadMemory
    from spanseal.audit.trust import Pin, Trust
    from spanseal.audit.verify import Verdict
    from spanseal.replay.render.text import Marks

_NO_WITNESS: Final = "no-witness"
_LONGEST_HEAD: Final = 1 << 20
_BETWEEN_WRITES: Final = frozenset({"write-interrupted", "unsigned-tail", "torn-tail"})
_LOOKS: Final = 6
_PAUSE: Final = 0.1


def verify(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The audit store.")],
    trust: TrustOption = None,
    heads: HeadsOption = None,
    content_keys: ContentKeysOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Check every byte of an audit store. Exit code 0: as it was signed; 1: it is not; 2: it cannot be judged."""
    from spanseal.audit.heads import HeadMemory
    from spanseal.audit.trust import Trust, pin_for

    origin = _origin(store)
    pin = pin_for(origin, settings.state_dir()) if origin else None
    believed = trust if trust is not None else pin.trust_path if pin is not None else None
    trusted = Trust.load(believed) if believed is not None else None
    memory = HeadMemory(heads if heads is not None else settings.heads_file())
    verdict = _judge(store, trusted, memory, _content_keys(content_keys, pin))
    if as_json:
        typer.echo(json.dumps(verdict.to_json(), indent=2))
    else:
        _print(verdict, trusted, believed)
    return verdict.exit_code


def _judge(store: Path, trust: Trust | None, memory: HeadMemory, keys: ContentKeys | None) -> Verdict:
    """The verdict; looked at again while a sealer writes, where a look fell between two of its writes."""
    from spanseal.audit.verify import verify_store

    looks = 0
    while True:
        before = _head(store)
        verdict = verify_store(store, trust, memory, keys)
        looks += 1
        between = any(found.code in _BETWEEN_WRITES for found in verdict.findings)
        if verdict.verdict != "unknown" or not between or looks == _LOOKS:
            return verdict
        time.sleep(_PAUSE)
        if _head(store) == before:  # nobody goes on writing: it is as it was left
            return verdict


def _head(store: Path) -> bytes:
    from spanseal.audit.store_layout import is_plain, read_at_most

    path = store / "checkpoint"
    try:
        return read_at_most(path, _LONGEST_HEAD) if is_plain(path) else b""
    except OSError:
        return b""


def _origin(store: Path) -> str:
    """The log that the store says it is; whether it is, the signature decides. Raises NotAStoreError."""
    if not store.exists():
        raise NotAStoreError(f"{store}: no such folder; give the folder that `spanseal seal --store` made")
    if not store.is_dir():
        raise NotAStoreError(f"{store} is a file; an audit store is a folder: give the one that holds `checkpoint`")
    if not any(store.iterdir()):
        raise NotAStoreError(f"{store} is empty, nothing was ever sealed here: give the folder of a store")
    return _head(store).partition(b"\n")[0].decode("utf-8", "replace")


def _content_keys(given: Path | None, pin: Pin | None) -> ContentKeys | None:
    """The folder of content keys, or the key folder that holds it; by default the pinned one, where it is there."""
    from spanseal.audit.content_keys import ContentKeys

    if given is not None and not given.is_dir():
        raise UsageError(f"--content-keys {given}: no such folder; give the `content` folder of the sealer's keys")
    folder = given if given is not None else pin.keys_dir / "content" if pin is not None else None
    if folder is None or not folder.is_dir():
        return None
    inner = folder / "content"
    return ContentKeys(inner if inner.is_dir() else folder, whole=given is None)


def _print(verdict: Verdict, trust: Trust | None, believed: Path | None) -> None:
    from spanseal.cli.reading import Output

    out = Output(sys.stdout)
    out.lines(_lines(verdict, out.marks))
    out.say(f"  trust        {believed or 'none: give the trust file of the log with --trust'}")
    witnessed = trust is not None and trust.witnessed
    if not witnessed and all(found.code != _NO_WITNESS for found in verdict.findings):
        from spanseal.audit.findings import CODES

        out.say(f"  {out.marks.warn} {CODES[_NO_WITNESS].meaning}")


def _lines(verdict: Verdict, marks: Marks) -> Iterator[Text]:
    from rich.text import Text

    from spanseal.replay.render.text import safe

    signs = {"ok": (marks.good, "green"), "bad": (marks.bad, "bold red"), "unknown": (marks.warn, "yellow")}
    sign, style = signs[verdict.verdict]
    what = f" {marks.dot} {safe(verdict.origin, marks) or 'no log'} {marks.dot} {verdict.size} leaves"
    yield Text(f"{sign} {verdict.verdict}", style).append(what, "dim")
    for found in verdict.findings:
        sign, style = {"bad": signs["bad"], "unknown": signs["unknown"]}.get(found.weight, (marks.warn, "dim"))
        place = f": {safe(found.where, marks)}" if found.where else ""
        yield Text(f"  {sign} {found.code}", style).append(f"{place}: {safe(found.meaning, marks)}", "default")
    yield Text(f"  covered      {_counts(verdict.covered)}")
    yield Text(f"  not checked  {_counts(verdict.unchecked)}")
    if verdict.rebuildable:
        caches = ", ".join(safe(path, marks) for path in verdict.rebuildable)
        yield Text(f"  caches       {caches} (nothing rests on them)")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count) or "nothing"
