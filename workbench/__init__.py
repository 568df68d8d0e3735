"""HipKittens workbench: write, compile, run, verify and profile AMD tile kernels from a notebook.

    import workbench as wb
    mod = wb.compile(source)                           # HIP C++ to gfx950 machine code
    mod["scale"][grid, block](x, 2.0)                  # on the GPU, or on an emulated one
    wb.verify("gemm/bf16").check()                # against PyTorch
    wb.time("gemm/bf16"), wb.profile("gemm/bf16")

In a notebook, `%load_ext workbench` gives `%%hipkittens`. Names are loaded when they are first used, so that
importing this package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench import errors
    from workbench.bench import BenchResult, TuneResult, bench, sweep, tune
    from workbench.check.compare import compare
    from workbench.check.results import VerifyResult
    from workbench.check.sanitizer import sanitize, sanitizing
    from workbench.check.verify import verify
    from workbench.doctor import doctor
    from workbench.errors import CompileError, KernelFault, WorkbenchError
    from workbench.history.results import History, history
    from workbench.kernel import (
        HostModule,
        Kernel,
        Launcher,
        Module,
        ProgramResult,
        compile,
        load,
        load_module,
        run_program,
    )
    from workbench.origin import Figure, Origin
    from workbench.profile import (
        ProfileResult,
        SweepResult,
        TimeResult,
        XcdMap,
        advice,
        profile,
        time,
        timeline,
        xcd_map,
    )
    from workbench.runtime.device import Device
    from workbench.runtime.registry import device, devices
    from workbench.spec import Choice, KernelSpec, Launch, Published, Range, Tolerance, kernels
    from workbench.tiles import LayoutResult, view_layout
    from workbench.triton_driver import triton
    from workbench.views import dashboard, panel, report, view_xcd

__version__ = "0.1.0"

_HOMES = {
    "BenchResult": "bench",
    "Choice": "spec",
    "CompileError": "errors",
    "Device": "runtime",
    "Figure": "origin",
    "History": "history.results",
    "HostModule": "kernel",
    "Kernel": "kernel",
    "KernelFault": "errors",
    "KernelSpec": "spec",
    "Launch": "spec",
    "Launcher": "kernel",
    "LayoutResult": "tiles",
    "Module": "kernel",
    "Origin": "origin",
    "ProfileResult": "profile",
    "ProgramResult": "kernel",
    "Published": "spec",
    "Range": "spec",
    "SweepResult": "profile",
    "TimeResult": "profile",
    "Tolerance": "spec",
    "TuneResult": "bench",
    "VerifyResult": "check.results",
    "WorkbenchError": "errors",
    "XcdMap": "profile",
    "advice": "profile",
    "bench": "bench",
    "compare": "check.compare",
    "compile": "kernel",
    "dashboard": "views",
    "device": "runtime",
    "devices": "runtime",
    "doctor": "doctor",
    "history": "history.results",
    "kernels": "spec",
    "load": "kernel",
    "load_module": "kernel",
    "panel": "views",
    "profile": "profile",
    "report": "views",
    "run_program": "kernel",
    "sanitize": "check.sanitizer",
    "sanitizing": "check.sanitizer",
    "sweep": "bench",
    "time": "profile",
    "timeline": "profile",
    "triton": "triton_driver",
    "tune": "bench",
    "verify": "check.verify",
    "view_layout": "tiles",
    "view_xcd": "views",
    "xcd_map": "profile",
}
"""The module that each public name is defined in."""

__all__ = [
    "BenchResult",
    "Choice",
    "CompileError",
    "Device",
    "Figure",
    "History",
    "HostModule",
    "Kernel",
    "KernelFault",
    "KernelSpec",
    "Launch",
    "Launcher",
    "LayoutResult",
    "Module",
    "Origin",
    "ProfileResult",
    "ProgramResult",
    "Published",
    "Range",
    "SweepResult",
    "TimeResult",
    "Tolerance",
    "TuneResult",
    "VerifyResult",
    "WorkbenchError",
    "XcdMap",
    "advice",
    "bench",
    "compare",
    "compile",
    "dashboard",
    "device",
    "devices",
    "doctor",
    "errors",
    "history",
    "kernels",
    "load",
    "load_module",
    "panel",
    "profile",
    "report",
    "run_program",
    "sanitize",
    "sanitizing",
    "sweep",
    "time",
    "timeline",
    "triton",
    "tune",
    "verify",
    "view_layout",
    "view_xcd",
    "xcd_map",
]


class _Package(ModuleType):
    """Keeps `wb.verify`, `wb.profile` and `wb.doctor` the functions.

    Importing the submodules of the same names would put those in their place.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("workbench.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    value = getattr(import_module(f"workbench.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # What this file imports for itself is no name of the package.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Registers `%%hipkittens` and `%hipkittens`; `%load_ext workbench` calls it."""
    from workbench.magics import load_ipython_extension as load_magics

    load_magics(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Takes the magics away; `%unload_ext workbench` calls it."""
    from workbench.magics import unload_ipython_extension as unload_magics

    unload_magics(shell)
