"""``spanseal show``: one recorded run as a tree or as JSON, or one step of it as the model saw it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanseal.cli.reading import (
    ContentKeysOption,
    HeadsOption,
    SourceArgument,
    TrustOption,
    UnverifiedOption,
)

if TYPE_CHECKING:
    from spanseal.cli.reading import Output
    from spanseal.replay.reader import RunReader
    from spanseal.replay.run import Run, Step


class Form(StrEnum):
    """What ``--as`` takes."""

    TREE = "tree"
    JSON = "json"


def show(
    source: SourceArgument,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run id, a trace id, or the beginning of one.")
    ] = None,
    step: Annotated[int | None, typer.Option(metavar="N", help="Only this step, with all the model saw.")] = None,
    form: Annotated[Form, typer.Option("--as", help="The form.")] = Form.TREE,
    as_json: Annotated[bool, typer.Option("--json", help="As --as json: source, verdict, notes, run.")] = False,
    out: Annotated[Path | None, typer.Option("-o", metavar="FILE", help="Write to a file.")] = None,
    content_keys: ContentKeysOption = None,
    trust: TrustOption = None,
    heads: HeadsOption = None,
    unverified: UnverifiedOption = False,
) -> int:
    """Show a recorded run: every step, call, check, decision and tool with times, and what is missing of it."""
    from spanseal.cli.reading import WIDTH_ELSEWHERE, Output, created, exit_code, opened

    reader = opened(source, trust=trust, heads=heads, content_keys=content_keys, unverified=unverified)
    chosen = reader.run(run) if run else reader.runs()[0] if len(reader.runs()) == 1 else None
    if chosen is None:
        return _unnamed(reader, as_json=as_json or form is Form.JSON)
    part = None if step is None else _step(chosen, step)
    if as_json or form is Form.JSON:
        _json(reader, chosen, part, out)
    elif out is None:
        _picture(Output(sys.stdout), reader, chosen, part)
    else:
        with created(out) as file:
            _picture(Output(file, WIDTH_ELSEWHERE), reader, chosen, part)
    return exit_code(reader)


def _step(run: Run, number: int) -> Step:
    from spanseal.errors import ReplayError

    found = run.step(number)
    if found is None:
        there = ", ".join(str(step.number) for step in run.steps) or "none"
        raise ReplayError(f"run {run.run_id} has no step {number}; its recorded steps: {there}")
    return found


def _unnamed(reader: RunReader, *, as_json: bool) -> int:
    """No run, or several and none named: the table, and what to type next."""
    from spanseal.cli.reading import Output
    from spanseal.errors import UsageError
    from spanseal.replay.render.table import table

    if as_json:
        raise UsageError(f"{reader.source.path}: {len(reader.runs())} runs here; name one (spanseal runs lists them)")
    output = Output(sys.stderr)
    output.verdict(reader)
    output.lines(table(reader.runs(), output.width, output.marks))
    output.notes(reader)
    if reader.runs():
        output.say(f"Name the run to show: spanseal show {reader.source.path} {reader.runs()[0].run_id[:12]}")
    return 2


def _picture(output: Output, reader: RunReader, run: Run, step: Step | None) -> None:
    from spanseal.replay.render.step import step_view
    from spanseal.replay.render.tree import head, tree

    output.verdict(reader)
    if step is None:
        output.lines(tree(run, output.width, output.marks))
    else:
        output.lines(head(run, output.width, output.marks))
        output.lines(step_view(step, output.width, output.marks))
    output.notes(reader)


def _json(reader: RunReader, run: Run, step: Step | None, out: Path | None) -> None:
    from spanseal.cli.reading import write_json
    from spanseal.replay.render.json import plain, run_document, step_document

    verdict = reader.source.verdict
    told = run_document(run) if step is None else step_document(run, step)
    write_json(
        {
            "source": str(reader.source.path),
            "verdict": None if verdict is None else verdict.to_json(),
            "notes": plain(reader.notes),
            "run": told,
        },
        out,
    )
