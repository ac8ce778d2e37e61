"""``spanseal seal``: export files into the audit store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from spanseal.audit.tlog.checkpoint import Checkpoint
    from spanseal.sealer.seal import Sealer
    from spanseal.sealer.service_tail import Totals
    from spanseal.sealer.tail import Tail


def seal(
    spans: Annotated[list[Path], typer.Argument(metavar="SPANS", help="Export files, or folders of them.")],
    store: Annotated[Path, typer.Option(metavar="DIR", help="The audit store; made if there is none.")],
    keys: Annotated[Path, typer.Option(metavar="DIR", help="The folder that `spanseal keygen` made.")],
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what is appended, until interrupted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Seal exported spans: every complete line once, however often this is run."""
    from spanseal.sealer.keys import load_keys
    from spanseal.sealer.seal import Sealer
    from spanseal.sealer.service_store import open_writer
    from spanseal.sealer.service_tail import Totals, seal_once
    from spanseal.sealer.source_names import naming_key
    from spanseal.sealer.tail import Tail
    from spanseal.sealer.tail_files import demand

    demand(spans)
    totals = Totals()
    with open_writer(store, load_keys(keys)) as writer:
        tail = Tail(spans, writer.position, naming_key(writer.content_keys))
        try:
            if follow:
                _follow(tail, Sealer(writer), totals, quiet=as_json)
            else:
                seal_once(tail, Sealer(writer), totals)
        finally:
            tail.close()
        head = writer.publish()
    if as_json:
        typer.echo(_document(tail, totals, head))
    else:
        _print(spans, tail, totals, head)
    if tail.unread:
        raise typer.Exit(2)


def _follow(tail: Tail, sealer: Sealer, totals: Totals, *, quiet: bool) -> None:
    import logging
    import signal
    import threading

    from spanseal.sealer.service_tail import seal_on

    logging.basicConfig(format="%(message)s", level=logging.INFO)
    stop = threading.Event()
    said = 0

    def progress() -> None:
        nonlocal said
        if totals.spans != said and not quiet:
            said = totals.spans
            typer.echo(f"{totals.spans} spans sealed, log size {totals.size}", err=True)

    def end(_number: int, _frame: object) -> None:
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        seal_on(tail, sealer, totals, stop, after=progress)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _document(tail: Tail, totals: Totals, head: Checkpoint) -> str:
    import base64
    import json

    return json.dumps(
        {
            "origin": head.origin,
            "size": head.size,
            "root": base64.b64encode(head.root).decode(),
            "spans": totals.spans,
            "duplicates": totals.duplicates,
            "unparsable": totals.unparsable,
            "blank": tail.blank,
            "torn": [{"file": str(torn.path), "offset": torn.offset, "bytes": torn.size} for torn in tail.torn],
            "gaps": [{"file": str(gap.path), "start": gap.sealed, "end": gap.seen} for gap in tail.gaps],
            "unread": [{"file": str(unread.path), "why": unread.why} for unread in tail.unread],
        },
        indent=2,
    )


def _print(spans: list[Path], tail: Tail, totals: Totals, head: Checkpoint) -> None:
    import base64
    import sys

    from spanseal.cli.reading import Output
    from spanseal.sealer.tail_files import discover

    lines = [f"sealed {totals.spans} spans"]
    if totals.duplicates:
        lines.append(f"  {totals.duplicates} were sealed before and were not written again")
    if totals.unparsable:
        lines.append(f"  {totals.unparsable} lines are no OTLP JSON; they are sealed as raw bytes")
    lines += [f"  {path}: no export file (.jsonl or .json) lies there" for path in spans if not any(discover([path]))]
    lines += [f"  {torn.path}: the last {torn.size} bytes have no line end yet; left for later" for torn in tail.torn]
    lines += [f"  {gap.path}: after byte {gap.sealed}: {gap.reason}" for gap in tail.gaps]
    lines += [f"  NOT READ {unread.path}: {unread.why}" for unread in tail.unread]
    lines += [f"log    {head.origin}", f"size   {head.size}", f"root   {base64.b64encode(head.root).decode()}"]
    out = Output(sys.stdout)
    for line in lines:
        out.say(line)
