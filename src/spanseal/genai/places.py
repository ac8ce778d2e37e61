"""Where a wire format's request keeps its content: what the conventions' attributes hold instead of the body. Pure.

The replay record (:mod:`spanseal.records.replay_record`) points from these fields into the attributes, so that nothing
is stored twice. May import nothing but the wire's JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from spanseal.genai.wire_json import as_list, is_list


@dataclass(frozen=True, slots=True)
class Places:
    """``history``: the field whose items are the input messages, one to one, where it is a list. ``message``: the
    fields which together are the only input message, where it is not. ``system``: the field whose text is the only
    part of the system instructions. ``plain``: the roles of which a message of a role and a text becomes one text part.
    Empty: there is no such field."""

    history: str = ""
    message: tuple[str, ...] = ()
    system: str = ""
    plain: frozenset[str] = frozenset()

    def count(self, body: Mapping[str, Any]) -> int:
        """How many messages the request sends; 0 where it has none to send (embeddings).

        >>> Places(history="input", message=("input",)).count({"input": "hi"})
        1
        """
        if self.history and is_list(body.get(self.history)):
            return len(as_list(body[self.history]))
        return int(any(key in body for key in self.message))


CHAT: Final = Places(history="messages", plain=frozenset({"system", "developer", "user", "assistant"}))
"""Chat completions and Ollama's chat."""
