"""``spanseal runs``: the recorded runs of a source, newest first."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from spanseal.cli.reading import (
    ContentKeysOption,
    HeadsOption,
    SourceArgument,
    TrustOption,
    UnverifiedOption,
)


def runs(
    source: SourceArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list: run_id, outcome, grade, …")] = False,
    content_keys: ContentKeysOption = None,
    trust: TrustOption = None,
    heads: HeadsOption = None,
    unverified: UnverifiedOption = False,
) -> int:
    """List the recorded runs: agent, outcome, how whole the record is, how exactly its calls can be sent again."""
    from spanseal.cli.reading import Output, exit_code, opened, write_json
    from spanseal.replay.render.json import run_summary
    from spanseal.replay.render.table import table

    reader = opened(source, trust=trust, heads=heads, content_keys=content_keys, unverified=unverified)
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
