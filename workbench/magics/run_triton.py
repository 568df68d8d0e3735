"""Runs a `%%triton` cell: binds, checks and shows its kernels."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.check.sanitizer import sanitize_target
from workbench.errors import KernelFault, WorkbenchError
from workbench.kernel import Kernel, Kernels, by_file, recording
from workbench.magics.failures import quiet
from workbench.magics.presenter import show, show_fault, show_findings
from workbench.magics.run import measure
from workbench.operators.launch_target import resolve
from workbench.toolchain import Diagnostic
from workbench.triton_driver import triton
from workbench.views.cell import CellResult

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def run_cell(shell: InteractiveShell, options: argparse.Namespace, cell: str) -> None:
    """Runs a cell with Triton on the device, binds its kernels, and shows them with the requested results.

    Args:
        options: options of the magic's line, by `magic_options.TRITON_OPTIONS`.
        cell: Python text.

    Raises:
        UsageError: the cell launched nothing.
        WorkbenchError: a launch failed; the fault is shown on the cell's line.
        Exception: any exception of the cell itself.
    """
    # The magic itself is line 1 in the editor.
    text = "\n" + shell.transform_cell(cell)  # type: ignore[no-untyped-call]
    file = shell.compile.cache(text, shell.execution_count, raw_code=cell)
    try:
        with triton(options.device or None) as device, recording() as launches:
            _run(text, file, shell.user_ns)
    except KernelFault as fault:
        running = by_file.kernels_of(Path(file).name).get(fault.kernel or "")
        source_file = running.module.own_file if running is not None else Path(file).name
        show_fault(options.name, cell, fault, source_file)
        raise
    except Exception as error:
        if diagnostics := tuple(_findings(error, cell)):
            show_findings(options.name, cell, diagnostics)
        raise
    kernels = Kernels(options.name, [kernel for kernel, _ in launches])
    results, failure = _checked(options, kernels)
    previous = shell.user_ns.get(options.name)
    before: Mapping[str, Kernel] = previous.kernels if isinstance(previous, Kernels) else {}
    shell.user_ns[options.name] = kernels
    show(CellResult(options.name, kernels, device, before, results, failure), cell)
    if failure is not None:
        raise quiet(failure) from None


def _run(text: str, file: str, namespace: dict[str, Any]) -> None:
    """Runs Python text; shows the value of an expression at its end, as a cell does."""
    tree = ast.parse(text, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), namespace)
    if last is not None:
        exec(compile(ast.Interactive([last]), file, "single"), namespace)


def _checked(options: argparse.Namespace, kernels: Kernels) -> tuple[list[Any], WorkbenchError | None]:
    """The result of each requested check, and the error that ended them early."""
    results: list[Any] = []
    try:
        for kernel in kernels.kernels.values():
            target = resolve(kernel)
            if options.sanitize:
                results.append(sanitize_target(target))
            measure(options, target, results)
    except KernelFault as fault:
        return results, fault
    return results, None


def _findings(error: BaseException, cell: str) -> Iterator[Diagnostic]:
    """A compile error of Triton at its lines of the cell, the caller before the callee."""
    lines = cell.splitlines()
    cause: BaseException | None = error
    while cause is not None:
        node, source = getattr(cause, "node", None), getattr(cause, "src", None)
        # Triton counts lines from the `def`, and prints a message only if it has a line.
        first = source.partition("\n")[0].strip() if source else ""
        starts = [number for number, text in enumerate(lines, 2) if first and text.strip() == first]
        if starts and node is not None and hasattr(node, "lineno"):
            text = lines[starts[-1] - 2]
            column = node.col_offset + len(text) - len(text.lstrip()) + 1
            message = getattr(cause, "error_message", None) or f"{cause.__cause__ or cause}"
            yield Diagnostic(starts[-1] + node.lineno - 1, column, "error", message.strip())
        cause = cause.__cause__
