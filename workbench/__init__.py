"""HipKittens workbench: write, compile, run, verify and profile AMD tile kernels from a notebook.

    import workbench as wb
    mod = wb.compile(source)              # HIP C++ to gfx950 machine code
    mod["scale"][grid, block](x, 2.0)     # on the GPU, or on an emulated one
    wb.verify("gemm/bf16").check()        # against PyTorch
    wb.time("gemm/bf16"), wb.profile("gemm/bf16")

In a notebook, `%load_ext workbench` gives `%%hipkittens`. A name is loaded when you first use it, so the
import itself costs nothing; `__init__.pyi` lists the names with the modules that define them.
"""

from __future__ import annotations

import ast
import os
import sys
from importlib import import_module
from types import ModuleType

from workbench.display import load_before_drawing

__version__ = "0.1.0"

if sys.platform == "win32":
    raise ImportError(
        "hipkittens-workbench needs Linux: on Windows, install it in WSL2 or run it in a container "
        "(docs/howto/run_it_on_a_mac_or_windows.md)"
    )

# Each thread of NumPy's BLAS spins for 2**26 cycles, some 20 ms, before it first sleeps: in every process
# that imports NumPy, on every core of the machine. 2**16 cycles still catch a call that follows at once.
# OpenBLAS reads this when NumPy is loaded; child processes inherit it.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")


def _homes() -> dict[str, str]:
    """The module of the package that the stub imports each public name from; "" for a module itself."""
    # This does not use `lazy_loader`: `doctor` and the wheel's build import this file where nothing is
    # installed.
    with open(f"{__file__}i", encoding="utf-8") as stub:
        imports = [
            statement for statement in ast.parse(stub.read()).body if isinstance(statement, ast.ImportFrom)
        ]
    return {
        name.name: statement.module or ""
        for statement in imports
        if statement.level
        for name in statement.names
    }


_HOMES = _homes()

__all__ = sorted(_HOMES)


class _Package(ModuleType):
    """Makes sure that `wb.verify`, `wb.profile` and `wb.doctor` remain the functions.

    Otherwise importing the submodules of the same names would replace them.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _load_views() -> None:
    from workbench.views import drawers as drawers


load_before_drawing(_load_views)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"workbench.{_HOMES[name] or name}")
    value = getattr(home, name) if _HOMES[name] else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # Names that this file imports for its own use do not belong to the package.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def load_ipython_extension(shell) -> None:
    """Registers `%%hipkittens` and `%hipkittens`; `%load_ext workbench` calls it."""
    from workbench.magics import load_ipython_extension as load_magics

    load_magics(shell)


def unload_ipython_extension(shell) -> None:
    """Removes the magics; `%unload_ext workbench` calls it."""
    from workbench.magics import unload_ipython_extension as unload_magics

    unload_magics(shell)
