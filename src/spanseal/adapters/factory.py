"""An adapter from a few words of configuration. Imports a client's package only for its backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanseal.adapters.base import LLMAdapter
from spanseal.errors import UsageError

_FIELDS: Final = {
    "openai": ("model", "base_url", "api_key", "timeout", "max_retries"),
    "ollama": ("model", "base_url", "timeout"),
}


def create_adapter(config: Mapping[str, Any]) -> LLMAdapter:
    """The adapter for ``{"backend": "openai" | "ollama", "model": …, "base_url": …, "api_key": …}``.

    ``base_url`` is the server's URL (Ollama: its host), ``api_key`` is also taken from ``OPENAI_API_KEY``; ``timeout``
    (seconds) and, for openai, ``max_retries`` may be given too. Raises :class:`spanseal.errors.UsageError` (the
    caller's fault) for an unknown backend or field, or without a model, and says what there is.

    >>> create_adapter({"backend": "ollama", "model": "smollm2"}).model
    'smollm2'
    """
    if not isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise UsageError(f"create_adapter: the configuration is a mapping, not {type(config).__name__}")
    backend = config.get("backend")
    if not isinstance(backend, str) or backend not in _FIELDS:
        raise UsageError(f"unknown backend {backend!r}; there are {', '.join(sorted(_FIELDS))}")
    known = _FIELDS[backend]
    unknown = sorted(str(key) for key in config if key not in known and key != "backend" and config[key] is not None)
    if unknown:
        raise UsageError(f"backend {backend} has no setting {', '.join(unknown)}; there are {', '.join(known)}")
    model = config.get("model")
    if not isinstance(model, str) or not model:
        raise UsageError(f"backend {backend} needs the model's name: set \"model\"")
    given = {key: config[key] for key in known if key != "model" and config.get(key) is not None}
    if backend == "ollama":
        from spanseal.adapters.ollama import OllamaAdapter

        return OllamaAdapter(model, host=given.pop("base_url", None), **given)
    from spanseal.adapters.openai import OpenAIAdapter

    return OpenAIAdapter(model, **given)
