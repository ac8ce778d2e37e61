"""Reads a collector's configuration as the collector does: several files laid over each other, variables expanded.

Maps are merged, everything else is replaced (OpenTelemetry Collector, "Configuration", merging of sources). Every
setting is remembered with its file and line. May import includes and errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, TypeAlias, cast

import yaml
from yaml.constructor import SafeConstructor

from spanseal.doctor.includes import Includes, read_text
from spanseal.errors import UsageError

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Collector:
    """A configuration. ``document`` is the merged one; ``lines`` says where each key stands, as ``file:line``."""

    document: Mapping[str, Any]
    lines: Mapping[Path, str] = field(repr=False)
    unset: tuple[str, ...] = ()
    """Variables that the files want and the environment does not have, without a default."""
    unread: tuple[str, ...] = ()
    """Files that the files include and that are not here."""

    def at(self, *path: str | int) -> Any:
        """The value there; None where there is none."""
        value: Any = self.document
        for key in path:
            if isinstance(value, Mapping):
                value = cast("Mapping[Any, Any]", value).get(key)
            elif isinstance(value, list) and isinstance(key, int):
                items = cast("list[Any]", value)
                value = items[key] if key < len(items) else None
            else:
                return None
        return value

    def mapping(self, *path: str | int) -> Mapping[str, Any]:
        """The mapping there; empty where there is none."""
        value = self.at(*path)
        return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}

    def names(self, *path: str | int) -> list[str]:
        """The list of names there; empty where there is none."""
        value = self.at(*path)
        return [str(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []

    def where(self, *path: str | int) -> str:
        """File and line of a setting, of its nearest parent where it is not there itself, and its name."""
        name = ".".join(map(str, path))
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return f"{self.lines[path[:length]]} {name}"
        return name


def read_collector(files: Sequence[FilePath]) -> Collector:
    """The configuration of these files, each laid over the ones before. Raises UsageError that names file and line."""
    document: dict[str, Any] = {}
    lines: dict[Path, str] = {}
    includes = Includes()
    for file in files:
        node = includes.node(read_text(file), file)
        try:
            loaded: object = None if node is None else SafeConstructor().construct_document(node)  # pyright: ignore[reportUnknownMemberType] - no types
        except yaml.YAMLError as error:
            raise UsageError(f"{file}: no YAML ({' '.join(str(error).split())})") from error
        if not isinstance(loaded, dict):
            raise UsageError(f"{file}: no collector configuration; it has no sections such as receivers and service")
        _merge(document, cast("dict[str, Any]", loaded))
        _note_lines(node, file.name, (), lines)
    unset, unread = dict.fromkeys(includes.unset), dict.fromkeys(includes.unread)
    return Collector(document, lines, tuple(unset), tuple(unread))


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        known = into.get(key)
        if isinstance(known, dict) and isinstance(value, Mapping):
            _merge(cast("dict[str, Any]", known), cast("Mapping[str, Any]", value))
        else:
            into[key] = value


def _note_lines(node: yaml.Node | None, file: str, path: Path, lines: dict[Path, str]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, str(key.value))
            lines[inner] = f"{file}:{key.start_mark.line + 1}"
            _note_lines(value, file, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            lines[*path, number] = f"{file}:{value.start_mark.line + 1}"
