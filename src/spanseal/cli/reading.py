"""What the reading commands share: opening a source, and writing lines for people to a terminal, pipe or file."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TextIO, TypeAlias

import typer

if TYPE_CHECKING:
    from rich.text import Text

    from spanseal.replay.reader import RunReader

WIDTH_ELSEWHERE: Final = 120

SourceArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="An audit store, an export file, or a folder of export files.")
]
ContentKeysOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--content-keys", metavar="DIR", help="The runs' content keys; by default the pinned ones."),
]
TrustOption: TypeAlias = Annotated[
    Path | None, typer.Option("--trust", metavar="FILE", help="The trust file; by default the pinned one.")
]
HeadsOption: TypeAlias = Annotated[
    Path | None, typer.Option("--heads", metavar="FILE", help="Where the last head of each log is remembered.")
]
UnverifiedOption: TypeAlias = Annotated[
    bool, typer.Option("--unverified", help="Read a store in spite of a bad verdict.")
]


def opened(
    source: Path,
    *,
    trust: Path | None,
    heads: Path | None,
    content_keys: Path | None,
    unverified: bool,
) -> RunReader:
    """A reader of the source. Raises BadStoreError, which ends the command with 1, for a store that is bad."""
    from spanseal.replay.reader import RunReader

    return RunReader.open(source, trust=trust, heads=heads, content_keys=content_keys, unverified=unverified)


class Output:
    """Lines for people on a stream: colours on a terminal only, as wide as it is, signs that its encoding has."""

    def __init__(self, stream: TextIO, width: int | None = None) -> None:
        from rich.console import Console

        from spanseal.replay.render.text import marks_for

        self.marks = marks_for(getattr(stream, "encoding", None))
        self._console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
        if width is None and not self._console.is_terminal:
            self._console.width = shutil.get_terminal_size((WIDTH_ELSEWHERE, 24)).columns
        self.width = self._console.width

    def lines(self, lines: Iterable[Text]) -> None:
        """Write lines, each as it is; they are as narrow as they must be already."""
        for line in lines:
            self._console.print(line, soft_wrap=True)

    def say(self, text: str) -> None:
        """Write one line of our own words with a stranger's in it."""
        from rich.text import Text

        from spanseal.replay.render.text import safe

        self.lines([Text(safe(text, self.marks, lines=True))])

    def verdict(self, reader: RunReader) -> None:
        """The store's verdict, if the source is a store."""
        from spanseal.replay.render.verdict import verdict_lines

        if reader.source.verdict is not None:
            self.lines(verdict_lines(reader.source.verdict, self.width, self.marks, witnessed=reader.source.witnessed))

    def notes(self, reader: RunReader) -> None:
        """What reading the source found odd."""
        from spanseal.replay.render.tree import notes

        self.lines(notes(reader.notes, self.width, self.marks))


def exit_code(reader: RunReader) -> int:
    """1 for a store that was read in spite of a bad verdict, else 0."""
    verdict = reader.source.verdict
    return 1 if verdict is not None and verdict.verdict == "bad" else 0


def write_json(document: object, target: Path | None = None) -> None:
    """One JSON document to stdout or to a file."""
    from spanseal.replay.render.json import dumps

    if target is None:
        typer.echo(dumps(document))
    else:
        with created(target) as file:
            file.write(dumps(document) + "\n")


@contextmanager
def created(target: Path) -> Generator[TextIO]:
    """The file to write to; what the disk refuses is an error with the file's name."""
    from spanseal.errors import UsageError

    try:
        with target.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from error
