"""The first bytes of a stream's body, for the words of an error where no event of a stream came.

Some servers answer a stream request with status 200 and a JSON error; the SDK's decoder passes over it in silence.
May import the wire's JSON; knows that the SDK's streams read their body through ``_decoder``, and does without.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from spanseal.genai.wire_json import JsonObject, as_map, loads_received

_LIMIT: Final = 65_536


class StreamHead:
    """Keeps the first 64 KiB that pass; ``stream`` is an ``openai.Stream`` or ``AsyncStream`` not read so far."""

    def __init__(self, stream: Any) -> None:
        self._kept = bytearray()
        self._decoder: Any = getattr(stream, "_decoder", None)
        if self._decoder is not None:
            stream._decoder = self

    def iter_bytes(self, source: Iterator[bytes]) -> Iterator[Any]:
        """The decoder's own, with the bytes kept."""
        return self._decoder.iter_bytes(map(self._keep, source))

    def aiter_bytes(self, source: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        """Likewise."""
        return self._decoder.aiter_bytes(self._keeping(source))

    def document(self) -> JsonObject:
        """The body, if it is one JSON object; empty otherwise."""
        try:
            return as_map(loads_received(bytes(self._kept)))
        except ValueError:
            return {}

    async def _keeping(self, source: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for data in source:
            yield self._keep(data)

    def _keep(self, data: bytes) -> bytes:
        if len(self._kept) < _LIMIT:
            self._kept += data[:_LIMIT]
        return data
