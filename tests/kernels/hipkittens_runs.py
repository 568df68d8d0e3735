"""HipKittens' kernels of June 2026, built by their own Makefiles at two small sizes each, and run.

    python tests/kernels/compatibility.py runs --june FOLDER --cdna3 FOLDER --results FILE [--jobs N]

Each kernel is built with HipKittens' headers and with ours, in a copy of its folder. Where a source fixes a
size by a number, the copy has another number there; nothing else of it is changed.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import hipkittens_makefiles
import hipkittens_reasons
import hipkittens_sources
from hipkittens_makefiles import Build
from hipkittens_sources import Source

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
"""Folder with our `include`, as THUNDERKITTENS_ROOT."""
SHARED = {".mk", ".cpp", ".h"}
"""Suffixes of files in the folders above a kernel's that its Makefile or its source includes."""
ONCE = {"warmup_iters": 1, "timing_iters": 1}
"""Launches that a program times; results do not depend on them."""


@dataclass(frozen=True)
class Size:
    """A small size of a kernel.

    Attributes:
        name: as the table shows it.
        numbers: constants of the source by name, which the copy has instead of the source's own.
        macros: constants that the source takes from macros, by name; or sizes of the tensors.
    """

    name: str
    numbers: Mapping[str, int] = field(default_factory=dict)
    macros: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Kernel:
    """A source of HipKittens that its Makefile builds.

    Attributes:
        branch: of HipKittens.
        path: in the checkout; the Makefile is beside it.
        sizes: two.
        variables: of make, besides those that all are called with; or a goal.
    """

    branch: str
    path: str
    sizes: tuple[Size, Size]
    variables: tuple[str, ...] = ()


def _cubes(first: int, second: int) -> tuple[Size, Size]:
    """Products of two sizes whose program defines SIZE."""
    small, large = (Size(f"{n}³", {"SIZE": n, **ONCE}) for n in (first, second))
    return small, large


def _products(first: int, second: int, launches: Mapping[str, int] | None = None) -> tuple[Size, Size]:
    """Products of two sizes whose source defines M, N and K."""
    small, large = (Size(f"{n}³", {"M": n, "N": n, "K": n, **(launches or {})}) for n in (first, second))
    return small, large


def _attention(d: int = 128) -> tuple[Size, Size]:
    heads = {"ATTN_B": 1, "ATTN_H": 4, "ATTN_H_KV": 2, "ATTN_D": d}
    small, large = (Size(f"4 heads of {d}, {n} rows", macros={**heads, "ATTN_N": n}) for n in (512, 768))
    return small, large


def _module(name: str) -> tuple[str, ...]:
    return f"SRC={name}.cpp", "TARGET=tk_kernel"


MXFP8, FP8 = "kernels/gemm/mxfp8", "kernels/gemm/fp8fp32"
BF16 = "kernels/gemm/bf16fp32"
NORM = (Size("1 x 256 x 512", {"B": 1, "N": 256, "H": 4}), Size("2 x 128 x 1024", {"B": 2, "N": 128, "H": 8}))
RUNS = (
    Kernel(
        "june",
        "kernels/softmax/kernel.cpp",
        (Size("2 x 256 x 128", {"B": 2, "N": 256}), Size("1 x 512 x 64", {"B": 1, "N": 512, "D": 64})),
    ),
    Kernel("june", "kernels/layernorm/kernel.cpp", NORM),
    Kernel(
        "june",
        "kernels/rotary/kernel.cpp",
        (
            Size("1 x 2 x 256 x 128", {"ATTN_B": 1, "ATTN_H": 2, "ATTN_N": 256}),
            Size("2 x 4 x 128 x 128", {"ATTN_B": 2, "ATTN_H": 4, "ATTN_N": 128}),
        ),
    ),
    *(
        Kernel("june", f"{MXFP8}/MXFP8_8wave/8_wave_{form}.cu", _cubes(512, 768), (f"8_wave_{form}",))
        for form in ("TN", "NN", "NT")
    ),
    Kernel("june", f"{MXFP8}/MXFP8_4wave/4_wave.cu", _cubes(512, 768)),
    Kernel("june", f"{FP8}/FP8_8wave/8_wave.cu", _cubes(256, 512)),
    # It deals work-groups to eight dies, as the second of the bf16 GEMMs does.
    Kernel("june", f"{FP8}/FP8_4wave/4_wave.cu", _cubes(256, 1024)),
    Kernel("june", "kernels/torch_scaled/scaled_matmul.cu", _products(512, 768, ONCE)),
    Kernel(
        "june",
        f"{BF16}/256_256_64_32_with16x32.cpp",
        (
            Size("512 x 256 x 256", macros={"M": 512, "N": 256, "K": 256}),
            Size("256 x 512 x 384", macros={"M": 256, "N": 512, "K": 384}),
        ),
    ),
    Kernel(
        "june",
        f"{BF16}/256_256_64_32_with32x16.cpp",
        # It deals work-groups to eight dies: one is enough, and so are eight, but not four.
        (
            Size("256³", {"M": 256, "N": 256, "K": 256}),
            Size("1024 x 512 x 256", {"M": 1024, "N": 512, "K": 256}),
        ),
        _module("256_256_64_32_with32x16"),
    ),
    *(
        Kernel("june", f"kernels/attn/{name}/kernel{of}.cpp", _attention(d))
        for name in ("gqa", "gqa_causal")
        for of, d in (("", 128), ("_d64", 64))
    ),
    *(
        Kernel("june", f"kernels/attn/gqa{of}_backwards/{name}.cpp", _attention(), (goal,))
        for of, kind in (("", "non_causal"), ("_causal", "causal"))
        for name, goal in (
            (f"attn_fwd_{kind}", "tk_kernel_fwd"),
            ("attn_bkwd_prep", "tk_kernel_bkwd_prep"),
            (f"attn_bkwd_{kind}", "tk_kernel_bkwd"),
        )
    ),
    Kernel("cdna3", "kernels/layernorm/kernel.cpp", NORM),
    Kernel(
        "cdna3",
        "kernels/rmsnorm/kernel.cpp",
        (Size("2 x 64 x 128", {"B": 2, "N": 64}), Size("1 x 128 x 256", {"B": 1, "N": 128, "D": 256})),
    ),
    Kernel("cdna3", "analysis/bf16_gemm/mi325x/kernel_1024.cpp", _products(256, 512), _module("kernel_1024")),
)


def with_numbers(text: str, numbers: Mapping[str, int]) -> str:
    """A source with other numbers for its constants.

    Raises:
        ValueError: the source does not define a constant by a number.
    """
    for name, number in numbers.items():
        text, count = re.subn(
            rf"^(\s*(?:#define\s+{name}\s+|(?:static )?constexpr int {name}\s*=\s*))\d+",
            rf"\g<1>{number}",
            text,
            flags=re.M,
        )
        if not count:
            raise ValueError(f"the source defines no constant {name} by a number")
    return text


def copied(kernel: Kernel, size: Size, checkout: Path, scratch: Path) -> Path:
    """The source in a copy of its folder, and of the files above it that folders share."""
    original = checkout / kernel.path
    path = scratch / kernel.path
    shutil.copytree(original.parent, path.parent, ignore_dangling_symlinks=True)
    for above in original.relative_to(checkout).parents[1:]:
        for shared in (checkout / above).iterdir():
            if shared.suffix in SHARED:
                shutil.copy(shared, scratch / above)
    path.write_text(with_numbers(path.read_text(), size.numbers))
    return path


def attempt(
    kernel: Kernel, size: Size, checkout: Path, target: str, own_headers: bool, tools: Path, timeout: float
) -> dict[str, str]:
    """Build a kernel at a size by its Makefile, run and check it: "result" and "text"."""
    root = checkout if own_headers else KERNELS
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        scratch = Path(folder)
        path = copied(kernel, size, checkout, scratch)
        # Some Makefiles name the headers from their own folder.
        (scratch / "include").symlink_to(root / "include")
        source = Source(kernel.branch, scratch, path, target, ())
        build = Build(source, ("PYTHON=python3", *kernel.variables), size.macros)
        environment = hipkittens_makefiles.environment(tools, root, target)
        results = dict(hipkittens_makefiles.attempt(build, environment, timeout=timeout, run_timeout=timeout))
        result = results.get(path.name) or next(iter(results.values()))
        return {**result, "text": result["text"].replace(f"{scratch}/", "").replace(f"{root}/", "")}


def unit_tests(checkout: Path, branch: str, arch: str) -> list[Source]:
    """The unit tests of a checkout that are for a target."""
    return [
        source for source in hipkittens_sources.sources(checkout, branch, arch, ()) if source.is_unit_test
    ]


def commit(checkout: Path) -> str:
    """The commit of a checkout; "" of a folder that is none."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


@dataclass(frozen=True)
class Task:
    """A run that the table wants: a kernel at a size, or a unit test, with one of the libraries."""

    branch: str
    path: str
    size: str
    own_headers: bool

    @property
    def key(self) -> str:
        return " | ".join((self.branch, self.path, self.size, "own" if self.own_headers else "ours"))


NOT_RUN = "not run"
KINDS = ("right", "wrong", "fails", "compiles", "no", NOT_RUN)
"""Results of a run, as of `hipkittens_sources.attempt`."""
Results = dict[str, dict[str, str]]
"""By the key of a task: "result", "text", "date" and "commit"."""


def tasks(
    kernels: Sequence[Kernel], tests: Mapping[str, Sequence[Source]], libraries: Sequence[bool]
) -> list[Task]:
    """All runs; the first size of each kernel comes first."""
    of_kernels = [
        Task(kernel.branch, kernel.path, kernel.sizes[number].name, own)
        for number in (0, 1)
        for kernel in kernels
        for own in libraries
    ]
    of_tests = [
        Task(branch, source.name, "", own)
        for branch, sources in tests.items()
        for source in sources
        for own in libraries
    ]
    return of_kernels + of_tests


def run_all(
    wanted: Sequence[Task],
    checkouts: Mapping[str, Path],
    targets: Mapping[str, str],
    tests: Mapping[str, Sequence[Source]],
    attempt_test: Callable[[Source, bool], dict[str, str]],
    jobs: int,
    timeout: float,
) -> Iterator[tuple[Task, dict[str, str]]]:
    """Runs and what became of them, as they come.

    Args:
        wanted: runs.
        checkouts: folders by branch.
        targets: by branch.
        tests: unit tests by branch.
        attempt_test: result of a unit test, with HipKittens' own headers or ours.
        jobs: how many at a time.
        timeout: seconds of one call of `make`.
    """
    kernels = {(kernel.branch, kernel.path): kernel for kernel in RUNS}
    sources = {(branch, source.name): source for branch, found in tests.items() for source in found}
    commits = {branch: commit(folder) for branch, folder in checkouts.items()}

    with tempfile.TemporaryDirectory(prefix="hipkittens-") as scratch, ThreadPoolExecutor(jobs) as pool:
        tools = hipkittens_makefiles.tools(Path(scratch) / "bin")

        def work(task: Task) -> dict[str, str]:
            place, checkout = (task.branch, task.path), checkouts[task.branch]
            if place in kernels:
                kernel = kernels[place]
                size = next(size for size in kernel.sizes if size.name == task.size)
                result = attempt(
                    kernel, size, checkout, targets[task.branch], task.own_headers, tools, timeout
                )
            else:
                result = attempt_test(sources[place], task.own_headers)
                result["text"] = result["text"].replace(f"{checkout}/", "")
            stamp = {"date": datetime.now(UTC).date().isoformat(), "commit": commits[task.branch]}
            return {**result, **stamp}

        running = {pool.submit(work, task): task for task in wanted}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def table(tasks: Sequence[Task], results: Results, targets: Mapping[str, str], longest: int) -> str:
    """Three tables: what was tried when, counts, and a row for each kernel; runs without a result too."""
    rows: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        rows.setdefault((task.branch, task.path), []).append(task)
    branches = dict.fromkeys(task.branch for task in tasks)
    lines = ["| branch | commit | tried on |", "| --- | --- | --- |"]
    for branch in branches:
        of = [results[task.key] for task in tasks if task.branch == branch and task.key in results]
        dates = sorted({result["date"] for result in of})
        days = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else ""
        lines.append(f"| {branch} | {', '.join(sorted({result['commit'] for result in of}))} | {days} |")
    lines += ["", f"| branch | headers | {' | '.join(KINDS)} |", "|" + " --- |" * (2 + len(KINDS))]
    for branch, own in itertools.product(branches, (True, False)):
        of = [_of(task, results) for task in tasks if task.branch == branch and task.own_headers == own]
        counts = Counter(result["result"] for result in of)
        cells = " | ".join(str(counts[kind]) for kind in KINDS)
        lines.append(f"| {branch} | {'its own' if own else 'ours'} | {cells} |")
    heads = ("branch", "source", "target", "sizes", "its own headers", "our headers", "checked, or the cause")
    lines += ["", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for (branch, path), found in rows.items():
        sizes = "; ".join(dict.fromkeys(task.size for task in found)) or "smallest"
        # Of several causes and texts the row has the first: ours before theirs.
        ours, own = ([_of(task, results) for task in found if task.own_headers == of] for of in (False, True))
        causes = [cause for result in (*ours, *own) if (cause := _cause(path, result))]
        checked = [f"`{result['text']}`" for result in (*ours, *own) if result["result"] == "right"]
        text = (causes or checked or ["no result yet"])[0].replace("|", "\\|")[:longest]
        cells = (", ".join(result["result"] for result in column) for column in (own, ours))
        lines.append(f"| {branch} | {path} | {targets[branch]} | {sizes} | {' | '.join(cells)} | {text} |")
    return "\n".join(lines)


def _of(task: Task, results: Results) -> dict[str, str]:
    return results.get(task.key, {"result": NOT_RUN, "text": ""})


def _cause(path: str, result: Mapping[str, str]) -> str:
    """Why a result is not "right": the reason, or what was said; "" of one that is, or is missing."""
    if result["result"] in ("right", NOT_RUN):
        return ""
    text = result["text"].replace("`", "'")
    return hipkittens_reasons.why(path, result["result"], result["text"]) or f"`{text}`"
