"""The collection's own four test files, run with our modules: results by target.

    python tests/collection_suite.py DIR [--only gemm] [--target gfx942] [--write]

DIR is a checkout of the collection, which is read only. Each file runs as it is, in a process of its own, in
`wb.torch_as_gpu`: the modules that it loads by their files' paths are ours, and the Python processes that it
starts are run in its own. Scripts in `test_gemm.py` are written for `str.format` but never go through it
(`print(json.dumps({{"passed": ...}}))` is an error on any machine), so their doubled braces are made single
ones. `--write` keeps the results in `tests/data/collection_suite.json`, from which
`docs/collection.md` has them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import json_records

DATA = Path(__file__).resolve().parent / "data" / "collection_suite.json"
FILES = ("gemm", "gdr", "misc", "moe")
TARGETS = ("gfx942", "gfx950")
PASSED = ("PASS", "OK")
_RESULT = re.compile(r"^ +\[(?P<status>[A-Z_]+) *\] (?P<test>\S+) *(?P<note>.*)$")
_LOADED = "module of the collection: "


class _Loader:
    """Loads one of our modules for a file of the collection."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def create_module(self, _: ModuleSpec) -> ModuleType:
        print(f"{_LOADED}{self.module.__name__}", file=sys.__stdout__, flush=True)
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        pass


def _python(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """`subprocess.run([python, "-c", code, ...])` in this process."""
    _, flag, code, *arguments = command
    assert flag == "-c", command
    out, err, status = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["-c", *arguments]),
    ):
        try:
            code = code.replace("{{", "{").replace("}}", "}")
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        except Exception:
            traceback.print_exc()
            status = 1
    return subprocess.CompletedProcess(command, status, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def our_modules() -> Iterator[None]:
    """Inside of a `with` block a file `NAME.cpython-*.so` of the collection is our module of its name."""
    from workbench import collection

    ours = set(collection.install())
    of_file, exists = importlib.util.spec_from_file_location, os.path.exists

    def name_of(path: Any) -> str:
        return Path(path).name.partition(".")[0]

    def spec(name: str, location: Any = None, **options: Any) -> ModuleSpec | None:
        if location is None or name_of(location) not in ours:
            return of_file(name, location, **options)
        return ModuleSpec(name, _Loader(sys.modules[name_of(location)]), origin=str(location))  # type: ignore[arg-type]

    def there(path: Any) -> bool:
        return exists(path) or (isinstance(path, str) and name_of(path) in ours)

    with (
        mock.patch.object(importlib.util, "spec_from_file_location", spec),
        mock.patch.object(os.path, "exists", there),
        mock.patch.object(subprocess, "run", _python),
    ):
        yield


def run_here(file: Path, target: str) -> None:
    """Runs one of the files in this process."""
    import workbench as wb

    with (
        our_modules(),
        wb.torch_as_gpu(f"emulated:{target}"),
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(sys, "argv", [str(file)]),
        mock.patch.object(sys, "path", [str(file.parent), *sys.path]),
    ):
        os.chdir(folder)
        runpy.run_path(str(file), run_name="__main__")


def read(lines: Sequence[str]) -> list[dict[str, str]]:
    """Results in the output of a test file, each with the module that was loaded before it."""
    module, results = "", []
    for line in lines:
        if line.startswith(_LOADED):
            module = line.removeprefix(_LOADED).strip()
        elif match := _RESULT.match(line):
            results.append({"module": module, **match.groupdict()})
    return results


def run(file: Path, target: str) -> list[dict[str, str]]:
    """Runs a test file in a separate process and returns its results."""
    command = [sys.executable, __file__, str(file), "--here", target]
    done = subprocess.run(command, capture_output=True, text=True)
    results = read(done.stdout.splitlines())
    if not results:
        raise RuntimeError(f"{file} says nothing; {done.stderr.strip()[-1000:]}")
    return results


def count(results: Sequence[Mapping[str, str]], which: Callable[[str], bool]) -> int:
    return sum(which(result["status"]) for result in results)


def passed(status: str) -> bool:
    return status in PASSED


def skipped(status: str) -> bool:
    """True if the test file itself skipped the test."""
    return status == "SKIP"


def modules_of(results: Sequence[Mapping[str, str]]) -> dict[str, bool]:
    """For each module that was tested, True where all of its tests passed."""
    all_passed: dict[str, bool] = {}
    for result in results:
        if result["module"] and not skipped(result["status"]):
            all_passed[result["module"]] = all_passed.get(result["module"], True) and passed(result["status"])
    return all_passed


def table(by_target: Mapping[str, Mapping[str, Sequence[Mapping[str, str]]]]) -> Iterator[str]:
    """Results by target and file, as Markdown."""
    yield "| target | file | tests passed | skipped by itself | modules whose tests all pass |"
    yield "| --- | --- | --- | --- | --- |"
    for target, files in by_target.items():
        for name, results in files.items():
            modules = modules_of(results).values()
            ran = len(results) - count(results, skipped)
            yield (
                f"| {target} | `test_{name}.py` | {count(results, passed)} of {ran} | "
                f"{count(results, skipped)} | {sum(modules)} of {len(modules)} |"
            )


def stored() -> dict[str, dict[str, list[dict[str, str]]]]:
    """Stored results, by target and file."""
    records: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {}
    return records


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=FILES)
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        run_here(options.folder, options.here)
        return 0
    by_target: dict[str, dict[str, list[dict[str, str]]]] = {}
    for target in [options.target] if options.target else TARGETS:
        for name in [options.only] if options.only else FILES:
            results = run(options.folder / "tests" / f"test_{name}.py", target)
            by_target.setdefault(target, {})[name] = results
            for result in results:
                if not passed(result["status"]):
                    print(target, result["status"], result["test"], result["note"], flush=True)
    print("\n".join(table(by_target)))
    if options.write:
        records = stored()
        for target, files in by_target.items():
            records[target] = {**records.get(target, {}), **files}
        DATA.write_text(json_records.dumps(records, 3, sort_keys=False))
    failed = sum(
        not passed(result["status"]) and not skipped(result["status"])
        for files in by_target.values()
        for results in files.values()
        for result in results
    )
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
