"""Other kernel languages on the emulated devices: their unmodified programs, and a table of results.

    python tests/other_languages/table.py LANGUAGE[=CHECKOUT] ... [--tests TEST ...] [--seconds S] [--jobs N]
        [--write]

Run it with a Python that has the language's wheel and the workbench. LANGUAGE is `flydsl` or `hip-python`,
each with a checkout of AMD's repository of that name, whose examples and tests it reads; or `gluon`, `helion`
or `tilelang`, whose programs are in this folder (CHECKOUT of `tilelang` is a folder of headers with
`rocwmma/`). Each program runs by `python -m workbench exec`. Of FlyDSL's test functions in TESTS the
smallest case runs. S: CPU seconds of a case, and a tenth of the seconds that a program may take; N: programs
and files of tests at a time. `--write`
keeps what came in `tests/data/other_languages.json`, and puts the table of all that this has into
docs/other_languages.md.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

import json_records  # noqa: E402
import page_parts  # noqa: E402

DATA = ROOT / "tests" / "data" / "other_languages.json"
PAGE = ROOT / "docs" / "other_languages.md"
START, END = "<!-- table begins -->\n", "<!-- table ends -->\n"
DEVICES = ("MI355X", "MI300X")

Record = dict[str, str | int]
Results = dict[str, dict[str, dict[str, Record]]]
"""Results by language with version, program and device."""


@dataclass(frozen=True)
class Program:
    """A program that runs.

    Attributes:
        name: in the table.
        words: arguments of `python`.
        folder: where it runs, None for anywhere.
        path: folders that Python imports from, before the workbench's.
        variables: of its environment.
    """

    name: str
    words: tuple[str, ...]
    folder: Path | None = None
    path: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


FLYDSL_TESTS = (
    *("vec_add", "softmax", "softmax_bwd", "topk_gating_softmax", "quant", "layernorm", "rmsnorm"),
    *("preshuffle_gemm", "fp8_gemm_rowscale", "fp4_gemm_4wave", "gemm_a16w16_gfx950", "moe_reduce"),
    *("moe_sorting", "moe_gemm", "moe_gemm_2stage", "pa", "mla_decode", "flash_attn_fwd", "swa_gfx950"),
    *("fused_rope_cache", "conv3d_implicit", "conv3d_implicit_fp8"),
)
"""Files of tests/kernels for one CDNA GPU."""
FLYDSL_VARIABLES = {
    # As in FlyDSL's own scripts/run_tests.sh.
    "FLYDSL_AUTOTUNE": "0",
    "FLYDSL_RUN_QUANT": "1",
    # Their benchmarks' shapes have hundreds of millions of numbers.
    "ROCDSL_SOFTMAX_SHAPES": "64,2000,bf16",
    "ROCDSL_SOFTMAX_BWD_SHAPES": "64,2000,bf16",
    "ROCDSL_LAYERNORM_SHAPES": "64,2000,bf16",
    "ROCDSL_RMSNORM_SHAPES": "64,2000,bf16",
    "ROCDSL_TOPK_GATING_SHAPES": "64,128,6,bf16",
    # A case is a fork, which has none of its parent's threads.
    "OMP_NUM_THREADS": "1",
}


def programs(language: str, checkout: Path | None) -> Iterator[Program]:
    """A language's programs; of FlyDSL's tests see `flydsl_tests`."""
    if language == "flydsl":
        assert checkout is not None
        for file in sorted((checkout / "examples").glob("0*.py")):
            yield Program(f"examples/{file.name}", (str(file),), checkout, (checkout,))
    elif language == "hip-python":
        assert checkout is not None
        examples = checkout / "examples"
        for file in sorted(examples.glob("[0-9]_*/*.py")):
            if file.name != "setup.py":
                yield Program(str(file.relative_to(examples)), (str(file),), file.parent)
    else:
        variables = {} if checkout is None else {"CPLUS_INCLUDE_PATH": str(checkout)}
        yield Program(
            f"two kernels, {language}_kernels.py",
            (str(HERE / f"{language}_kernels.py"),),
            variables=variables,
        )


@dataclass(frozen=True)
class Task:
    """What runs on a device: a program, or a file of FlyDSL's tests by its name in FLYDSL_TESTS."""

    language: str
    device: str
    of: Program | str
    checkout: Path | None


def tasks(languages: Sequence[str], devices: Sequence[str], tests: Sequence[str]) -> Iterator[Task]:
    """The programs and tests of LANGUAGE[=CHECKOUT]s on these devices."""
    for word in languages:
        language, _, folder = word.partition("=")
        checkout = Path(folder).absolute() if folder else None
        name = version(language)
        for device in devices:
            for program in programs(language, checkout):
                yield Task(name, device, program, checkout)
            for test in tests if language == "flydsl" else ():
                yield Task(name, device, test, checkout)


def start(program: Program, device: str, timeout: float) -> tuple[str, int | None]:
    """Runs a program by `exec`; returns its output and its exit status, None after a timeout."""
    path = [*program.path, ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {"HIPKITTENS_HISTORY": "off", "PYTHONPATH": os.pathsep.join(map(str, path))}
    words = ["-m", "workbench", "exec", "--device", device, "--", "python", *program.words]
    try:
        ended = subprocess.run(
            [sys.executable, *words],
            cwd=program.folder,
            env={**os.environ, **program.variables, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode("utf-8", "replace"), None
    return ended.stdout.decode("utf-8", "replace"), ended.returncode


_LAUNCHES = re.compile(r"^hipkittens: (\d+) launch", re.MULTILINE)
_WRONG = re.compile(r"\bFAIL|\bfailed\b|(?:correct|passed): False", re.MULTILINE)
_CAUSE = re.compile(
    r"^(?:hipkittens: (?!\d+ launch)|[\w.]*(?:Error|Exception)\b|.*\berror: ).*", re.MULTILINE
)
_FOLDER = re.compile(r"(?:/[\w.+-]+)+/")


def outcome(output: str, status: int | None) -> Record:
    """A program's result, its launches, and the cause if it is wrong, from its output."""
    launches = _LAUNCHES.search(output)
    record: Record = {"result": "right", "launches": int(launches[1]) if launches else 0}
    if status is None:
        record["result"] = "too long"
    elif status or _WRONG.search(output):
        record["result"] = "error" if status else "wrong"
        causes = _CAUSE.findall(output)
        record["cause"] = shortened(causes[-1]) if causes else f"exit status {status}"
    return record


def shortened(cause: str) -> str:
    """A message without the folders of this computer, of 160 characters at most."""
    return _FOLDER.sub("", cause).strip()[:160]


def flydsl_tests(
    checkout: Path, tests: Sequence[str], device: str, seconds: float, timeout: float
) -> dict[str, Record]:
    """FlyDSL's tests by file: passed and other cases, launches, the first cause."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        options = (
            "-q",
            "-p",
            "flydsl_plugin",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-p",
            "no:timeout",
        )
        options += ("-c", "tests/pytest.ini", "--rootdir", ".", "-m", "not large_shape")
        files = [f"tests/kernels/test_{name}.py" for name in tests]
        task = json.dumps({"seconds": seconds, "results": str(results)})
        start(
            Program(
                "tests",
                ("-m", "pytest", *options, "--continue-on-collection-errors", *files),
                *(checkout, (checkout, HERE.parent, HERE), {**FLYDSL_VARIABLES, "FLYDSL_TESTS": task}),
            ),
            device,
            timeout,
        )
        lines = results.read_text().splitlines() if results.is_file() else []
    return by_file(map(json.loads, lines))


def by_file(lines: Iterator[dict[str, str | int]]) -> dict[str, Record]:
    """The lines of `flydsl_plugin`, added up for each file."""
    records: dict[str, Record] = {}
    counts: dict[str, Counter[str]] = {}
    for line in lines:
        file = str(line["case"]).partition("::")[0]
        record = records.setdefault(file, {"result": "", "launches": 0})
        counts.setdefault(file, Counter())[str(line["result"])] += 1
        record["launches"] = int(record["launches"]) + int(line["launches"])
        if line["result"] != "passed" and line["text"] and "cause" not in record:
            record["cause"] = shortened(str(line["text"]))
    for file, counter in counts.items():
        records[file]["result"] = ", ".join(f"{number} {kind}" for kind, number in sorted(counter.items()))
    return records


def version(language: str) -> str:
    """The language with its installed version: Gluon's is Triton's."""
    package = {"gluon": "triton"}.get(language, language)
    try:
        return f"{language} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(f"{package} is not installed in {sys.executable}") from None


def table(results: Results) -> str:
    """Markdown with a row for each program and a column for each device."""
    lines = ["| language | program | MI355X | MI300X | why not |", "| --- " * 5 + "|"]
    for language, by_program in sorted(results.items()):
        for program, by_device in sorted(by_program.items()):
            cells = [cell(by_device.get(device)) for device in DEVICES]
            causes = dict.fromkeys(str(record["cause"]) for record in by_device.values() if "cause" in record)
            cause = "; ".join(causes).replace("|", "/").replace("<", "\\<")
            # Not as code: paths of other repositories.
            lines.append(f"| {language} | {program} | {' | '.join(cells)} | {cause} |")
    return "\n".join(lines) + "\n"


def cell(record: Record | None) -> str:
    """A result with its launches."""
    if record is None:
        return ""
    launches = record["launches"]
    return f"{record['result']} ({launches} launch{'es' * (launches != 1)})"


def write(results: Results) -> None:
    """Stores the results, and updates the table in the page."""
    DATA.write_text(json_records.dumps(results, 3))
    page_parts.write(PAGE, START, table(results), END)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("languages", nargs="+", metavar="LANGUAGE[=CHECKOUT]")
    parser.add_argument("--devices", nargs="+", default=list(DEVICES), choices=DEVICES)
    parser.add_argument(
        "--tests", nargs="*", default=list(FLYDSL_TESTS), choices=FLYDSL_TESTS, metavar="TEST"
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="keep it, and write the page")
    options = parser.parse_intermixed_args(arguments)
    results: Results = json.loads(DATA.read_text()) if DATA.is_file() else {}
    limit = 10 * options.seconds

    def records(task: Task) -> dict[str, Record]:
        if isinstance(task.of, Program):
            return {task.of.name: outcome(*start(task.of, task.device, limit))}
        assert task.checkout is not None
        return flydsl_tests(task.checkout, [task.of], task.device, options.seconds, limit)

    with ThreadPoolExecutor(options.jobs) as pool:
        work = list(tasks(options.languages, options.devices, options.tests))
        for task, by_program in zip(work, pool.map(records, work), strict=True):
            language = results.setdefault(task.language, {})
            for program, record in by_program.items():
                language.setdefault(program, {})[task.device] = record
                print(f"{task.language}, {program} on {task.device}: {record}", flush=True)
            if options.write:
                write(results)
    print(table(results))


if __name__ == "__main__":
    main(sys.argv[1:])
