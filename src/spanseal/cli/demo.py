"""``spanseal demo``: the whole line on one machine, on a real model, in a minute."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Each demo gets a new folder of its own in there.")
    ] = Path("demo-out"),
    model: Annotated[
        str, typer.Option("--model", metavar="MODEL", help="local, scripted, ollama:NAME, or URL#MODEL.")
    ] = "local",
) -> int:
    """Watch an agent work, be checked, stopped, traced, sealed, replayed with proof, and attacked.

    Exit code 0 only if the runs ended, were sealed, verified and replayed, and every tampering was found.
    """
    from rich.console import Console

    from spanseal.demo.story import tell

    folder = out / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    while folder.exists():
        folder = folder.with_name(folder.name + "-1")
    return 0 if tell(folder, model, Console(highlight=False, soft_wrap=False)) else 1
