"""Holds the tree to its design: sizes of files and functions, import directions, no reader of the environment but one.

import-linter (``make check``) holds the same directions transitively; this test names file and line at once.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from spanseal.genai import semconv

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "spanseal"
MAX_FILE, MAX_FUNCTION = 400, 40

LAYERS: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "cli",
        "demo doctor",
        "testing",
        "evaluation",
        "rerun",
        "agent replay sealer",
        "tools",
        "verification control adapters",
        "runstore audit",
        "telemetry",
        "records",
        "genai",
        "settings",
        "effects",
        "errors",
    )
)
PURE = ("genai/", "records/", "audit/tlog/", "agent/loop.py", "control/policy.py", "control/plane.py")
IMPURE_MODULES = {"os", "io", "time", "random", "socket", "opentelemetry", "pathlib", "subprocess"}


def python_files() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports_of(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple(_imports_of(path))


def _imports_of(path: Path) -> Iterator[tuple[int, str]]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.lineno, node.module
            if node.module == "spanseal":
                for alias in node.names:
                    yield node.lineno, f"spanseal.{alias.name}"


def module_name(path: Path) -> str:
    return ".".join(("spanseal", *path.relative_to(SRC).with_suffix("").parts))


def layer_of(module: str) -> int | None:
    parts = module.split(".")
    if parts[0] != "spanseal" or len(parts) < 2:
        return None
    return next((index for index, names in enumerate(LAYERS) if parts[1] in names), None)


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its decorators and docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def test_there_is_something_to_hold() -> None:
    assert len(python_files()) > 10


@pytest.mark.parametrize("folder", ["src", "tests", "dashboards"])
def test_no_file_is_longer_than_allowed(folder: str) -> None:
    long = {
        path.relative_to(ROOT).as_posix(): count
        for path in (ROOT / folder).rglob("*.py")
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > MAX_FILE
    }
    assert not long


def test_the_median_file_stays_small() -> None:
    assert statistics.median(len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()) <= 160


def test_no_function_is_longer_than_allowed() -> None:
    long = [
        f"{name_of(path)}:{node.lineno} {node.name} has {code_lines(node)} lines"
        for path in python_files()
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and code_lines(node) > MAX_FUNCTION
    ]
    assert not long


def test_imports_go_down_only() -> None:
    wrong: list[str] = []
    for path in python_files():
        own_name = name_of(path)
        own = layer_of("spanseal." + own_name.removesuffix(".py").split("/")[0])
        if own is None:
            continue
        folder = own_name.removesuffix(".py").split("/")[0]
        for line, module in imports_of(path):
            other = layer_of(module)
            if other is None or module.split(".")[1] == folder:
                continue
            if other <= own:
                wrong.append(f"{own_name}:{line} imports {module}")
    assert not wrong


def test_every_folder_has_a_layer() -> None:
    known = frozenset[str]().union(*LAYERS)
    folders = {path.name for path in SRC.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= known


def test_pure_modules_import_nothing_impure() -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {module}"
        for path in python_files()
        if name_of(path).startswith(PURE)
        for line, module in imports_of(path)
        if module.split(".")[0] in IMPURE_MODULES
    ]
    assert not wrong


def test_only_settings_reads_the_environment() -> None:
    wrong = [
        f"{name_of(path)}:{node.lineno}"
        for path in python_files()
        if not name_of(path).startswith("settings/")
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}
    ]
    assert not wrong


def test_only_semconv_spells_names() -> None:
    """Settings lie below ``genai``; the public list spells modules."""
    known = {value for value in vars(semconv).values() if isinstance(value, str) and "." in value}
    wrong = [
        f"{name_of(path)}:{node.lineno} {node.value}"
        for path in python_files()
        if name_of(path) not in {"__init__.py", "genai/semconv.py", "settings/otlp_variables.py"}
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value in known or re.fullmatch(r"gen_ai\.[a-z_.]+", node.value)
    ]
    assert not wrong


def test_what_types_alone_need_is_not_above_either() -> None:
    """Within a folder: no module needs for its types what needs the module itself."""
    wrong = [
        f"{name_of(path)}:{line} {module}"
        for path in python_files()
        if path.name != "__init__.py"
        for line, module in imports_of(path)
        if (other := SRC.joinpath(*module.split(".")[1:]).with_suffix(".py")).is_file() and other != path
        and module_name(path) in {found for _, found in imports_of(other)}
    ]
    assert not wrong


def test_every_module_says_what_it_is_for() -> None:
    assert not [
        name_of(path)
        for path in python_files()
        if not (isinstance(module := nodes_of(path)[0], ast.Module) and ast.get_docstring(module))
    ]
