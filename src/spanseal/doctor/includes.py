"""``${file:PATH}`` in a collector's configuration: what stands in another file. May import the settings and errors.

As the collector does it: the whole value is such a reference, and the file holds YAML. A relative path is looked for
from here, where the collector would start, then beside the file that names it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import yaml

from spanseal import settings
from spanseal.errors import UsageError

_REFERENCE: Final = re.compile(r"\$\{file:([^{}]+)\}")
_DEEPEST: Final = 16


class Includes:
    """Puts in what other files hold. ``unread`` are those that are not there, ``unset`` variables that they want."""

    def __init__(self) -> None:
        self.unread: list[str] = []
        self.unset: list[str] = []

    def node(self, text: str, file: Path, depth: int = 0) -> yaml.Node | None:
        """The YAML of a file with everything put in. Raises UsageError for what is no YAML, naming file and line."""
        expanded, missing = settings.expanded(text)
        self.unset += missing
        try:
            root: yaml.Node | None = yaml.compose(expanded, yaml.SafeLoader)
        except yaml.YAMLError as error:
            raise UsageError(f"{file}: no YAML ({' '.join(str(error).split())})") from error
        return root if root is None or "${file:" not in expanded else self._filled(root, file, depth, set())

    def _filled(self, node: yaml.Node, file: Path, depth: int, seen: set[int]) -> yaml.Node:
        if id(node) in seen:  # an alias
            return node
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            node.value = [(key, self._filled(value, file, depth, seen)) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            node.value = [self._filled(value, file, depth, seen) for value in node.value]
        elif isinstance(node, yaml.ScalarNode) and (found := _REFERENCE.fullmatch(node.value.strip())) is not None:
            return self._held(found[1].strip(), file, depth) or yaml.ScalarNode("tag:yaml.org,2002:null", "")
        return node

    def _held(self, name: str, file: Path, depth: int) -> yaml.Node | None:
        path = next((path for path in (Path(name), file.parent / name) if path.is_file()), None)
        if path is None or depth >= _DEEPEST:  # so deep goes only a file that includes itself
            self.unread.append(name)
            return None
        return self.node(read_text(path), path, depth + 1)


def read_text(file: Path) -> str:
    """The text of a configuration. Raises UsageError for what is none."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8 text; give a collector's configuration in YAML") from error
