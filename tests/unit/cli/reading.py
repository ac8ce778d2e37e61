"""Run one command line and keep what it said; streams of other encodings and terminals."""

from __future__ import annotations

import io
import sys

import pytest

from spanseal.cli.main import run


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def said(monkeypatch: pytest.MonkeyPatch, *arguments: str, encoding: str = "utf-8", terminal: bool = False) -> bytes:
    """The bytes that a command writes to a stdout of this kind; its exit code must be 0."""
    raw = io.BytesIO()
    stream = (Terminal if terminal else io.TextIOWrapper)(raw, encoding=encoding)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        assert run(arguments) == 0
        stream.flush()
    return raw.getvalue()
