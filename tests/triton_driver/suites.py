"""Unedited tests of published Triton libraries on the emulated devices: results by file and target.

    python tests/triton_driver/suites.py --results FOLDER aiter=CHECKOUT liger=CHECKOUT fla=CHECKOUT
    python tests/triton_driver/suites.py --results FOLDER --write

They run inside of `wb.torch_as_gpu()`. Checkouts are read only; nothing of them is stored here. Of each test
function the smallest `--cases` run, and of each file `--drawn` more, drawn by `--seed`; autotuned kernels try
their first `--configurations`. A case may take `--seconds` of CPU time and a file `--file-seconds`. Files run
in an order drawn by the same seed, so that the results after `--minutes` are a sample. Results in FOLDER are
not repeated. `--write` puts its tables into docs/triton.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import page_parts  # noqa: E402

DOCUMENT = ROOT / "docs" / "triton.md"
BEGIN, END = "<!-- suites begin -->", "<!-- suites end -->"
TARGETS = ("gfx950", "gfx942")
Line = dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """Location of a library's tests.

    Attributes:
        name: of the library.
        tests: a folder of a checkout.
        parts: folders in it; empty for all.
        source: the folder of the checkout that Python imports the library from.
    """

    name: str
    tests: str
    parts: tuple[str, ...] = (".",)
    source: str = "."


SUITES = {
    "aiter": Suite("AITER", "op_tests/triton_tests"),
    "liger": Suite("Liger-Kernel", "test", ("transformers", "chunked_loss"), "src"),
    "fla": Suite("flash-linear-attention", "tests", ("ops", "modules")),
}
OTHERS = {
    "refused": "Triton or the device says that it cannot",
    "fault": "a fault of the device",
    "GPU": "it compares with modules for GPUs, or wants a PyTorch built for them",
    "package": "it imports what is not installed",
    "error": "any other end",
    "not reached": "the file's time was over",
}
"""Other outcomes of a case than passed, wrong, skipped and too long."""
NEEDS = {
    "GPU": (
        r"\[aiter\] build",
        "not compiled with CUDA",
        "torch.compile of .* cannot be traced",
        r"_cpu\" not implemented for",
        r"(no attribute|cannot import name) '\w+'.*from 'aiter' ",
        r"^\w+: module 'aiter' has no",
    ),
    "package": ("No module named", r"cannot import name .* from '(transformers|triton)"),
}
"""Error messages of tests that need something that is missing here."""


def read(results: Path, suite: str, target: str) -> dict[str, Line]:
    """The latest line about each case."""
    file = results / f"{suite}.{target}.jsonl"
    lines = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
    return {line["case"]: line for line in lines}


def kind(line: Line) -> str:
    """Kind of a case's outcome: passed, wrong, skipped, too long or one of OTHERS."""
    if line["result"] in ("error", "refused"):
        for name, patterns in NEEDS.items():
            if any(re.search(pattern, line["text"]) for pattern in patterns):
                return name
    return str(line["result"])


def installation(folder: Path, target: str) -> dict[str, str]:
    """Writes the parts of a ROCm folder that importing AITER needs; returns environment variables."""
    root = folder / target
    files = {".info/version": "7.0.0\n"}
    files |= {"bin/rocminfo": f"#!/bin/sh\necho Name: {target}\n", "bin/hipcc": "#!/bin/sh\nexit 1\n"}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    path = f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return {
        "PATH": path,
        "ROCM_HOME": str(root),
        "AITER_JIT_DIR": str(root / "jit"),
        "AITER_TRITON_ONLY": "1",
    }


def begin(
    suite: str, checkout: Path, files: Sequence[str], target: str, folder: Path, options: argparse.Namespace
) -> subprocess.Popen[str]:
    """Start pytest for some files of a suite on a target; the plugin writes the results."""
    task = {
        "suite": suite,
        "device": f"emulated:{target}",
        "cases": options.cases,
        "drawn": options.drawn,
        "seed": options.seed,
        "configurations": options.configurations,
        "seconds": options.seconds,
        "until": options.until,
        "file_seconds": options.file_seconds,
        "known": [
            case
            for case, line in read(options.results, suite, target).items()
            if line["result"] != "not reached"
        ],
        "results": str((options.results / f"{suite}.{target}.jsonl").resolve()),
    }
    path = [ROOT, checkout / SUITES[suite].source, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        **installation(folder, target),
        "TRITON_SUITE": json.dumps(task),
        "HIPKITTENS_HISTORY": "off",
        # A case is a fork, which has none of its parent's threads.
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str((options.results / "pycache").resolve()),
        "PYTHONPATH": os.pathsep.join(map(str, path)),
    }
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tests.triton_driver.suite_plugin"),
            *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:timeout", "--rootdir", "."),
            *("--continue-on-collection-errors", *files),
        ],
        cwd=checkout,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def order(checkouts: Mapping[str, Path], only: str, seed: int) -> list[tuple[str, str]]:
    """Files of the suites, each with its suite, in random order."""
    suite_files = []
    for suite, checkout in checkouts.items():
        for part in SUITES[suite].parts:
            tests = sorted((checkout / SUITES[suite].tests / part).rglob(only))
            suite_files += [(suite, str(test.relative_to(checkout))) for test in tests]
    random.Random(seed).shuffle(suite_files)
    return suite_files


def run(options: argparse.Namespace) -> None:
    """Run the files without results until the time is over: a few files at a time, targets in parallel."""
    checkouts = {suite: Path(folder).resolve() for suite, folder in options.checkouts}
    options.results.mkdir(parents=True, exist_ok=True)
    options.until = time.time() + 60 * options.minutes
    every = order(checkouts, options.only, options.seed)
    chunks: list[tuple[str, list[str]]] = []
    for suite, test in every:
        for name, files in chunks:
            if name == suite and len(files) < options.files:
                files.append(test)
                break
        else:
            chunks.append((suite, [test]))
    with tempfile.TemporaryDirectory() as folder:
        for suite, files in chunks:
            if time.time() > options.until:
                break
            running = [
                (target, begin(suite, checkouts[suite], files, target, Path(folder), options))
                for target in options.targets
            ]
            for target, process in running:
                lines = (process.communicate()[0] or "").strip().splitlines()
                names = ", ".join(Path(file).stem.removeprefix("test_") for file in files)
                print(f"{target}: {suite}: {names}: {lines[-1] if lines else ''}", flush=True)


def tables(results: Path) -> str:
    """Tables of the suites' outcomes and costs, and of each of their files."""
    by_suite = {
        (suite, target): list(read(results, suite, target).values()) for suite in SUITES for target in TARGETS
    }
    parts = [_suites(by_suite)]
    parts.append("Each cell gives gfx950, then gfx942:\n")
    rows = ["| suite | file | passed | wrong | skipped by itself | too long | other reason |"]
    rows.append("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    for suite, described in SUITES.items():
        by_file: dict[str, dict[str, Counter[str]]] = {}
        for target in TARGETS:
            for line in by_suite[suite, target]:
                file = line["case"].partition("::")[0]
                by_file.setdefault(file, {}).setdefault(target, Counter())[kind(line)] += 1
        for file, counts in sorted(by_file.items()):
            name = file.removeprefix(f"{described.tests}/").removesuffix(".py")
            rows.append(_file(described.name, name, [counts.get(target, Counter()) for target in TARGETS]))
    return "\n".join([*parts, *rows])


def _suites(by_suite: Mapping[tuple[str, str], Sequence[Line]]) -> str:
    kinds = ("passed", "wrong", "skipped", "too long", *OTHERS)
    spent = ("compiler", "translation", "run", "all")
    rows = [
        f"| suite | target | files | functions | cases | kernels | {' | '.join(kinds)} "
        "| compiler s | translation s | run s | rest s |",
        f"| --- | --- |{' ---: |' * (len(kinds) + 8)}",
    ]
    for (suite, target), lines in by_suite.items():
        if not lines:
            continue
        counts = Counter(map(kind, lines))
        cases = [line["case"] for line in lines]
        # Names of kernels have their constants at the end, in capitals.
        kernels = {re.split("_(?=[A-Z])", kernel)[0] for line in lines for kernel in line.get("kernels", ())}
        sums = {name: sum(line.get("seconds", {}).get(name, 0) for line in lines) for name in spent}
        sums["all"] -= sums["compiler"] + sums["translation"] + sums["run"]
        cells: Iterable[object] = (
            *(SUITES[suite].name, target, len({case.partition("::")[0] for case in cases})),
            *(len({case.partition("[")[0] for case in cases}), len(cases), len(kernels)),
            *(counts[name] for name in kinds),
            *(f"{sums[name]:.0f}" for name in spent),
        )
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*rows, ""])


def _file(suite: str, file: str, counts: Sequence[Counter[str]]) -> str:
    def both(name: str) -> str:
        return ", ".join(str(counter[name]) for counter in counts)

    others = "; ".join(f"{name} {both(name)}" for name in OTHERS if any(counter[name] for counter in counts))
    cells = (suite, file, both("passed"), both("wrong"), both("skipped"), both("too long"), others)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="*", type=lambda word: word.split("=", 1), help="SUITE=FOLDER")
    parser.add_argument("--results", type=Path, required=True, help="folder")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--only", default="test_*.py", help="pattern of files")
    parser.add_argument("--cases", type=int, default=1, help="of each test function, the smallest")
    parser.add_argument("--drawn", type=int, default=0, help="more of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--configurations", type=int, default=1, help="of an autotuned kernel, the first")
    parser.add_argument("--seconds", type=float, default=20, help="CPU time of a case")
    parser.add_argument("--file-seconds", type=float, default=120, help="CPU time of a file")
    parser.add_argument("--minutes", type=float, default=600, help="after which nothing more is begun")
    parser.add_argument("--files", type=int, default=20, help="of one process")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/triton.md")
    options = parser.parse_args()
    run(options)
    text = tables(options.results)
    print(text)
    if options.write:
        page_parts.write(DOCUMENT, BEGIN, text, END)


if __name__ == "__main__":
    main()
