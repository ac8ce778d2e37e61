"""``spanseal verify``: judge an audit store against its signed head, or export files against their runs' ledgers."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spanseal.cli.reading import ContentKeysOption, HeadsOption, SourceArgument, TrustOption
from spanseal.errors import NotAStoreError, UsageError

if TYPE_CHECKING:
    from spanseal.audit.belief import Belief
    from spanseal.audit.verify import Verdict

_BETWEEN_WRITES: Final = frozenset({"write-interrupted", "unsigned-tail", "torn-tail"})
_LOOKS: Final = 6
_PAUSE: Final = 0.1


def verify(
    source: SourceArgument,
    trust: TrustOption = None,
    heads: HeadsOption = None,
    content_keys: ContentKeysOption = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON document: verdict, size, origin, findings, covered, unchecked, …"),
    ] = False,
) -> int:
    """Check every byte of an audit store. Exit code 0: as it was signed; 1: it is not; 2: it cannot be judged.

    Plain export files are held against the ledgers of their runs: 1 if spans are missing or contradict each other,
    else 2, for nothing seals them.
    """
    belief: Belief | None = None
    if _is_plain(source):
        from spanseal.replay.judge_files import judge_files

        verdict = judge_files(source)
    else:
        belief = _belief(source, trust, heads, content_keys)
        verdict = _judge(source, belief)
    if as_json:
        typer.echo(json.dumps(verdict.to_json(), indent=2))
    else:
        _print(verdict, belief)
    return verdict.exit_code


def _is_plain(source: Path) -> bool:
    """Whether these are export files. A folder with neither a store nor an export file may be a store's remains."""
    from spanseal.audit.store_names import is_store
    from spanseal.records.export_files import is_export

    if not source.exists():
        raise NotAStoreError(f"{source}: no such file or folder; give an audit store or export files")
    if not source.is_dir():
        return True
    return not is_store(source) and any(is_export(path.name) for path in source.iterdir())


def _belief(store: Path, trust: Path | None, heads: Path | None, content_keys: Path | None) -> Belief:
    from spanseal.audit.belief import belief_about

    if content_keys is not None and not content_keys.is_dir():
        raise UsageError(f"--content-keys {content_keys}: no such folder; give the sealer's `content` folder")
    return belief_about(store, trust=trust, heads=heads, content_keys=content_keys)


def _judge(store: Path, belief: Belief) -> Verdict:
    """The verdict; looked at again while a sealer writes, where a look fell between two of its writes."""
    from spanseal.audit.belief import claimed_head
    from spanseal.audit.verify import verify_store

    looks = 0
    while True:
        before = claimed_head(store)
        verdict = verify_store(store, belief.trust, belief.heads, belief.content_keys)
        looks += 1
        between = any(found.code in _BETWEEN_WRITES for found in verdict.findings)
        if verdict.verdict != "unknown" or not between or looks == _LOOKS:
            return verdict
        time.sleep(_PAUSE)
        if claimed_head(store) == before:  # nobody goes on writing: it is as it was left
            return verdict


def _print(verdict: Verdict, belief: Belief | None) -> None:
    from spanseal.cli.reading import Output
    from spanseal.replay.render.verdict import files_verdict, whole_verdict

    out = Output(sys.stdout)
    if belief is None:
        out.lines(files_verdict(verdict, out.marks))
        return
    out.lines(whole_verdict(verdict, belief.trust_path, out.marks, witnessed=belief.witnessed))
