"""``spanseal keygen``: make the sealer's keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanseal import settings


def keygen(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make; keep it apart from the store.")],
    origin: Annotated[
        str | None, typer.Option(help="The log's name, a URL without scheme. By default one that no other log has.")
    ] = None,
) -> None:
    """Make the sealer's private key, its public half, a trust file for verifiers, and the folder of content keys."""
    from spanseal.sealer.keys import make_keys

    keys = make_keys(folder, settings.state_dir(), origin)
    typer.echo(f"log        {keys.origin}")
    typer.echo(f"sign with  {folder / 'log.key'}   (private: whoever has it can write this log)")
    typer.echo(f"verify by  {folder / 'trust'}   (give it, and log.vkey, to those who verify; nothing else)")
    typer.echo(f"content    {folder / 'content'}   (the runs' keys: without one, its content cannot be read again)")
    typer.echo("pinned for this user: verify, runs and show find trust and content keys by themselves")
