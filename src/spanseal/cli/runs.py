"""``spanseal runs``: the recorded runs of a source, newest first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def runs(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="An audit store, an export file, or a folder of them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
    content_keys: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The runs' content keys; by default the pinned ones.")
    ] = None,
    trust: Annotated[Path | None, typer.Option(metavar="FILE", help="The trust file; by default the pinned one.")] = None,
    heads: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the last head of each log is kept.")] = None,
    unverified: Annotated[bool, typer.Option("--unverified", help="Read a store in spite of a bad verdict.")] = False,
) -> int:
    """List the recorded runs: agent, outcome, how whole the record is, and how faithfully its calls can be sent again."""
    from spanseal.cli.reading import Output, exit_code, opened, write_json
    from spanseal.replay.render.json import run_summary
    from spanseal.replay.render.table import table

    reader = opened(source, trust=trust, heads=heads, content_keys=content_keys, unverified=unverified)
    if reader is None:
        return 1
    found = reader.runs()
    if as_json:
        write_json([run_summary(run) for run in found])
        Output(sys.stderr).notes(reader)
        return exit_code(reader)
    output = Output(sys.stdout)
    output.verdict(reader)
    output.lines(table(found, output.width, output.marks))
    output.notes(reader)
    return exit_code(reader)
