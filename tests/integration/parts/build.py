"""Builds the Go services from `collector/build/*`, once, into the cache; finds Prometheus and an Ollama already here.

Each folder there is a Go module of its own with a complete go.sum: their dependencies do not fit together in one.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from . import debian, headers
from .cache import cache_root, content_key, linked, made_once
from .toolchain import go

MODULES = Path(__file__).parents[3] / "collector" / "build"


@dataclass(frozen=True)
class Recipe:
    """How one binary comes about: its module's folder, the package to build, whether it contains C++."""

    folder: str
    package: str = "."
    native: bool = False


RECIPES = {
    "otelcol": Recipe("otelcol"),
    "jaeger": Recipe("jaeger", "github.com/jaegertracing/jaeger/cmd/jaeger"),
    "ollama": Recipe("ollama", "github.com/ollama/ollama", native=True),
    "compose": Recipe("compose"),
    "verifier": Recipe("verifier"),
}
PARTS = (*RECIPES, "prometheus")
"""Everything that `python -m tests.integration.parts build` gets, by name."""


@cache
def binary(name: str) -> Path:
    """The path of a runnable `name`, one of `PARTS`; made on first use, which takes minutes.

    Raises:
        PartError: it cannot be had on this machine; the message says what to install.
    """
    found = _installed(name) if name in ("ollama", "prometheus") else None
    if found:
        return found
    if name == "prometheus":
        return debian.unpacked("prometheus") / "usr" / "bin" / "prometheus"
    return _built(name, RECIPES[name])


def _installed(name: str) -> Path | None:
    """The program of that name on the PATH, unless it is our own from an earlier build."""
    found = shutil.which(name)
    return Path(found) if found and Path(found).parent != cache_root() / "bin" else None


def _built(name: str, recipe: Recipe) -> Path:
    folder = MODULES / recipe.folder
    inputs = [folder / "go.mod", folder / "go.sum", *folder.glob("*.go")]
    key = content_key(inputs, recipe.package, go().version, headers.RECIPE + _instructions() if recipe.native else "")
    return made_once(cache_root() / "bin" / f"{name}-{key}", partial(_compile, folder, recipe))


def _compile(folder: Path, recipe: Recipe, target: Path) -> None:
    env = {"CGO_ENABLED": "0"}
    if recipe.native:
        include = headers.include_folder(folder)
        flags = f"-O2{_instructions()} -I{include}"
        env = {"CGO_ENABLED": "1", "CGO_CFLAGS": flags, "CGO_CXXFLAGS": flags}
    options = ["-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", str(target)]
    go().run("build", *options, recipe.package, cwd=folder, env=env)


@cache
def _instructions() -> str:
    """The compiler flag for the vector instructions that this machine has: with them a model answers ten times faster.

    Part of the binary's key, as a cache may be carried to another machine.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""  # not Linux: the compiler's own choice
    told = next((line for line in lines if line.startswith("flags")), "").split()
    return " -march=x86-64-v3" if {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"} <= set(told) else ""


def build_all(names: tuple[str, ...], say: Callable[[str], None]) -> None:
    """Get every part named, one after the other, and tell `say` where it is.

    For people, `<cache>/bin/<name>` leads to the newest; tests never use it.
    """
    for name in names:
        made = binary(name)
        linked(cache_root() / "bin" / name, made.resolve())
        say(f"{name}: {made}")


def version(name: str) -> str:
    """What the binary says about itself, for a report."""
    flag = "version" if name == "jaeger" else "--version"
    done = subprocess.run([binary(name), flag], capture_output=True, text=True, check=False, env=dict(os.environ))
    return (done.stdout or done.stderr).strip()
