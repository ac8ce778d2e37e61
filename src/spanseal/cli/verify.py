"""``spanseal verify``: judge an audit store against its signed head, and say what was and what was not looked at."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spanseal.cli.reading import ContentKeysOption, HeadsOption, TrustOption
from spanseal.errors import NotAStoreError, UsageError

if TYPE_CHECKING:
    from spanseal.audit.belief import Belief
    from spanseal.audit.verify import Verdict

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
    from spanseal.audit.belief import belief_about

    _demand_store(store)
    if content_keys is not None and not content_keys.is_dir():
        raise UsageError(f"--content-keys {content_keys}: no such folder; give the sealer's `content` folder")
    belief = belief_about(store, trust=trust, heads=heads, content_keys=content_keys)
    verdict = _judge(store, belief)
    if as_json:
        typer.echo(json.dumps(verdict.to_json(), indent=2))
    else:
        _print(verdict, belief)
    return verdict.exit_code


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


def _demand_store(store: Path) -> None:
    """Raise NotAStoreError, with what to do, where there cannot be a store."""
    if not store.exists():
        raise NotAStoreError(f"{store}: no such folder; give the folder that `spanseal seal --store` made")
    if not store.is_dir():
        raise NotAStoreError(f"{store} is a file; an audit store is a folder: give the one that holds `checkpoint`")


def _print(verdict: Verdict, belief: Belief) -> None:
    from spanseal.cli.reading import Output
    from spanseal.replay.render.verdict import whole_verdict

    out = Output(sys.stdout)
    out.lines(whole_verdict(verdict, belief.trust_path, out.marks, witnessed=belief.witnessed))
