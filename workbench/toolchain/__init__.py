"""From source to code object: finds a compiler, drives it, explains its errors and caches its results."""

from __future__ import annotations

from workbench.toolchain.compilation import CompileResult, compile_device, warm
from workbench.toolchain.compiler import Compiler
from workbench.toolchain.diagnostics import Diagnostic, FixIt
from workbench.toolchain.options import CompileOptions
from workbench.toolchain.report import Report, report
from workbench.toolchain.search import find_compiler, known_compiler

__all__ = [
    "CompileOptions",
    "CompileResult",
    "Compiler",
    "Diagnostic",
    "FixIt",
    "Report",
    "compile_device",
    "find_compiler",
    "known_compiler",
    "report",
    "warm",
]
