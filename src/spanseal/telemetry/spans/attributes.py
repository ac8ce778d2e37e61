"""The attributes of a span, an event or a link as a plain dict. May import opentelemetry only.

The SDK's own mapping takes a lock and calls Python for every look; whoever looks more than once takes a copy, which is
one step.
"""

from __future__ import annotations

from typing import Any, Protocol

from opentelemetry.util.types import Attributes


class Attributed(Protocol):
    """What has attributes."""

    @property
    def attributes(self) -> Attributes: ...


def plain_attributes(holder: Attributed) -> dict[str, Any]:
    """What is set on ``holder`` now.

    >>> from opentelemetry.sdk.trace import Event
    >>> plain_attributes(Event("e", {"a": 1}))
    {'a': 1}
    """
    found: Any = holder.attributes
    try:
        return found.copy()
    except AttributeError:  # none, or a mapping of somebody's own
        return dict(found or {})
