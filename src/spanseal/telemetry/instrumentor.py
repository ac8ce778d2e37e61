"""Zero-code entry: ``opentelemetry-instrument python app.py`` makes every OpenAI and Ollama client an instrumented one.

The end of each client's ``__init__`` does what :func:`spanseal.telemetry.instrument.instrument` does; spans go to
whatever provider there is. May import instrument; the clients' packages only where they are installed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any, Final

from opentelemetry.instrumentation.instrumentor import (  # pyright: ignore[reportMissingTypeStubs]
    BaseInstrumentor,
)

from spanseal.telemetry.guard import guarded
from spanseal.telemetry.instrument import instrument

_CLASSES: Final = (("openai", "OpenAI"), ("openai", "AsyncOpenAI"), ("ollama", "Client"), ("ollama", "AsyncClient"))


class SpansealInstrumentor(BaseInstrumentor):
    """The instrumentor behind the entry point ``opentelemetry_instrumentor``; a singleton, reversible.

    Clients made before are not touched; clients made while it is on stay instrumented.
    """

    def instrumentation_dependencies(self) -> Collection[str]:
        """None is required: each client package is instrumented where it is installed."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        self._originals: list[tuple[type, Callable[..., None]]] = []
        for package, name in _CLASSES:
            try:
                found: type = getattr(import_module(package), name)
            except (ImportError, AttributeError):
                continue
            original: Callable[..., None] = found.__init__
            self._originals.append((found, original))
            found.__init__ = _instrumenting(original)

    def _uninstrument(self, **kwargs: Any) -> None:
        for found, original in self._originals:
            found.__init__ = original
        self._originals = []


def _instrumenting(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - takes the place of one
        original(self, *args, **kwargs)
        _instrumented(self)

    return __init__


@guarded
def _instrumented(client: Any) -> None:
    instrument(client)
