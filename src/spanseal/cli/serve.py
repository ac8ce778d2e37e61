"""``spanseal serve``: the sealer beside a collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanseal import settings
from spanseal.errors import UsageError


def serve(
    store: Annotated[Path, typer.Option(metavar="DIR", help="The audit store; made if there is none.")],
    keys: Annotated[Path, typer.Option(metavar="DIR", help="The folder that `spanseal keygen` made.")],
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where OTLP/HTTP is taken.")] = "127.0.0.1:4320",
    tail: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Follow this folder of export files too; may be repeated.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Holds the bearer token to demand; else SPANSEAL_TOKEN.")
    ] = None,
) -> None:
    """Take spans over OTLP/HTTP and from files, and answer when they are sealed and on disk. Ends on SIGTERM."""
    from spanseal.sealer.service_address import bind, check_token, demand_token, parse_listen, read_token

    host, port = parse_listen(listen)
    token = read_token(token_file) if token_file is not None else settings.sealer_token()
    if token is not None:
        check_token(token, "SPANSEAL_TOKEN")
    demand_token(host, token)
    try:
        from spanseal.sealer.service import Service
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: pip install 'spanseal[sealer]'") from error
    from spanseal.sealer.keys import load_keys
    from spanseal.sealer.service_store import open_writer
    from spanseal.sealer.tail_files import demand

    if tail:
        demand(tail)
    _log_to_stderr()
    sealer_keys = load_keys(keys)
    with bind(host, port) as listener, open_writer(store, sealer_keys) as writer:
        address = f"[{host}]" if ":" in host else host
        place = f"http://{address}:{listener.getsockname()[1]}"
        Service(writer, token=token, tails=tail or ()).run(
            listener, ready=lambda: typer.echo(f"sealing for {sealer_keys.origin} into {store}, listening on {place}")
        )


def _log_to_stderr() -> None:
    import logging

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
