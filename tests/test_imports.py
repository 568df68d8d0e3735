"""Imports go one way: no circle between modules, and no layer imports one above it.

Every import counts, also those inside functions and those for type checkers alone.
"""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

LAYERS = (
    "paths", "magic_options", "settings", "errors", "origin", "dtypes", "targets", "progress", "events",
    "theme", "display", "cache", "patches", "approximation", "lateness", "schedules", "launches", "bounds",
    "hardware_mode", "live_tensors",
    "numerics", "codeobject", "toolchain", "emulator", "runtime", "kernel", "operators", "ops", "nn",
    "integrations", "collection", "check", "step", "profile",
    "history", "exercises", "tiles", "triton_driver", "torch_gpu", "execute", "doctor", "prebuilt",
    "compatibility", "audit", "judge", "bench", "hardware",
    "views", "lab", "magics", "operations", "mcp_server", "training", "__main__", "",
)  # fmt: skip
"""Modules and packages of `workbench` from the lowest to the highest; "" is `workbench` itself."""

ONLY_FROM = {
    "emulator": {"emulator", "runtime", "judge"},
    "views": {"views", "lab", "magics", "operations", "training", "__main__", ""},
}
"""Layers that only these may import."""

LAZY: dict[str, tuple[set[str], str]] = {
    "workbench.collection": ({"collection"}, "the record of a module needs no operators, which take 1 s"),
    "workbench": ({"magics", "views"}, "importing the package costs nothing; IPython is optional"),
    "workbench.__main__": (
        {
            *(
                "audit",
                "bench",
                "cache",
                "codeobject",
                "check",
                "compatibility",
                "doctor",
                "execute",
                "hardware",
                "kernel",
                "lab",
                "mcp_server",
                "operations",
                "profile",
                "runtime",
                "operators",
                "toolchain",
                "training",
            ),
            "views",
        },
        "each command imports what it needs: `doctor` has to answer where a package is missing",
    ),
    "workbench.mcp_server.command": ({"mcp_server"}, "the package mcp is optional"),
    "workbench.mcp_server.worker": (
        {"operations"},
        "the server answers before its process has imported them",
    ),
    "workbench.doctor": (
        {"kernel", "profile", "runtime", "targets", "toolchain"},
        "it has to answer where a package that these import is missing",
    ),
    "workbench.execute.sitecustomize": (
        {"runtime", "torch_gpu"},
        "it runs in every Python process, most of which import neither PyTorch nor hip-python",
    ),
    "workbench.hardware.process": (
        {"hardware", "runtime"},
        "only the process of a side has a device, and its variables are set before",
    ),
    "workbench.kernel.compiler_trial": ({"runtime"}, "only the process of a trial has a device"),
    "workbench.kernel.host_module": ({"kernel"}, "it needs PyTorch, which is asked only where it is loaded"),
    "workbench.judge.submission_process": (
        {"emulator", "judge", "kernel", "runtime", "toolchain"},
        "the device is chosen before anything is imported; a fork imports what its form needs",
    ),
    "workbench.operations.on_kernels": ({"views"}, "only a picture needs them"),
    "workbench.operations.on_submissions": (
        {"bench", "judge", "operations", "runtime", "views"},
        "a judge needs PyTorch, which takes 2 s",
    ),
    "workbench.emulator.node.loaded": ({"emulator"}, "the translator loads LLVM, with the first kernel"),
    "workbench.history.recorder": (
        {"kernel"},
        "%load_ext stays fast, and starts a recorder: whoever publishes a run has kernels loaded",
    ),
    "workbench.lab.clangd": ({"toolchain"}, "%load_ext stays fast: the compiler is looked for when asked"),
    "workbench.lab.service": (
        {"check", "codeobject", "history", "kernel", "lab", "toolchain", "views"},
        "%load_ext stays fast: a listing needs all of profile, 0.7 s, and a check what cells need",
    ),
    "workbench.lab.inventory": (
        {"operators"},
        "the sidebar starts nothing: only once the notebook has used kernels",
    ),
    "workbench.magics.cell": (
        {"magics"},
        "%load_ext stays fast: a cell needs 0.7 s of imports",
    ),
    "workbench.magics.plain_cells": (
        {"magics"},
        "%load_ext stays fast: a cell needs 0.7 s of imports",
    ),
    "workbench.magics.triton": (
        {"magics"},
        "%load_ext stays fast: a cell needs 0.7 s of imports",
    ),
    "workbench.magics.questions": (
        {"doctor", "views"},
        "`%hipkittens doctor` has to answer where a package is missing",
    ),
    "workbench.operators.spec": (
        {"operators"},
        "what makes torch operators imports PyTorch, which takes 2 s",
    ),
    **dict.fromkeys(
        ("workbench.training.train", "workbench.training.models", "workbench.training.forecast"),
        ({"integrations"}, "transformers is optional, and takes 3 s"),
    ),
    "workbench.views.renderer": ({"views"}, "%load_ext stays fast: a picture needs numpy, 0.1 s"),
    "workbench.torch_gpu.graphs": ({"triton_driver"}, "it has a launcher only where Triton is installed"),
    "workbench.triton_driver.activation": (
        {"triton_driver"},
        "`wb.triton` has to answer where Triton is not installed",
    ),
    "workbench.runtime.registry": ({"runtime"}, "the emulator takes 0.2 s, once a device is asked for"),
}
"""By importer: layers imported inside functions, and the reason: start-up time or an optional package."""

BY_NAME = {
    "workbench.bench.implementations": "Triton and FlyDSL, which our kernels in them import, are optional",
    "workbench": "public names load their modules when they are first used",
    "workbench.runtime.emulated": "a program that asks how long it took loads `profile`, which models times",
}
"""Modules that import others of the package by name, which no rule here can follow, and why."""


class Import(NamedTuple):
    """An import of one module by another."""

    importer: str
    imported: str
    lazy: bool


@cache
def modules() -> dict[str, Path]:
    paths = {}
    for path in (ROOT / "workbench").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if "node_modules" not in parts:
            paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


@cache
def imports() -> tuple[Import, ...]:
    return tuple(dependency for name, path in modules().items() for dependency in _imports(name, path))


def _imports(name: str, path: Path) -> Iterator[Import]:
    def visit(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                targets = [alias.name for alias in child.names]
            elif isinstance(child, ast.ImportFrom):
                assert not child.level, f"{path}:{child.lineno}: a relative import"
                base = child.module or ""
                targets = [
                    f"{base}.{a.name}" if f"{base}.{a.name}" in modules() else base for a in child.names
                ]
            else:
                in_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from visit(child, lazy or in_function)
                continue
            yield from (Import(name, t, lazy) for t in targets if t in modules() and t != name)

    return visit(ast.parse(path.read_text()), False)


def layer(module: str) -> str:
    """The layer's name: the part of a module's name after "workbench."."""
    return module.removeprefix("workbench").removeprefix(".").partition(".")[0]


def test_every_module_has_a_layer() -> None:
    assert {layer(module) for module in modules()} == set(LAYERS)


def test_no_layer_imports_one_above_it() -> None:
    height = {name: n for n, name in enumerate(LAYERS)}
    wrong = {
        f"{i.importer} imports {i.imported}"
        for i in imports()
        if height[layer(i.importer)] < height[layer(i.imported)]
    }
    assert sorted(wrong) == []


def test_private_layers() -> None:
    wrong = {
        f"{i.importer} imports {i.imported}"
        for i in imports()
        if layer(i.importer) not in ONLY_FROM.get(layer(i.imported), set(LAYERS))
    }
    assert sorted(wrong) == []


def test_the_editor_gets_the_cell_s_answers() -> None:
    """Modules that pass on a cell's results take them from `views.cell`, not from results or kernels.
    `magics.marks` has later findings.
    """
    asked = {
        i.imported
        for i in imports()
        if i.importer in ("workbench.lab.cell", "workbench.magics.presenter")
        and layer(i.imported) not in ("lab", "errors", "runtime", "toolchain")
    }
    assert asked == {"workbench.magics.marks", "workbench.views.cell"}


def test_no_circle_between_modules() -> None:
    graph: dict[str, set[str]] = {module: set() for module in modules()}
    for dependency in imports():
        graph[dependency.importer].add(dependency.imported)
    graphlib.TopologicalSorter(graph).prepare()


def test_imports_inside_functions_have_a_reason() -> None:
    inside = {(i.importer, layer(i.imported)) for i in imports() if i.lazy}
    explained = {(importer, name) for importer, (names, _) in LAZY.items() for name in names}
    assert sorted(inside - explained) == []
    assert sorted(explained - inside) == [], "reasons without an import"


def test_no_test_library_in_the_package() -> None:
    importers = {
        name
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Import) and any(a.name.startswith("unittest") for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unittest"))
    }
    assert importers == set(), "workbench.patches replaces attributes"


def test_imports_by_name() -> None:
    importers = {
        name
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith(("import_module", "__import__"))
        and "workbench" in ast.unparse(node.args[0])
    }
    assert importers == BY_NAME.keys()


def test_the_architecture_has_every_layer() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.partition("## Layers")[2].partition("Inside the emulated device")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = {name.strip("/").removesuffix(".py") for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert named == set(LAYERS) - {""}
