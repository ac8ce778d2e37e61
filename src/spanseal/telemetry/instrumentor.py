"""Zero-code entry: ``opentelemetry-instrument python app.py`` makes every OpenAI and Ollama client an instrumented one.

The end of each client's ``__init__`` does what :func:`spanseal.telemetry.instrument.instrument` does; spans go to
whatever provider there is (``zero_code`` sets one up). A client's package is not imported before the application does
it. May import instrument and patches.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection
from typing import Any, Final

import wrapt
from opentelemetry.instrumentation.instrumentor import (  # pyright: ignore[reportMissingTypeStubs]
    BaseInstrumentor,
)

from spanseal.telemetry.guard import guarded
from spanseal.telemetry.instrument import instrument, uninstrument
from spanseal.telemetry.patches import Patches

_CLASSES: Final = {"openai": ("OpenAI", "AsyncOpenAI"), "ollama": ("Client", "AsyncClient")}
_MADE_AT_IMPORT: Final = {"ollama": "_client"}  # what the functions of the module itself call
_patches: Final = Patches()
_clients: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


class SpansealInstrumentor(BaseInstrumentor):
    """The instrumentor behind the entry point ``opentelemetry_instrumentor``; a singleton, reversible.

    Clients made before are not touched, but for the one behind the functions of the module ``ollama``. Uninstrumenting
    gives classes and living clients back as they were.
    """

    _on = False

    def instrumentation_dependencies(self) -> Collection[str]:
        """None is required: each client package is instrumented where it is installed."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        SpansealInstrumentor._on = True
        for package in _CLASSES:
            wrapt.register_post_import_hook(_imported, package)

    def _uninstrument(self, **kwargs: Any) -> None:
        SpansealInstrumentor._on = False
        _patches.undo()
        for client in list(_clients):
            _given_back(client)
        _clients.clear()

    @classmethod
    def is_on(cls) -> bool:
        """Whether clients that are made now become instrumented ones."""
        return cls._on


@guarded
def _imported(module: Any) -> None:
    """Called once a client's package has been imported, or at once if it was."""
    if not SpansealInstrumentor.is_on():
        return
    for name in _CLASSES[module.__name__]:
        found = getattr(module, name, None)
        if isinstance(found, type) and not _patches.holds(found, "__init__"):
            _patches.put(found, "__init__", _made)
    made = getattr(module, _MADE_AT_IMPORT.get(module.__name__, ""), None)
    if made is not None:
        _instrumented(made)


def _made(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    original(self, *args, **kwargs)
    _instrumented(self)


@guarded
def _instrumented(client: Any) -> None:
    instrument(client)
    _clients.add(client)


@guarded
def _given_back(client: Any) -> None:
    uninstrument(client)
