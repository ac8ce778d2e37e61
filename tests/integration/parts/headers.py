"""The C headers that Ollama's module does not carry.

Its repository vendors them, its module zip leaves them out. They come from where they are packaged: Debian's
nlohmann-json3-dev and libstb-dev, and the Go module malgo for miniaudio.h.
"""

import shutil
from pathlib import Path

from . import debian
from .cache import cache_root, locked
from .toolchain import go

RECIPE = "nlohmann-json3-dev libstb-dev malgo/miniaudio.h -O2"
"""Part of the binary's key: change it when the way of building changes."""

FROM_DEBIAN = {"nlohmann": "nlohmann-json3-dev", "stb": "libstb-dev"}
"""Folder of headers → package that has it as `usr/include/<folder>`."""


def include_folder(module: Path) -> Path:
    """A folder to compile Ollama with (`-I`), put together in the cache.

    Args:
        module: the Go module that builds Ollama; its go.mod pins malgo.
    """
    target = cache_root() / "ollama-include"
    with locked(cache_root() / ".ollama-include.lock"):
        for name, package in FROM_DEBIAN.items():
            shutil.copytree(_installed(name, package), target / name, dirs_exist_ok=True)
        (target / "miniaudio").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_malgo(module) / "miniaudio.h", target / "miniaudio" / "miniaudio.h")
    return target


def _installed(name: str, package: str) -> Path:
    system = Path("/usr/include") / name
    return system if system.is_dir() else debian.unpacked(package) / "usr" / "include" / name


def _malgo(module: Path) -> Path:
    name = "github.com/gen2brain/malgo"
    go().run("mod", "download", name, cwd=module)
    return Path(go().run("list", "-m", "-f", "{{.Dir}}", name, cwd=module).strip())
