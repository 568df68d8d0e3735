"""The collection's own sources, built as Python modules, called with our cases and sanitized.

    python tests/collection_ports.py DIR [MODULE ...]   # a checkout of the collection; then the page

Stores the result of each in `tests/data/collection_ports.json`, the source of `docs/collection.md`. A module
runs in a separate process on the emulated device of its target.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import json_records
import torch
from collection.runner import CASES, bound, drawn

import workbench as wb
from workbench.errors import CompileError, WorkbenchError

DATA = Path(__file__).resolve().parent / "data" / "collection_ports.json"
TARGET = "gfx942"
"""The target that the collection is written for."""
NAMES = "KITTENS_RV_TILE_LENGTH"
"""Macro for sources for CDNA3 that name register vectors as HipKittens does for CDNA4."""
TIMEOUT = 300
"""Seconds for a module to compile and to run its cases, sanitized."""
MACROS = "HIP_ENABLE_WARP_SYNC_BUILTINS"


def stored() -> dict[str, dict[str, Any]]:
    """Stored results of `attempt`, by module."""
    records: dict[str, dict[str, Any]] = json.loads(DATA.read_text()) if DATA.exists() else {}
    return records


def build(path: Path) -> wb.HostModule:
    """The module, with NAMES where it doesn't compile without."""
    for macros in ([MACROS], [MACROS, NAMES]):
        try:
            return wb.compile(
                path.read_text(encoding="utf-8"),
                arch=TARGET,
                host=True,
                name=str(path),
                define=macros,
                flags=["-w", "-ferror-limit=1"],
                timeout=float(TIMEOUT),
            )
        except CompileError:
            if NAMES in macros:
                raise
    raise AssertionError


def call(module: wb.HostModule, name: str) -> str:
    """Calls a function with a case in its own order of arguments; describes errors of its outputs.

    Returns:
        "" where every output is within the case's bounds.
    """
    function, case = bound(name), drawn(name, TARGET, "1")
    arguments = [case.arguments[argument] for argument in function.record.all_orders[0]]
    getattr(module, function.record.name)(*arguments)
    for output, expected in case.expected.items():
        got = case.arguments[output]
        if output in case.exact:
            fits = torch.equal(got.to(expected.dtype), expected)
        else:
            fits = torch.allclose(got.double(), expected.double(), case.rtol, case.atol, equal_nan=True)
        if not fits:
            off = (got.double() - expected.double()).norm() / expected.double().norm().clamp_min(1e-30)
            return f"`{output}` {off.item():.2g} off" if off.isfinite() else f"`{output}` not written whole"
    return ""


def error_of(error: WorkbenchError) -> str:
    """The compiler's first error, or another one's first line."""
    diagnostics = getattr(error, "diagnostics", ())
    message = next((diagnostic.message for diagnostic in diagnostics if diagnostic.severity == "error"), None)
    return message or str(error).splitlines()[0]


def attempt(module: str, path: Path) -> dict[str, Any]:
    """Builds a module and calls it with each of its cases under the sanitizer.

    Returns:
        "cases": how many of its cases came to each of WHAT, and in how many the sanitizer has findings of a
        category; by each of these, what was said first. Or "failure": why none was tried.
    """
    try:
        built = build(path)
    except WorkbenchError as error:
        return {"failure": f"does not build: {error_of(error)}"}
    cases: Counter[str] = Counter()
    first: dict[str, str] = {}
    for name in (name for name in CASES if name.partition(".")[0] == module):
        wrong = ""
        with wb.sanitizing() as watch:
            try:
                wrong = call(built, name)
                kind = "wrong" if wrong else "right"
            except Exception as error:
                wrong, kind = f"{type(error).__name__}: {str(error).splitlines()[0]}", "refused"
        beyond = [finding for finding in watch.findings if finding.category == BEYOND]
        if beyond:
            kind, wrong = "beyond", beyond[0].message.splitlines()[0]
        cases[kind] += 1
        if wrong:
            first.setdefault(kind, wrong)
        if kind in ("right", "wrong"):
            for finding in watch.findings:
                first.setdefault(finding.category, finding.message.splitlines()[0])
            cases.update({finding.category for finding in watch.findings})
    return {"cases": dict(cases), **first}


BEYOND = "out of bounds"
WHAT = {
    "right": "right",
    "wrong": "wrong",
    "refused": "for other arguments",
    "beyond": "leave their tensors at these sizes",
}
"""Results of a case, in words."""


def cell_text(port: Mapping[str, Any]) -> str:
    """A module's result as the text of a table's cell."""
    if "cases" not in port:
        return str(port.get("failure", "not tried")).partition(":")[0]
    parts = [f"{port['cases'][kind]} {text}" for kind, text in WHAT.items() if kind in port["cases"]]
    findings = [f"{kind} in {count}" for kind, count in port["cases"].items() if kind not in WHAT]
    ran = port["cases"].get("right", 0) + port["cases"].get("wrong", 0)
    return "; ".join([", ".join(parts) or "no case", *(findings or (["nothing found"] if ran else []))])


def main(arguments: Sequence[str]) -> None:
    if arguments[0] == "--one":
        print(json.dumps(attempt(arguments[1], Path(arguments[2]))))
        return
    records = stored()
    files = {f"{path.parent.name}_tk": path for path in Path(arguments[0]).glob("kernels/*/*/kernel.cpp")}
    for module in arguments[1:] or sorted(files):
        if module in records and not arguments[1:]:
            continue
        command = [sys.executable, __file__, "--one", module, str(files[module])]
        records[module] = asked(command)
        DATA.write_text(json_records.dumps(records, 1))
        print(module, records[module], flush=True)


def asked(command: Sequence[str]) -> dict[str, Any]:
    """The result of `command`, which prints it as JSON on its last line."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return {"failure": f"not done after {TIMEOUT} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip() or "nothing").splitlines()[-1]
        return {"failure": f"ended with status {done.returncode}: {last}"}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
