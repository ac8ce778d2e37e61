"""What of the history a model call sees. A view, never a change: the state keeps everything. Pure."""

from __future__ import annotations

from typing import Protocol

from spanseal.genai.messages import Message


class MemoryView(Protocol):
    """Chooses messages for one call; it may drop or shorten, never invent."""

    def view(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages to send, made from the whole history."""
        ...


class FullHistory:
    """Everything, every time.

    >>> FullHistory().view((Message("user", "hi"),))[0].text
    'hi'
    """

    def view(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return messages
