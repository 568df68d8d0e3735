"""AITER's own tests of its Triton kernels on the emulated devices: what passes, by target.

    python tests/triton_driver/aiter_suite.py FOLDER --results FILE [--cases 3] [--seconds 60] [--write]

FOLDER is a checkout of AITER, which is read only; nothing of it is kept here. Of each test function the
smallest `--cases` are run, at most `--seconds` of CPU time each. What is in FILE is not run again: the
command goes on where it was ended. `--write` puts the table of FILE into docs/triton.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

TESTS = Path("op_tests/triton_tests")
ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "triton.md"
BEGIN, END = "<!-- aiter begins -->", "<!-- aiter ends -->"
TARGETS = ("gfx950", "gfx942")
RESULTS = ("passed", "skipped", "refused", "fault", "wrong", "error", "needs HIP", "too long")
"""Skipped: by the test itself. Refused: Triton or the device says that it cannot. Error: any other end.
Needs HIP: the test compares with AITER's own HIP modules or launches them, or wants a PyTorch for GPUs."""
NEEDS_HIP = "|".join(
    (
        r"\[aiter\] build",
        "not compiled with CUDA",
        "dummy base class CUDAGraph",
        r"(no attribute|cannot import name) '\w+'.*from 'aiter' ",
        r"^\w+: module 'aiter' has no",
    )
)
Line = dict[str, str]


def read(file: Path) -> list[Line]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def known(file: Path, target: str) -> dict[str, Line]:
    """The newest line about each case."""
    return {line["case"]: line for line in read(file.with_suffix(f".{target}.jsonl"))}


def done(file: Path, target: str) -> dict[str, Line]:
    return {case: line for case, line in known(file, target).items() if line["result"] != "begun"}


def installation(folder: Path, target: str) -> dict[str, str]:
    """A folder that says of ROCm what AITER's Python asks when it is imported, as environment variables."""
    root = folder / target
    said = {".info/version": "7.0.0\n"}
    said |= {"bin/rocminfo": f"#!/bin/sh\necho Name: {target}\n", "bin/hipcc": "#!/bin/sh\nexit 1\n"}
    for name, text in said.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    path = f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return {"PATH": path, "ROCM_HOME": str(root), "AITER_JIT_DIR": str(root / "jit")}


def run_files(checkout: Path, tests: Sequence[Path], target: str, options: argparse.Namespace) -> None:
    """Run what is not known yet of some files; a process that a case has ended is begun again behind it."""
    results = options.results.with_suffix(f".{target}.jsonl")
    for _ in range(options.restarts):
        before = done(options.results, target)
        task = {
            "device": f"emulated:{target}",
            "cases": options.cases,
            "seconds": options.seconds,
            "known": sorted(before),
            "results": str(results.resolve()),
        }
        path = os.pathsep.join(map(str, (ROOT, checkout.resolve())))
        environment = {
            **os.environ,
            **installation(options.folder, target),
            "AITER_SUITE": json.dumps(task),
            "HIPKITTENS_HISTORY": "off",
            "AITER_TRITON_ONLY": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": path,
        }
        finished = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "tests.triton_driver.aiter_plugin"),
                *("-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", "."),
                *("--continue-on-collection-errors", *map(str, tests)),
            ],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
        )
        if finished.returncode >= 0:
            said = (finished.stdout or finished.stderr).strip().splitlines()
            names = ", ".join(test.stem for test in tests)
            print(f"{target}: {names}: {said[-1] if said else ''}", flush=True)
            return
        ended = [case for case, line in known(options.results, target).items() if line["result"] == "begun"]
        how = "too long" if finished.returncode == -signal.SIGPROF else "error"
        with results.open("a") as file:
            for case in ended:
                text = f"{options.seconds} s" if how == "too long" else f"signal {-finished.returncode}"
                file.write(json.dumps({"case": case, "result": how, "text": text, "kernels": []}) + "\n")


def table(options: argparse.Namespace) -> str:
    """Cases by target and part of AITER's tests, and the kernels that were launched."""
    rows = [
        f"| target | tests of | functions | kernels | {' | '.join(RESULTS)} |",
        f"| --- | --- |{' ---: |' * (len(RESULTS) + 2)}",
    ]
    for target in TARGETS:
        parts: dict[str, list[Line]] = {}
        for line in done(options.results, target).values():
            inside = Path(line["case"].partition("::")[0]).relative_to(TESTS).parts
            parts.setdefault(inside[0] if len(inside) > 1 else "others", []).append(line)
        every = [line for lines in parts.values() for line in lines]
        for part, lines in [*sorted(parts.items()), ("all", every)]:
            rows.append(_row(target, part, lines))
    return "\n".join(rows)


def _row(target: str, part: str, lines: Sequence[Line]) -> str:
    functions = {line["case"].partition("[")[0] for line in lines}
    # Names of AITER's kernels have their constants at the end, in capitals.
    kernels = {re.split("_(?=[A-Z])", kernel)[0] for line in lines for kernel in line.get("kernels", ())}
    counts = Counter("needs HIP" if re.search(NEEDS_HIP, line["text"]) else line["result"] for line in lines)
    cells = [target, part, len(functions), len(kernels), *(counts[name] for name in RESULTS)]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--targets", nargs="+", default=list(TARGETS))
    parser.add_argument("--only", default="test_*.py", help="pattern of files")
    parser.add_argument("--cases", type=int, default=3, help="of each test function")
    parser.add_argument("--seconds", type=float, default=60, help="CPU time of a case")
    parser.add_argument("--files", type=int, default=8, help="of one process")
    parser.add_argument("--restarts", type=int, default=100, help="processes for as many files")
    parser.add_argument(
        "--write", action="store_true", help="put the table into docs/triton.md and run nothing"
    )
    options = parser.parse_args()
    if not options.write:
        with tempfile.TemporaryDirectory() as folder:
            options.folder = Path(folder)
            found = sorted((options.checkout / TESTS).rglob(options.only))
            tests = [test.relative_to(options.checkout) for test in found]
            for start in range(0, len(tests), options.files):
                for target in options.targets:
                    run_files(options.checkout, tests[start : start + options.files], target, options)
    text = table(options)
    print(text)
    if options.write:
        page = DOCUMENT.read_text()
        before, _, rest = page.partition(BEGIN)
        DOCUMENT.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
