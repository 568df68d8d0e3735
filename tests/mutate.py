"""Measures how strong the tests are: small faults are put into a copy of the tree, one at a time.

    python tests/mutate.py tiles --count 60 --seed 1
    python tests/mutate.py emulator --count 60 --seed 1

A mutant is another operator, constant or condition at a place that the seed draws. The tests that cover its
file run until the first one fails: those of `make test` first, and where they find nothing the full product
of generated kernels, so that a mutant that only this finds shows what the covering arrays miss. Survivors of
both are named; some of them compute the same as the original. A test that killed a mutant runs again without
it; if it fails there too, it is dropped and named at the end. Tests that found a mutant go first for the next
one, and `--folder` keeps what was compiled for another run.
"""

from __future__ import annotations

import argparse
import ast
import filecmp
import importlib
import importlib.util
import io
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
GENERATED = "tests/kernels/generated"
SECONDS = 90
"""CPU time, not wall time, that a test may take; a mutant that makes it take longer, such as an endless loop,
is killed."""

AREAS = {
    "tiles": ("kernels/include/**/*.cuh",),
    "emulator": ("workbench/emulator/semantics/*.py", "workbench/emulator/native/**/*.[ch]"),
    "operators": ("kernels/families/*.cuh",),
}

FAMILIES = {
    path.stem.removeprefix("test_"): f"{GENERATED}/{path.name}"
    for path in (ROOT / GENERATED).glob("test_*.py")
}
COVERED_IN_PART = {test for name, test in FAMILIES.items() if name not in ("coverage", "sanitized", "table")}
"""The generated tests that a run reduces to a covering array, or to one target."""

SEMANTICS = "tests/emulator/semantics"
OPS = "tests/emulator/native/ops"

COVER: dict[str, tuple[str, ...]] = {
    r"tile/(atomics|blocks|scans|selections)": (
        "tests/kernels/test_row_operations.py",
        "tests/kernels/test_quantize.py",
    ),
    r"tile/(quantize|products)": ("tests/kernels/test_quantize.py", "tests/kernels/test_gemm.py"),
    r"tile/rotations|gl_strided": ("tests/kernels/test_rows_by_index.py",),
    r"philox|tile/random": ("tests/kernels/test_random.py",),
    r"types/complex": ("tests/kernels/test_fp6_branch.py",),
    r"group/register": ("tests/kernels/test_group_reductions.py", FAMILIES["vectors"]),
    r"group/shared": ("tests/kernels/test_vectors_in_memory.py", FAMILIES["vectors"]),
    r"common/meta": ("tests/kernels/test_errors.py", FAMILIES["tile_maps"], FAMILIES["vectors"]),
    r"common/(lanes|functions)": (
        FAMILIES["tile_reductions"],
        FAMILIES["vectors"],
        FAMILIES["tile_maps"],
        "tests/kernels/test_compatibility.py",
    ),
    r"common/numbers": (FAMILIES["tile_maps"], FAMILIES["tile_masks"], FAMILIES["tile_conversions"]),
    r"tile_order": ("tests/kernels/test_schedules.py",),
    r"schedules/(interleave|ping_pong|sequence)": (
        "tests/kernels/test_schedules.py",
        "tests/kernels/test_gemm_schedules.py",
    ),
    r"register/art|assembly/|common/macros|mma_agpr": ("tests/kernels/test_art.py",),
    r"mma_scaled|small_floats": ("tests/kernels/test_scaled_mma.py", FAMILIES["tile_mma"]),
    r"register_buffer": ("tests/kernels/test_source_compatibility.py",),
    r"group/memory/tile/stream": (
        "tests/kernels/test_schedules.py",
        "tests/kernels/test_gemm_schedules.py",
    ),
    r"pyutils": ("tests/kernel/test_host_module.py",),
    r"tile/reductions": (FAMILIES["tile_reductions"],),
    r"tile/conversions": (FAMILIES["tile_conversions"], FAMILIES["tile_layouts"]),
    r"tile/masks": (FAMILIES["tile_masks"],),
    r"tile/maps": (FAMILIES["tile_maps"], "tests/kernels/test_register_vectors.py"),
    r"tile/mma": (FAMILIES["tile_mma"], "tests/kernels/test_mma.py"),
    r"/vec/|register/rv": (
        "tests/kernels/test_register_vectors.py",
        "tests/kernels/test_vectors_in_memory.py",
        FAMILIES["vectors"],
    ),
    r"tile/global_to_register": (FAMILIES["global_register"],),
    r"tile/shared_to_register": (FAMILIES["shared_register"], "tests/kernels/test_banks.py"),
    r"types/shared": (FAMILIES["shared_register"], FAMILIES["global_shared"], "tests/kernels/test_banks.py"),
    r"ops/group/|common/(buffer|sync)": (
        FAMILIES["global_shared"],
        FAMILIES["shared_register"],
        FAMILIES["vectors"],
        "tests/kernels/test_gemm_schedules.py",
        "tests/kernels/test_register_vectors.py",
    ),
    r"types/global": (FAMILIES["grid"], FAMILIES["global_register"], "tests/kernel/test_host_module.py"),
    r"common/util": (
        FAMILIES["grid"],
        FAMILIES["tile_masks"],
        FAMILIES["global_register"],
        "tests/kernels/test_register_vectors.py",
    ),
    r"common/base_(types|ops)": (
        FAMILIES["tile_maps"],
        FAMILIES["tile_conversions"],
        FAMILIES["tile_reductions"],
        FAMILIES["vectors"],
        "tests/kernels/test_register_vectors.py",
    ),
    r"families/attention": ("tests/kernels/test_attention.py",),
    r"families/gemm": ("tests/kernels/test_gemm.py", "tests/kernels/test_gemm_schedules.py"),
    r"families/expert": ("tests/kernels/test_experts.py",),
    r"families/delta": ("tests/kernels/test_gated_delta.py",),
    r"families/quantize": ("tests/kernels/test_quantize.py",),
    r"families/causal_conv": ("tests/kernels/test_convolution.py",),
    r"families/rotary": ("tests/kernels/test_rotary.py",),
    r"families/rowwise": ("tests/kernels/test_kernels.py", "tests/kernels/test_activations.py"),
    r"families/": (),
    r"kernels/include/": (
        FAMILIES["tile_masks"],
        FAMILIES["tile_reductions"],
        FAMILIES["vectors"],
        FAMILIES["tile_layouts"],
        FAMILIES["global_register"],
    ),
    r"sanitizer/heap": ("tests/emulator/node/test_heap.py",),
    r"observe/sanitiz": ("tests/emulator/sanitizer",),
    r"observe/": ("tests/emulator/native/observe", "tests/profile/test_caches.py"),
    r"native/(run/|abi)": ("tests/emulator/node", "tests/emulator/native", "tests/emulator/semantics"),
    r"ops/(addresses|buffer|flat|typed|scalar)": (
        f"{OPS}/test_memory.py",
        OPS,
        "tests/runtime/test_launch.py",
        SEMANTICS,
    ),
    r"ops/atomics": (f"{OPS}/test_atomics.py", OPS, SEMANTICS),
    r"ops/crosslane": (f"{OPS}/test_crosslane.py", OPS, SEMANTICS),
    r"ops/lds": (f"{OPS}/test_lds.py", OPS, "tests/emulator/native/observe"),
    r"ops/matrix": (f"{OPS}/test_matrix.py", "tests/emulator/translate"),
    r"ops/": (SEMANTICS, OPS),
    r"semantics/(packed|indexed|scalar)\.": (f"{SEMANTICS}/test_operands.py", SEMANTICS, OPS),
    r"semantics/": (SEMANTICS, OPS, "tests/emulator/node"),
}
"""The tests of a file, by the first pattern that its path has."""

BESIDE = (
    FAMILIES["tile_conversions"],
    FAMILIES["tile_maps"],
    FAMILIES["tile_reductions"],
    FAMILIES["vectors"],
)
"""Also for files whose instructions most kernels have."""

OPERATORS = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "//": "*",
    "%": "/",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
    "^": "|",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
    "and": "or",
    "or": "and",
    "+=": "-=",
    "-=": "+=",
    "|=": "&=",
    "&=": "|=",
}
VALUES = {"true": "false", "false": "true", "True": "False", "False": "True"}
PREDICATES = {
    "oeq": "une",
    "une": "oeq",
    "ogt": "oge",
    "oge": "ogt",
    "olt": "ole",
    "ole": "olt",
    "eq": "ne",
    "ne": "eq",
    "ugt": "uge",
    "uge": "ugt",
    "ult": "ule",
    "ule": "ult",
    "sgt": "sge",
    "sge": "sgt",
    "slt": "sle",
    "sle": "slt",
}
"""LLVM's comparisons, which the semantics name in strings."""

# Text that never runs: comments, literals, directives, text only for the compiler.
_C_SILENT = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*"
    r"|\bstatic_assert\s*\(.*?\)\s*;|\b_Static_assert\s*\(.*?\)\s*;|\brequires\b[^{;]*|\[\[.*?\]\]"
    r"|__attribute__\s*\(\(.*?\)\)|\b__launch_bounds__\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)
# clang-format puts a binary operator between blanks, and template brackets, pointers and references not.
_C_OPERATOR = re.compile(rf"(?<= )(?:{'|'.join(map(re.escape, OPERATORS))})(?= )")
_C_NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-fA-F]+|\d+)(?=[uUlL]*(?![\w.]))")
_C_CONDITION = re.compile(r"\bif (?:constexpr )?(?=\()")


@dataclass(frozen=True)
class Mutant:
    """A change of one place of a file."""

    path: str
    start: int
    end: int
    text: str
    kind: str

    def applied(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def line(self, source: str) -> int:
        """Number of its line, from 0."""
        return source.count("\n", 0, self.start)

    def described(self, source: str) -> str:
        line = self.line(source)
        before, after = source.splitlines()[line].strip(), self.applied(source).splitlines()[line].strip()
        return f"{self.path}:{line + 1}: {before}  =>  {after}"


def another_number(text: str) -> str:
    value = int(text, 0)
    return f"{value + 1:#x}" if text.startswith("0x") else str(value + 1)


def c_mutants(path: str, source: str) -> Iterator[Mutant]:
    code = _C_SILENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
    for match in _C_OPERATOR.finditer(code):
        yield Mutant(path, *match.span(), OPERATORS[match[0]], "operator")
    for match in _C_NUMBER.finditer(code):
        yield Mutant(path, *match.span(), another_number(match[0]), "constant")
    for match in re.finditer(r"\b(?:true|false)\b", code):
        yield Mutant(path, *match.span(), VALUES[match[0]], "constant")
    for match in _C_CONDITION.finditer(code):
        depth = 0
        for at in range(match.end(), len(code)):
            depth += {"(": 1, ")": -1}.get(code[at], 0)
            if depth == 0:
                negated = f"(!{source[match.end() : at + 1]})"
                yield Mutant(path, match.end(), at + 1, negated, "condition")
                break


def python_mutants(path: str, source: str) -> Iterator[Mutant]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(row: int, column: int) -> int:
        # ast counts bytes.
        line = source[starts[row - 1] : starts[row]] if row < len(starts) else ""
        return starts[row - 1] + len(line.encode()[:column].decode())

    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        text = token.string
        if text in OPERATORS and token.type in (tokenize.OP, tokenize.NAME):
            yield Mutant(path, start, end, OPERATORS[text], "operator")
        elif text in VALUES:
            yield Mutant(path, start, end, VALUES[text], "constant")
        elif token.type == tokenize.NUMBER and re.fullmatch(r"0x[0-9a-fA-F_]+|\d+", text):
            yield Mutant(path, start, end, another_number(text), "constant")
        elif token.type == tokenize.STRING and text.strip("\"'") in PREDICATES:
            yield Mutant(path, start, end, f'"{PREDICATES[text.strip(chr(34))]}"', "operator")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If | ast.IfExp):
            test = node.test
            assert test.end_lineno is not None
            assert test.end_col_offset is not None
            start = offset(test.lineno, test.col_offset)
            end = offset(test.end_lineno, test.end_col_offset)
            yield Mutant(path, start, end, f"(not ({source[start:end]}))", "condition")


def mutants(area: str, tree: Path, seed: int) -> Iterator[Mutant]:
    """All mutants of an area in random order, alternating between the kinds."""
    by_kind: dict[str, list[Mutant]] = {}
    for pattern in AREAS[area]:
        for path in sorted(tree.glob(pattern)):
            name, source = str(path.relative_to(tree)), path.read_text()
            for mutant in (python_mutants if path.suffix == ".py" else c_mutants)(name, source):
                by_kind.setdefault(mutant.kind, []).append(mutant)
    generator = random.Random(seed)
    for kind in by_kind.values():
        generator.shuffle(kind)
    for turn in range(max(map(len, by_kind.values()))):
        yield from (kind[turn] for kind in by_kind.values() if turn < len(kind))


def is_code(mutant: Mutant, tree: Path) -> bool:
    """True if the mutant compiles on its own, before any code uses it."""
    path = tree / mutant.path
    if path.suffix == ".py":
        command = [sys.executable, "-c", "import workbench.emulator.semantics"]
    elif path.suffix == ".cuh":
        program = (
            "from workbench.toolchain import CompileOptions, compile_device\n"
            "source = '#include \"kittens.cuh\"\\n__global__ void k() {}'\n"
            "compile_device(source, CompileOptions('gfx950', debug=False))"
        )
        command = [sys.executable, "-c", program]
    else:
        folder = next(parent for parent in path.parents if parent.name == "native")
        sources = [path] if path.suffix == ".c" else list(folder.glob("ops/*.c"))[:1]
        command = [sys.executable, "-m", "ziglang", "cc", "-std=gnu17", "-O0", "-mcpu=native"]
        command += ["-DHK_LANES=64", f"-I{folder}", f"-I{path.parent}", "-c", *map(str, sources)]
        command += ["-o", str(tree.parent / "object")]
    return subprocess.run(command, cwd=tree, env=environment(tree), capture_output=True).returncode == 0


def environment(tree: Path) -> dict[str, str]:
    # Unchanged code is compiled once for all mutants.
    return {
        **os.environ,
        "PYTHONPATH": str(tree),
        "HIPKITTENS_CACHE": str(tree.parent / "cache"),
        "ZIG_LOCAL_CACHE_DIR": str(tree.parent / "zig"),
        "HIPKITTENS_TEST_SEED": os.environ.get("HIPKITTENS_TEST_SEED", "1"),
        # The first failing kernel ends a run, so few are compiled before it.
        "HIPKITTENS_TEST_BATCH": "6",
    }


class Turns:
    """A pytest plugin: tests that killed mutants run first, broken ones never, and endless ones are stopped.

    The order decides how long a run takes and nothing else.

    Attributes:
        broken: node ids of tests that fail without a mutant too.
    """

    def __init__(self, folder: Path) -> None:
        self.broken: set[str] = set()
        self._kills: dict[str, int] = {}
        self._running = folder / "running"

    def begin(self) -> None:
        """Forgets the test that was running when the last run ended."""
        self._running.unlink(missing_ok=True)

    def note(self, test: str) -> None:
        """Counts a mutant that a test killed."""
        self._kills[test] = self._kills.get(test, 0) + 1

    @property
    def running(self) -> str:
        """The node id of the test that began last in a run; empty where none began."""
        return self._running.read_text() if self._running.exists() else ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid not in self.broken]
        items.sort(key=lambda item: -self._kills.get(item.nodeid, 0))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._running.write_text(item.nodeid)
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def import_what_stays(tree: Path) -> None:
    """Imports modules that most mutants do not change, before the forks."""
    os.environ.update(environment(tree))
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    for name in ("IPython.testing.globalipapp", "llvmlite.binding", "torch", "workbench.kernel"):
        importlib.import_module(name)
    sys.modules["torch"].set_num_threads(1)


def forget(package: str) -> None:
    """Drops a package's modules, so that they are imported again from changed files."""
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]


def run_tests(
    tree: Path, tests: tuple[str, ...], tier: str, turns: Turns, path: str, seed: int
) -> str | None:
    """Why the first test failed, `turns.running`; None where all pass. In a fork: `path` has changed."""
    log = tree.parent / "log"
    turns.begin()
    child = os.fork()
    if child == 0:
        os.setsid()
        with log.open("w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        os.environ["HIPKITTENS_TEST_ALL"] = "1" if tier == "product" else "0"
        os.environ["HIPKITTENS_TEST_SEED"] = str(seed)
        if path.endswith((".py", "abi.h")):
            forget("workbench")
        options = ["-x", "-n0", "-p", "no:cacheprovider", "--tb=line", "--timeout=0"]
        options.append(f"--tier={'test' if tier == 'test' else 'all'}")
        ended = pytest.main([*options, *tests], plugins=[turns])
        sys.stdout.flush()
        os._exit(ended)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # remaining processes of the test
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) in (
        pytest.ExitCode.OK,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    ):
        return None
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return f"the limit of {SECONDS} s"
    failed = re.search(r"^(?:SUBFAILED\S*|FAILED|ERROR) (.*)", log.read_text(), re.MULTILINE)
    if failed is None:
        return f"status {status}"
    # A long name leaves no room for the reason.
    return failed[1].removeprefix(turns.running).removeprefix(" - ") or "failed"


UNUSABLE = re.compile(
    r"CompileError|ToolchainError|SyntaxError|error: |errors? during collection|ImportError"
)
"""Log messages of mutants that may be no program at all; such mutants do not count."""


INCLUDED = re.compile(r'^#include "(families/)?([\w/]+\.cuh)"', re.MULTILINE)


def reached(source: str, tree: Path) -> set[str]:
    """Names of the families' headers that a source includes, also indirectly."""
    names, texts = set(), [source]
    while texts:
        for _, name in INCLUDED.findall(texts.pop()):
            header = tree / "kernels/families" / name
            if name not in names and header.is_file():
                names.add(name)
                texts.append(header.read_text())
    return names


@cache
def operators(header: str, tree: Path) -> tuple[str, ...]:
    """Tests of the operators whose kernels are compiled from a header of the families."""
    # The copy's module: the copy is already on the path.
    import workbench as wb
    from workbench.targets import TILE_TARGETS

    def uses(spec: Any) -> bool:
        return any(header in reached(spec.read_source(source), tree) for source in spec.sources)

    used = [name for name in wb.kernels if uses(wb.kernels[name])]
    return tuple(
        f"tests/kernels/test_operators.py::test_results[{n}-{t}]" for n in used for t in TILE_TARGETS
    )


def tests_of(mutant: Mutant, tree: Path) -> tuple[str, ...]:
    tests = next(tests for pattern, tests in COVER.items() if re.search(pattern, mutant.path))
    if "families/" in mutant.path:
        tests += operators(Path(mutant.path).name, tree)
    return tests + (BESIDE if re.search("semantics/|ops/(convert|math|rounding)", mutant.path) else ())


@contextmanager
def mutated(tree: Path, mutant: Mutant) -> Iterator[None]:
    """Applies the mutant; the file is as before afterwards."""
    path = tree / mutant.path
    source = path.read_text()
    # Python takes bytecode for that of a source of the same size and the same second.
    bytecode = Path(importlib.util.cache_from_source(str(path)))
    bytecode.unlink(missing_ok=True)
    path.write_text(mutant.applied(source))
    try:
        yield
    finally:
        path.write_text(source)
        bytecode.unlink(missing_ok=True)


def copy_of_the_tree(to: Path) -> None:
    """Makes `to` equal to the files that git lists; compiled Python of unchanged files stays."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    for path in to.rglob("*"):
        if path.is_file() and path.suffix != ".pyc" and str(path.relative_to(to)) not in names:
            path.unlink()
    for name in names:
        source, copy = ROOT / name, to / name
        if not copy.is_file() or not filecmp.cmp(source, copy, shallow=False):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


TIERS = {"test": "make test", "all": "make test-all", "product": "the full product"}


def killer(
    mutant: Mutant, tree: Path, turns: Turns, seed: int, tests: list[str] | None
) -> tuple[str, str] | None:
    """The smallest tier that kills a mutant, and the test; None if it survives, ("", "") if it cannot run.

    A test that fails without the mutant too kills nothing: it joins `turns.broken`, and the others run.
    """
    full = tuple(tests or tests_of(mutant, tree))
    for tier in TIERS:
        selected = tuple(test for test in full if test in COVERED_IN_PART) if tier == "product" else full
        if not selected:
            continue
        while True:
            with mutated(tree, mutant):
                reason = run_tests(tree, selected, tier, turns, mutant.path, seed)
                if reason is None:
                    break
                log = (tree.parent / "log").read_text()
                if UNUSABLE.search(log) and not is_code(mutant, tree):
                    return "", ""
            test = turns.running
            if run_tests(tree, (test,) if test else selected, tier, turns, mutant.path, seed) is None:
                turns.note(test)
                return tier, f"{test} - {reason}"[:150]
            if not test:
                raise RuntimeError(f"the tests of {mutant.path} cannot start without a mutant: {reason}")
            turns.broken.add(test)
    return None


def one_job(options: argparse.Namespace, folder: Path, job: int) -> tuple[dict[str, int], set[str]]:
    """Runs one job.

    Returns the number of mutants that each tier killed first, under "alive" the survivors, and the tests
    that were dropped.
    """
    tree = folder / f"job-{job}" / "tree"
    copy_of_the_tree(tree)
    turns, counts = Turns(tree.parent), dict.fromkeys((*TIERS, "alive"), 0)
    import_what_stays(tree)
    quota = len(range(job, options.count, options.jobs))
    drawn = islice(
        enumerate(mutants(options.area, tree, options.seed)), options.start + job, None, options.jobs
    )
    for number, mutant in drawn:
        if sum(counts.values()) == quota:
            break
        description = mutant.described((tree / mutant.path).read_text())
        by = killer(mutant, tree, turns, number + 1, options.tests)
        if by == ("", ""):
            continue
        tier, test = by or ("alive", "")
        counts[tier] += 1
        how = f"killed by {TIERS[tier]}, {test}" if by else "survives"
        print(f"{number:3} {description}\n    {how}", flush=True)
    return counts, turns.broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("area", choices=AREAS)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="of the drawn places the first one")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the mutants")
    parser.add_argument("--tests", nargs="+", help="these instead of those that cover a mutant's file")
    parser.add_argument("--folder", type=Path, help="the copies and their caches, kept for another run")
    options = parser.parse_args()

    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as temporary,
        ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool,
    ):
        folder = (options.folder or Path(temporary)).resolve()
        jobs = [pool.submit(one_job, options, folder, job) for job in range(options.jobs)]
        counts = {name: sum(job.result()[0][name] for job in jobs) for name in (*TIERS, "alive")}
        broken = sorted(set().union(*(job.result()[1] for job in jobs)))
    killed = [sum(list(counts.values())[: rank + 1]) for rank in range(len(TIERS))]
    summary = ", ".join(f"{name} kills {number}" for name, number in zip(TIERS.values(), killed, strict=True))
    print(f"{sum(counts.values())} mutants of {options.area}, seed {options.seed}: {summary}")
    if broken:
        print(f"dropped, since they fail without a mutant too ({len(broken)}):")
        print("\n".join(f"  {test}" for test in broken))


if __name__ == "__main__":
    main()
