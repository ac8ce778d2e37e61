"""Where the endpoint listens, and whether it may without a token. May import errors and the standard library."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

from spanseal.errors import UsageError


def parse_listen(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT`` (``[::1]:4320`` for IPv6; port 0 takes a free one). Raises UsageError.

    >>> parse_listen("127.0.0.1:4320"), parse_listen("[::1]:0")
    (('127.0.0.1', 4320), ('::1', 0))
    """
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--listen {text!r}: say HOST:PORT, for example 127.0.0.1:4320 or [::1]:4320")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("sealer.example")
    (True, True, False, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        return False


def demand_token(host: str, token: str | None) -> None:
    """Raise UsageError when others can reach ``host`` and no bearer token keeps strangers out."""
    if not is_loopback(host) and token is None:
        raise UsageError(
            f"--listen {host}: other machines can reach this address, so a bearer token is needed: "
            "set SPANSEAL_TOKEN or --token-file, and give the collector the same"
        )


def read_token(file: Path) -> str:
    """The token in a file, surrounding white space taken off. Raises UsageError naming the file."""
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file {file}: cannot be read ({error})") from error
    return check_token(token, f"--token-file {file}")


def check_token(token: str, place: str) -> str:
    """The token, if a header can carry it. Raises UsageError naming ``place`` (never the token).

    >>> check_token("s3cret", "SPANSEAL_TOKEN")
    's3cret'
    """
    if not token or not all("!" <= char <= "~" for char in token):
        raise UsageError(f"{place}: must hold one token of ASCII letters, digits and signs, without spaces")
    return token


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises UsageError when it cannot."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UsageError(f"--listen {host}:{port}: cannot listen there: {error.strerror}") from error
