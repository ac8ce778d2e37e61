"""Where numbers and events leave the process: a server that speaks OTLP/HTTP, or a file. May import export.

An outlet takes ready OTLP JSON documents, from one thread at a time, and never raises.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias

from spanseal.telemetry.content.redaction.redact import redact
from spanseal.telemetry.export.otlp_http import OtlpHttp
from spanseal.telemetry.export.sink import Complaints
from spanseal.telemetry.export.span_file import write_all

Verdict: TypeAlias = Literal["taken", "later", "never"]
"""later: try again. never: not this document (``dropped`` counts it), or nothing at all here any more."""
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_NOT_HERE: Final = ("HTTP 404", "HTTP 405", "HTTP 501")


class Outlet(Protocol):
    """One way out for one signal."""

    def deliver(self, document: bytes) -> Verdict:
        """Take one OTLP JSON document."""
        ...

    def after_fork(self) -> None:
        """In the child: leave the parent's files and connections alone."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


class ServerOutlet:
    """Posts through a connection that ``connect`` makes; ``what`` (metrics, events) and ``name`` are for people.

    A server that is down is said once. One that has no such endpoint (a sealer takes spans only) is left alone.
    """

    def __init__(self, connect: Callable[[], OtlpHttp], name: str, what: str) -> None:
        self._connect = connect
        self._http = connect()
        self.name = name
        self._what = what
        self.complaints = Complaints()
        self.gone = False

    def deliver(self, document: bytes) -> Verdict:
        """Post it."""
        if self.gone:
            return "never"
        answer = self._http.post(document)
        if answer.verdict == "later":
            told = "no %s to %s (%s); they go on when it takes them"
            self.complaints.say("down", told, self._what, self.name, redact(answer.reason))
            return "later"
        self.complaints.over("down", "%s takes %s again", self.name, self._what)
        if answer.verdict == "taken":
            return "taken"
        self.complaints.count("refused")
        if answer.reason.startswith(_NOT_HERE):
            self.gone = True
        else:
            self.complaints.say("refused", "%s refuses %s: %s", self.name, self._what, redact(answer.reason))
        return "never"

    def after_fork(self) -> None:
        """A connection of its own."""
        self._http.forget()
        self._http = self._connect()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


class FolderOutlet:
    """Appends to a file of this process, ``metrics-<utc>-<pid>-<n>.ndjson``: one OTLP JSON document a line.

    Not ``.jsonl``: what reads folders of spans would take it for spans.
    """

    def __init__(self, folder: Path, prefix: str) -> None:
        self.folder = folder
        self._prefix = prefix
        self._fd = -1
        self.complaints = Complaints()

    def deliver(self, document: bytes) -> Verdict:
        """Append it."""
        try:
            if self._fd < 0:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._fd = self._new_file()
            write_all(self._fd, document + b"\n")
        except OSError as error:
            reason = error.strerror or str(error)
            self.complaints.say("folder", "%s cannot be written to %s (%s)", self._prefix, self.folder, reason)
            return "later"
        self.complaints.over("folder", "%s can be written to %s again", self._prefix, self.folder)
        return "taken"

    def _new_file(self) -> int:
        stem = f"{self._prefix}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}"
        for number in itertools.count():
            try:
                return os.open(self.folder / f"{stem}-{number}.ndjson", _FLAGS, 0o600)
            except FileExistsError:
                continue
        raise AssertionError  # there is always a next number

    def after_fork(self) -> None:
        """A file of its own."""
        self.close()

    def close(self) -> None:
        """Close the file; a later document opens a new one."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
