"""Compiles HipKittens' unmodified sources, runs them on an emulated device, and checks the results. Nothing
of a source is stored. Kernels of fixed sizes start a few work-groups on tensors of those sizes, with outputs
of NaN: some elements have to be written, and these have to be right.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import sys
import sysconfig
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from workbench import targets
from workbench.errors import CompileError, WorkbenchError
from workbench.runtime import LaunchOptions, device
from workbench.toolchain import zig

COMPILE_TIMEOUT = RUN_TIMEOUT = 800.0
MACROS = ("HIP_ENABLE_WARP_SYNC_BUILTINS",)
ATTENTION = {"ATTN_B": 1, "ATTN_H": 4, "ATTN_H_KV": 2, "ATTN_N": 512}
"""Small sizes for attention; sources that do not take them from macros start part of their grid.

A request of `main` may have others, and sizes of the tensors of kernels that take them as arguments.
"""
MOST_SCORES = 1
"""Gigabytes of attention scores of a reference; its gradients take several times as much."""
OTHER_TARGET = "gfx1250"
"""Folders for a target that the tile library does not have."""
COPIES = {"fp6_dwordx3": ("KITTENS_FP6=3",)}
"""Macros of adjacent copies of the library that differ."""


@dataclass(frozen=True)
class Source:
    """A source of HipKittens.

    Attributes:
        branch: of HipKittens.
        root: the folder that has its `include`.
        path: of the file; of a unit test, the `.cu` with its tests.
        arch: target.
        define: macros that it is compiled with.
        library: folder of HipKittens' headers for its target, where its own branch is for another one.
    """

    branch: str
    root: Path
    path: Path
    arch: str
    define: tuple[str, ...]
    library: Path | None = None

    @property
    def headers(self) -> Path:
        """HipKittens' own headers."""
        return self.library or self.root / "include"

    @property
    def name(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    def record(self) -> dict[str, Any]:
        """The source as JSON, for a separate process."""
        folders = {name: str(getattr(self, name) or "") for name in ("root", "path", "library")}
        return {**vars(self), **folders}

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Source:
        """A source from its record."""
        root, path = (Path(record[name]) for name in ("root", "path"))
        library = Path(record["library"]) if record.get("library") else None
        return Source(record["branch"], root, path, record["arch"], tuple(record["define"]), library)

    @property
    def is_unit_test(self) -> bool:
        return "unit" in self.path.relative_to(self.root).parts


def roots(checkout: Path) -> list[Path]:
    """The folders of a checkout that have the tile library: itself, or adjacent copies."""
    return [folder for folder in (checkout, *sorted(checkout.glob("*"))) if (folder / "include").is_dir()]


def sources(
    checkout: Path,
    branch: str,
    arch: str,
    define: tuple[str, ...],
    libraries: Mapping[str, Path] | None = None,
) -> Iterator[Source]:
    """The kernels and unit tests of a checkout; `libraries` are HipKittens' headers by target.

    Of those in a folder that differ only in numbers, such as sizes, the first is taken; so is the first of
    equal ones in several copies of the library.
    """
    seen = set()
    for root in roots(checkout):
        files = [p for sub in ("kernels", "analysis") for p in sorted((root / sub).rglob("*.c[pu]*"))]
        files += sorted((root / "training").rglob("csrc/*.cpp"))
        unit = units(root)
        tests = [p for p in sorted(unit.rglob("*.cu")) if re.search(r"^#ifdef TEST_\w+", p.read_text(), re.M)]
        for path in (*(p for p in files if _is_program(p)), *(p for p in tests if _is_leaf(p))):
            if OTHER_TARGET in path.parts:
                continue
            text = path.read_text()
            same = (path.parent.relative_to(root), re.sub(r"\d+", "0", text))
            if same in seen:
                continue
            seen.add(same)
            of = target_of(path, arch)
            library = (libraries or {}).get(of) if of != arch else None
            yield Source(branch, root, path, of, COPIES.get(root.name, define), library)


def units(root: Path) -> Path:
    """The folder of a checkout's unit tests for CDNA; those of 2026 have one for each generation."""
    return max(root / "tests" / "unit" / "cdna4", root / "tests" / "unit", key=Path.is_dir)


def target_of(path: Path, arch: str) -> str:
    """The target that a file is for: that of the product in its path, or its branch's."""
    target = {"mi325x": "gfx942", "mi350x": "gfx950"}
    return next((of for product, of in target.items() if product in path.as_posix()), arch)


def _is_program(path: Path) -> bool:
    """True for a file that is compiled on its own, for AMD's GPUs."""
    text = path.read_text()
    return "kittens.cuh" in text and re.search(r"PYBIND11_MODULE|\bint main\b", text) is not None


def _is_leaf(path: Path) -> bool:
    """True for a unit test's file that contains tests itself, rather than only calling others."""
    return re.search(r"\bdevice_func\b", path.read_text()) is not None


def digest_of_headers(folder: Path) -> str:
    content = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content.update(path.read_bytes())
    return content.hexdigest()[:12]


def attempt(source: Source, own_headers: bool, whole: bool = False) -> dict[str, object]:
    """Compile and run a source: its Python module if it has one, both halves of it.

    Args:
        source: which.
        own_headers: whether with HipKittens' own tile library instead of ours.
        whole: whether its module is called as its users call it, with its whole grid, large ones too.

    Returns:
        "result": "no", "compiles", "fails", "wrong" or "right"; "text": the first error, or what was checked.
    """
    include = [source.headers] if own_headers else []
    try:
        if source.is_unit_test:
            return _run_unit_test(source, include)
        module = _compile(source, include)
    except CompileError as error:
        return {"result": "no", "text": first_error(error)}
    except WorkbenchError as error:
        return {"result": "no", "text": str(error).splitlines()[0]}
    whole_module = _Whole(module) if whole and isinstance(module, wb.HostModule) else module
    return checked(whole_module, source, include)


def checked(
    module: wb.Module | wb.HostModule | _Whole, source: Source, include: list[Path]
) -> dict[str, object]:
    """Results of a source's module, as of `attempt`."""
    check = next((check for pattern, check in CHECKS if re.search(pattern, source.name)), None)
    if check is None:
        return {"result": "compiles", "text": "computes nothing that could be compared"}
    try:
        return {"result": "right", "text": check(module, source, include)}
    except TooLargeError as error:
        return {"result": "compiles", "text": str(error)}
    except WrongError as error:
        return {"result": "wrong", "text": f"{error}; {_sanitized(check, module, source, include)}"}
    except WorkbenchError as error:
        return {"result": "fails", "text": str(error).splitlines()[0]}
    except Exception as error:
        traceback.print_exc()
        return {"result": "fails", "text": f"{type(error).__name__}: {error}"}


def _sanitized(check: Check, module: Any, source: Source, include: list[Path]) -> str:
    """The sanitizer's summary of a failed check's launches."""
    with wb.sanitizing() as watch, contextlib.suppress(WrongError):
        check(module, source, include)
    count = Counter(finding.category for finding in watch.findings)
    kinds = ", ".join(f"{category} ({number})" for category, number in count.most_common())
    return f"the sanitizer: {kinds or 'nothing'}"


def first_error(error: CompileError) -> str:
    """The first error of the compiler."""
    first = next((d for d in error.diagnostics if d.severity == "error"), None)
    return first.message if first else str(error).splitlines()[0]


class WrongError(Exception):
    """A kernel's result is wrong."""


class TooLargeError(Exception):
    """The sizes that a source fixes are too large to compute a reference."""


@dataclass(frozen=True)
class UnitTest:
    """Build of the program with one file's tests, as in HipKittens' makefile.

    Attributes:
        text: the program.
        include: folders.
        switches: the macros that choose the file and the folders around it; the program forgets some.
        smallest: least size of the tests, of 0 to 4.
    """

    text: str
    include: list[Path]
    switches: tuple[str, ...]
    smallest: int

    def define(self, intensity: int) -> tuple[str, ...]:
        return (*self.switches, f"TEST_INTENSITY={intensity}")


def unit_test(source: Source) -> UnitTest:
    unit = units(source.root)
    common = max(unit.parent / "common", unit, key=Path.is_dir)
    parts = [common / "unit_tests.cu", common / "testing_commons" / "testing_utils.cu"]
    parts += [p for p in sorted(unit.rglob("*.cu")) if p.parent != unit and p not in parts]
    names = [part.upper() for part in source.path.relative_to(unit).parts]
    guards = re.findall(r"^#ifdef (TEST_\w+)", source.path.read_text(), re.M)[:1]
    switches = (*("_".join(("TEST", *names[:n])) for n in range(1, len(names))), *guards)
    text = "".join(f'#include "{part}"\n' for part in parts)
    smallest = 0 if "INTENSITY_0" in source.path.read_text() else 1
    return UnitTest(text, [unit, common / "testing_commons"], switches, smallest)


def _run_unit_test(source: Source, include: list[Path]) -> dict[str, object]:
    """A file's tests in the smallest size with any."""
    test = unit_test(source)
    for intensity in range(test.smallest, 4):
        result = wb.run_program(
            test.text,
            device=f"emulated:{source.arch}",
            include=[*test.include, *include],
            define=[*test.define(intensity), *MACROS, *source.define],
            flags=["-w", "-ferror-limit=1"],
            timeout=RUN_TIMEOUT,
            compile_timeout=COMPILE_TIMEOUT,
        )
        summary = outcome(result.stdout)
        if summary["result"] != "compiles" or result.exit_code:
            break
    if result.exit_code or "Summary" not in result.stdout:
        lines = (result.stderr.strip() or result.stdout.strip() or "nothing").splitlines()
        return {"result": "fails", "text": f"exit status {result.exit_code}: {lines[0]}"}
    return summary


def run_together(sources: Sequence[Source], own_headers: bool) -> dict[str, dict[str, object]]:
    """Results by name of unit tests of one folder that compile, as one program in their smallest size.

    It omits those whose heading another file has too, and those without a test in that size.
    """
    tests = [unit_test(source) for source in sources]
    smallest = min(test.smallest for test in tests)
    switches = dict.fromkeys(switch for test in tests for switch in test.switches)
    result = wb.run_program(
        tests[0].text,
        device=f"emulated:{sources[0].arch}",
        include=[*tests[0].include, *([sources[0].headers] if own_headers else [])],
        define=[*switches, f"TEST_INTENSITY={smallest}", *MACROS, *sources[0].define],
        flags=["-w", "-ferror-limit=1"],
        timeout=COMPILE_TIMEOUT,
        compile_timeout=COMPILE_TIMEOUT,
    )
    if result.exit_code or "Summary" not in result.stdout:
        return {}
    parts = re.split(r"Starting ops/(\S+) tests!", result.stdout)
    headings, texts = parts[1::2], parts[2::2]
    results = {}
    for source, test in zip(sources, tests, strict=True):
        heading = source.name.removeprefix("tests/unit/").removesuffix(".cu")
        if headings.count(heading) == 1 and test.smallest == smallest:
            summary = outcome(texts[headings.index(heading)])
            if summary["result"] != "compiles":
                results[source.name] = summary
    return results


def outcome(text: str) -> dict[str, object]:
    """The result of unit tests, or of a kernel with a test of its own, by what their program prints."""
    if verdict := re.search(r"^Correctness:? (PASSED|FAILED)", text, re.M):
        figure = re.search(r"^ *(.* failures|Mismatch at .*)", text, re.M)
        result = "right" if verdict[1] == "PASSED" else "wrong"
        return {"result": result, "text": f"its own check: {figure[1] if figure else verdict[1].lower()}"}
    # One test does not count itself in the program's summary.
    passed, failed = text.count("-- PASSED"), text.count("ALERT! FAILED")
    if not passed and not failed:
        return {"result": "compiles", "text": "its program runs, and has no test of it"}
    first = re.search(r"FAILED test `([^`]*)`", text)
    summary = f"{passed} of {passed + failed} tests pass" + (f"; not {first[1]}" if first else "")
    return {"result": "wrong" if failed else "right", "text": summary}


def host_headers() -> list[Path]:
    """Folders of the headers that a module's host code includes, which the device part reads too."""
    import pybind11

    wheel = zig.folder()
    of_zig = [wheel / "lib" / "libcxxabi" / "include"] if wheel else []
    return [Path(pybind11.get_include()), Path(sysconfig.get_path("include")), *of_zig]


def moved(source: Source) -> list[Path]:
    """Include folders for files that a source includes from their former location.

    For `#include "../utils.cpp"` it is a folder whose parent has the nearest `utils.cpp` of the checkout.
    """
    folders = []
    for name in re.findall(r'^#include "((?:\.\./)+[\w.]+)"', source.path.read_text(), re.M):
        beside = source.path.parent
        if (beside / name).exists():
            continue
        up, file = name.count("../"), name.rpartition("/")[2]
        for root in beside.parents[: len(beside.relative_to(source.root).parts)]:
            below = (folder for folder in sorted(root.rglob("*/" * up)) if (folder / name).is_file())
            if nearest := next((f for f in below if (f / name).resolve().name == file), None):
                folders.append(nearest)
                break
    return folders


def _compile(source: Source, include: list[Path], path: Path | None = None) -> wb.Module | wb.HostModule:
    """The Python module of a source, or the device part of one that binds nothing."""
    path = path or source.path
    text = path.read_text()
    sizes = [f"{name}={value}" for name, value in ATTENTION.items() if f"#ifndef {name}" in text]
    as_module = "PYBIND11_MODULE" in text
    return wb.compile(
        text,
        arch=source.arch,
        host=as_module,
        name=str(path),
        include=[*include, *moved(source), *([] if as_module else host_headers())],
        define=[*MACROS, *source.define, *sizes],
        flags=["-w", "-ferror-limit=1"],
        timeout=COMPILE_TIMEOUT,
    )


class _Whole:
    """A module whose functions are called instead of its kernels started, whatever their sizes."""

    def __init__(self, module: wb.HostModule) -> None:
        self.module = module


def _kernels(module: wb.Module | wb.HostModule | _Whole) -> wb.Module:
    of = module.module if isinstance(module, _Whole) else module
    return of.kernels if isinstance(of, wb.HostModule) else of


def call_function(module: wb.HostModule, text: str, tensors: Mapping[str, torch.Tensor | float]) -> None:
    """Call the module's first function that binds none but these tensors, with them in its order."""
    code = re.sub(r"//.*", "", text)
    for function, members in re.findall(r'py::bind_\w+<.*>\(\s*m,\s*"(\w+)",([^;]*)\);', code):
        names = re.findall(r"::(\w+)\s*[,\n)]", members + ")")
        if set(names) <= set(tensors):
            getattr(module, function)(*(tensors[name] for name in names))
            return
    raise ValueError(f"the source binds no function of {', '.join(tensors)}")


def _constant(text: str, name: str) -> int:
    """A size of a source: small if it comes from a macro, else as the source defines it."""
    from_macro = f"#ifndef {name}" in text and name in ATTENTION
    return ATTENTION[name] if from_macro else defined(text, name)


def defined(text: str, name: str) -> int:
    number = r"\(?(\d+(?: *\* *\d+)*)"
    match = re.search(rf"^\s*(?:#define\s+{name}\s+|constexpr int {name}\s*=\s*){number}", text, re.M)
    if match is None:
        raise ValueError(f"no {name} in the source")
    return math.prod(int(factor) for factor in match[1].split("*"))


def _start(
    module: wb.Module | wb.HostModule | _Whole,
    source: Source,
    name: str,
    grid: tuple[int, ...],
    text: str,
    is_whole: bool = False,
    **tensors: torch.Tensor | float,
) -> None:
    """Start a kernel by name, with the most threads and LDS that it may have, or as its module does.

    `is_whole` says that the grid is all of it, so that a module may do it.
    """
    if isinstance(module, _Whole) or (is_whole and isinstance(module, wb.HostModule)):
        call_function(module.module if isinstance(module, _Whole) else module, text, tensors)
        return
    kernel = _kernels(module)[name]
    target = device(f"emulated:{source.arch}")
    waves = re.search(r"#define NUM_(?:WARPS|WORKERS) \(?(\d+)", text)
    product = re.search(r"#define NUM_WARPS \(WARPS_M \* WARPS_N\)", text)
    if product:
        count = defined(text, "WARPS_M") * defined(text, "WARPS_N")
    elif "#define NUM_PRODUCER_WORKERS" in text:
        count = defined(text, "NUM_PRODUCER_WORKERS") + 4 * defined(text, "M_BLOCK")
    else:
        count = int(waves[1]) if waves else kernel.resources.block // 64
    limit = int(targets.target(source.arch).lds_bytes)
    asked = re.search(r"dynamic_shared_memory\(\) \{ return \(?(\d+)\)?; \}", text)
    shared = int(asked[1]) if asked else limit - kernel.resources.lds
    kernel.launch(wb.Launch(grid, 64 * count, shared), (), tensors, device=target)


def _compare(
    name: str, got: torch.Tensor, expected: torch.Tensor, tolerance: float = 0.02, is_whole: bool = False
) -> str:
    """Compares what was written; what was not is NaN. `is_whole` says that all has to be written."""
    written = ~got.isnan()
    if not written.any():
        raise WrongError(f"{name}: nothing was written")
    if is_whole and not written.all():
        raise WrongError(f"{name}: {(~written).sum()} of {got.numel()} elements were not written")
    a, b = got[written].double(), expected[written].double()
    error = ((a - b).norm() / b.norm().clamp_min(1e-9)).item()
    if not error < tolerance:
        raise WrongError(f"{name}: relative error {error:.2g} of {written.sum()} elements")
    return f"{name}: {error:.1e}"


def _gemm(module: Any, source: Source, include: list[Path]) -> str:
    """Checks C = A Bᵀ."""
    text = source.path.read_text()
    of_tensors = "M" in ATTENTION
    sizes = "MNK" if "#define M " in text else ("BLOCK_SIZE_ROWS", "BLOCK_SIZE_ROWS", "BLOCK_SIZE_COLS")
    m, n, k = (ATTENTION[name] for name in "MNK") if of_tensors else (defined(text, name) for name in sizes)
    whole = m * n <= 768 * 768 and isinstance(module, wb.HostModule)
    torch.manual_seed(0)
    dtype = torch.bfloat16
    a, b = (torch.randn(rows, k, dtype=dtype) / 10 for rows in (m, n))
    c = torch.full((m, n), float("nan"), dtype=dtype)
    names = ("A", "B", "C") if re.search(r"micro_globals::A\b", text) else ("a", "b", "c")
    _start(module, source, "micro_tk", (1, 1), text, whole, **dict(zip(names, (a, b, c), strict=True)))
    if whole:
        return _compare("C", c, a.float() @ b.float().T, is_whole=True)
    rows, cols = (~c.isnan()).any(1), (~c.isnan()).any(0)
    part = c[rows][:, cols]
    return _compare("C", part, a[rows].float() @ b[cols].float().T)


def _fp8_gemm(module: Any, source: Source, include: list[Path]) -> str:
    """C = A Bᵀ of fp8; the sizes are those of the kernel that the program starts."""
    text = source.path.read_text()
    name = next(n for n in _kernels(module) if n.startswith("matmul_device<"))
    m, n, k = (int(size) for size in re.findall(r"\d+", name.partition("<")[2]))
    torch.manual_seed(0)
    a, b = ((torch.randn(rows, k) / 4).to(torch.float8_e4m3fn) for rows in (m, n))
    c = torch.full((m, n), float("nan"), dtype=torch.bfloat16)
    _start(module, source, name, (1,), text, A=a, B=b, C=c)
    rows, cols = (~c.isnan()).any(1), (~c.isnan()).any(0)
    return _compare("C", c[rows][:, cols], a[rows].float() @ b[cols].float().T)


def _fp6_gemm(module: Any, source: Source, include: list[Path]) -> str:
    """C = A Bᵀ of fp6 (e2m3), four numbers in three bytes."""
    text = source.path.read_text()
    m, n, k = (defined(text, name) for name in "MNK")
    torch.manual_seed(0)
    codes = [torch.randint(0, 64, (rows, k), dtype=torch.int32) for rows in (m, n)]
    c = torch.full((m, n), float("nan"), dtype=torch.half)
    packed = []
    for of in codes:
        fours = of.reshape(-1, 4)
        words = fours[:, 0] | fours[:, 1] << 6 | fours[:, 2] << 12 | fours[:, 3] << 18
        threes = torch.stack([words >> shift & 255 for shift in (0, 8, 16)], 1).to(torch.uint8).flatten()
        packed.append(torch.cat([threes, threes.new_zeros(of.numel() - threes.numel())]).reshape(of.shape))
    _start(module, source, "micro_tk", (1,), text, a=packed[0], b=packed[1], c=c)
    rows, cols = (~c.isnan()).any(1), (~c.isnan()).any(0)
    a, b = (_e2m3(of[at]) for of, at in zip(codes, (rows, cols), strict=True))
    return _compare("C", c[rows][:, cols], a @ b.T)


def _e2m3(codes: torch.Tensor) -> torch.Tensor:
    exponent, mantissa = codes >> 3 & 3, (codes & 7) / 8
    size = torch.where(exponent == 0, mantissa, (1 + mantissa) * 2.0 ** (exponent - 1))
    return torch.where(codes & 32 > 0, -size, size)


def _attention_inputs(text: str) -> tuple[int, int, int, int, int]:
    heads = "ATTN_H" if re.search(r"\bATTN_H\b", text) else "ATTN_H_Q"
    b, h, h_kv, n = (_constant(text, name) for name in ("ATTN_B", heads, "ATTN_H_KV", "ATTN_N"))
    return b, h, h_kv, n, _constant(text, "ATTN_D")


def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and log of the sum of exponentials of `[B, N, H, D]` tensors, in float."""
    gigabytes = 4 * q.shape[0] * q.shape[2] * q.shape[1] ** 2 / 2**30
    if gigabytes > MOST_SCORES:
        raise TooLargeError(f"not run: scores of the sizes that it fixes take {gigabytes:.0f} GB")
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2), scores.logsumexp(-1)


def _is_causal(source: Source) -> bool:
    return "causal" in source.name and "non_causal" not in source.name


def _forward(module: Any, source: Source, include: list[Path]) -> str:
    text = source.path.read_text()
    b, h, h_kv, n, d = _attention_inputs(text)
    torch.manual_seed(0)
    q, k, v = (torch.randn(b, n, heads, d).bfloat16() for heads in (h, h_kv, h_kv))
    out = torch.full_like(q, float("nan"))
    lse = torch.full((b, h, 1, n), float("nan"))
    small = b * h * n <= 4096
    # A wave has 32 rows, a work-group eight waves.
    grid = (h, n // 256, b) if small else (h, 1, 1)
    _start(module, source, "attend_ker", grid, text, small, Qg=q, Kg=k, Vg=v, Og=out, L_vec=lse)
    part = slice(0, b if small else 1)
    expected, logs = _attention(q[part].float(), k[part].float(), v[part].float(), _is_causal(source))
    return ", ".join((_compare("O", out[part], expected), _compare("L", lse[part], logs.unsqueeze(2), 0.001)))


def _prepare(module: Any, source: Source, include: list[Path]) -> str:
    text = source.path.read_text()
    b, h, _, n, d = _attention_inputs(text)
    torch.manual_seed(0)
    out, grad = torch.randn(b, n, h, d).bfloat16(), torch.randn(b, n, h, d).bfloat16()
    delta = torch.full((b, h, 1, n), float("nan"))
    rows = defined(text, "DOT_SLICE_QO") * 4
    grid = (1, h, n // rows)
    _start(module, source, "attend_prep_ker", grid, text, Og=out, dOg=grad, delta=delta)
    expected = (out.float() * grad.float()).sum(-1).transpose(1, 2).unsqueeze(2)
    return _compare("delta", delta, expected, 0.001)


def _partly(part: torch.Tensor, *shape: int) -> torch.Tensor:
    """A tensor of a shape that begins with `part`; the rest is zeros."""
    whole = torch.zeros(shape, dtype=part.dtype)
    whole[tuple(slice(0, size) for size in part.shape)] = part
    return whole


def _backward(module: Any, source: Source, include: list[Path]) -> str:
    text = source.path.read_text()
    b, h, h_kv, n, d = _attention_inputs(text)
    whole = b * h * n <= 4096
    # One work-group reads one batch and the heads of one group.
    b_in, h_in, h_kv_in = (b, h, h_kv) if whole else (1, h // h_kv, 1)
    torch.manual_seed(0)
    parts = [torch.randn(b_in, n, of, d).bfloat16() for of in (h_in, h_kv_in, h_kv_in)]
    leaves = [_partly(part, b, n, of, d) for part, of in zip(parts, (h, h_kv, h_kv), strict=True)]
    q, k, v = (part.float().requires_grad_() for part in parts)
    out, lse = _attention(q, k, v, _is_causal(source))
    grad = torch.randn(b_in, n, h_in, d).bfloat16()
    torch.autograd.backward(out, grad.float())
    delta = (out.detach() * grad.float()).sum(-1).transpose(1, 2).unsqueeze(2)
    dq = torch.zeros(b, h, n, d, dtype=torch.bfloat16)
    dk, dv = (torch.full_like(x, float("nan")) for x in leaves[1:])
    rows = defined(text, "BLOCK_SIZE_KV")
    order = re.search(r"dim3 grid\(\) \{ return dim3\((.*)\); \}", text)
    sizes = {"ATTN_H_KV": h_kv, "ATTN_B": b, "(ATTN_N / BLOCK_SIZE_KV)": n // rows}
    grid = tuple(sizes[part] for part in order[1].split(", ")) if order and whole else (1,)
    _start(
        module,
        source,
        "attend_bwd_combined_ker",
        grid,
        text,
        whole,
        Q=leaves[0],
        K=leaves[1],
        V=leaves[2],
        dOg=_partly(grad, b, n, h, d),
        dQg=dq,
        dKg=dk,
        dVg=dv,
        L_vec=_partly(lse.detach().unsqueeze(2), b, h, 1, n),
        delta_vec=_partly(delta, b, h, 1, n),
    )
    dk, dv = (x[:b_in, :, :h_kv_in] for x in (dk, dv))
    results = [
        _compare("dK", dk, k.grad, BACKWARD),  # type: ignore[arg-type]
        _compare("dV", dv, v.grad, BACKWARD),  # type: ignore[arg-type]
    ]
    shuffle = next(source.path.parent.glob("*bk*wd_prep.cpp"))
    dq_out = torch.full((b, n, h, d), float("nan")).bfloat16()
    of_shuffle = shuffle.read_text()
    _start(
        _compile(source, include, shuffle),
        source,
        "attend_dq_shuffle_ker",
        (b_in, h_in, n // (defined(of_shuffle, "DOT_SLICE_QO") * 4)),
        of_shuffle,
        whole,
        dQg_in=dq,
        dQg_out=dq_out,
    )
    keys = slice(0, n if whole else rows)
    dq_wanted = _query_gradient(q.detach(), k.detach(), v.detach(), grad.float(), keys, _is_causal(source))
    results.append(_compare("dQ", dq_out[:b_in, :, :h_in], dq_wanted, BACKWARD))
    return ", ".join(results)


BACKWARD = 5e-3
"""Tolerance of gradients of attention: for bf16 products summed in float, errors are 2e-3 to 3e-3."""


def _query_gradient(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, grad: torch.Tensor, keys: slice, causal: bool
) -> torch.Tensor:
    """Contribution of some keys to the gradient of the queries, of `[B, N, H, D]` tensors, in double."""
    q, k, v, grad = (x.double().transpose(1, 2) for x in (q, k, v, grad))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scale = q.shape[-1] ** -0.5
    scores = q @ k.transpose(2, 3) * scale
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)
    weights = scores.softmax(-1)
    change = grad @ v.transpose(2, 3)
    change = weights * (change - (change * weights).sum(-1, keepdim=True)) * scale
    return (change[..., keys] @ k[..., keys, :]).transpose(1, 2)


def _layernorm(module: Any, source: Source, include: list[Path]) -> str:
    """Dropout, residual and normalisation; dropped elements equal the residual."""
    text = source.path.read_text()
    b, n = defined(text, "B"), defined(text, "N")
    d = defined(text, "HEAD_D") * defined(text, "H")
    torch.manual_seed(0)
    x, residual = torch.randn(b, n, d).bfloat16(), torch.randn(b, n, d).bfloat16()
    weight, bias = torch.randn(d).bfloat16(), torch.randn(d).bfloat16()
    o, o_resid = (torch.full_like(x, float("nan")) for _ in range(2))
    of = {"x": x, "residual": residual, "o": o, "o_resid": o_resid, "norm_weight": weight, "norm_bias": bias}
    # Members of the arguments that have their values in the source.
    constants = {"n_per_tile": 4, "n_tile_size": n // 4}
    whole = b * n <= 4096 and isinstance(module, wb.HostModule)
    _start(module, source, "layernorm_tk", (4, 1, 1), text, whole, **of, **constants)
    if not whole:
        x, residual, o, o_resid = (tensor[:1, :16] for tensor in (x, residual, o, o_resid))
    mask = (o_resid.float() - residual.float()).abs() > 1e-3
    dropped = 1 - mask.float().mean().item()
    if not 0.001 < dropped < 0.05:
        raise WrongError(f"{dropped:.3g} of the elements are dropped, expected about 0.01")
    summed = residual.float() + mask * x.float() / 0.99
    normal = torch.nn.functional.layer_norm(o_resid.float(), (d,), weight.float(), bias.float())
    sums = _compare("sum", o_resid, summed, is_whole=True)
    return f"{sums}, {_compare('o', o, normal, 0.05, is_whole=True)}"


def _softmax(module: Any, source: Source, include: list[Path]) -> str:
    text = source.path.read_text()
    b, n, d = (defined(text, name) for name in "BND")
    torch.manual_seed(0)
    x = torch.randn(b, n, d).bfloat16()
    out = torch.full_like(x, float("nan"))
    whole = b * n <= 4096
    _start(module, source, f"softmax_tk<{d}>", (1, 1, 1), text, whole, x=x, o=out)
    return _compare("o", out, x.float().softmax(-1), is_whole=whole)


def _rms_norm(module: Any, source: Source, include: list[Path]) -> str:
    """Normalisation by the root of the mean square; its kernel reads a weight for each element."""
    text = source.path.read_text()
    b, n, d = (defined(text, name) for name in "BND")
    torch.manual_seed(0)
    x, weight = torch.randn(1, b, n, d).bfloat16(), torch.randn(d).bfloat16()
    out = torch.full_like(x, float("nan"))
    gamma = weight.expand(1, b, n, d).contiguous()
    whole = b * n <= 4096
    _start(module, source, "rmsnorm_hk", (4, 1, 1), text, whole, x=x, o=out, gamma=gamma, epsilon=1e-6)
    normal = torch.nn.functional.rms_norm(x.float(), (d,), weight.float(), 1e-6)
    return _compare("o", out, normal, is_whole=whole)


def _rotary(module: Any, source: Source, include: list[Path]) -> str:
    text = source.path.read_text()
    b, h, n, d = (defined(text, name) for name in ("ATTN_B", "ATTN_H", "ATTN_N", "HEAD_DIM"))
    torch.manual_seed(0)
    x, angle = torch.randn(b, h, n, d).bfloat16(), torch.rand(n, d // 2) * 6
    cos, sin = angle.cos().bfloat16(), angle.sin().bfloat16()
    out = torch.full_like(x, float("nan"))
    of = {"x": x, "o": out, "sin": sin, "cos": cos}
    whole = b * h * n <= 4096 and isinstance(module, wb.HostModule)
    _start(module, source, "tk_fused_rotary", (h, 1, 4), text, whole, **of)
    low, high = x[..., : d // 2].float(), x[..., d // 2 :].float()
    expected = torch.cat([low * cos - high * sin, high * cos + low * sin], -1)
    return _compare("o", out, expected, is_whole=whole)


def _phases(module: Any, source: Source, include: list[Path]) -> str:
    """Bank conflicts of two lanes, against what HipKittens' authors measured: the files beside the source."""
    measured = (source.path.parent / "bank_results.txt").read_text()
    listed = re.search(r"All conflicts: \[(.*)\]", measured)
    assert listed is not None
    banks = [int(bank) for bank in listed[1].split(",")]
    conflicts = [bank for bank in range(4, 128) if _conflict(module, {0: 0, 1: 4 * bank})]
    if conflicts != banks:
        raise WrongError(f"conflicts with bank 0 at {conflicts}, measured at {banks}")
    phases = re.findall(r"Phase \d+: .* - \[(.*)\]", (source.path.parent / "phase_results.txt").read_text())
    together = [{int(lane) for lane in re.findall(r"\d+", lanes)} for lanes in phases]
    for lane in (0, 20, 45, 63):
        mates = next(lanes for lanes in together if lane in lanes)
        conflicts = [n for n in range(64) if n != lane and _conflict(module, {lane: 256 * lane, n: 256 * n})]
        if set(conflicts) != mates - {lane}:
            raise WrongError(
                f"lane {lane} is served with {conflicts}, measured with {sorted(mates - {lane})}"
            )
    return f"first conflict at bank {banks[0]}, {len(together)} phases, as measured"


def _conflict(module: Any, offsets: dict[int, int]) -> bool:
    """True if lanes that access shared memory at these bytes cost a cycle more than necessary."""
    active, at = torch.zeros(1, 1, 1, 64), torch.zeros(1, 1, 1, 64)
    for lane, offset in offsets.items():
        active.view(torch.int32)[..., lane] = 1
        at.view(torch.int32)[..., lane] = offset
    launch = wb.Launch(1, 64, 65536)
    of = {"should_I_write": active, "offset": at}
    target, options = device("emulated:gfx950"), LaunchOptions(profile=True)
    counters = _kernels(module)["micro_tk"].launch(launch, (), of, device=target, options=options).counters
    assert counters is not None
    return counters["lds_bank_conflict"] > 0


def _copied(module: Any, source: Source, include: list[Path]) -> str:
    """Checks a kernel that copies; some also write its cycles."""
    x = torch.randn(1, 1, 32, 32, generator=torch.Generator().manual_seed(0)).bfloat16()
    out = torch.full_like(x, float("nan"))
    text = source.path.read_text()
    of = {"in": x, "out": out}
    if "micro_globals::results" in text:
        of["results"] = torch.zeros(1, 1, 1, defined(text, "ITERS"))
    _start(module, source, "micro_tk", (1,), text, **of)
    return _compare("out", out, x, 1e-6)


Check = Callable[[Any, Source, list[Path]], str]
CHECKS: list[tuple[str, Check]] = [
    (r"bkwd_prep", _prepare),
    (r"attn_fwd|GQA_fwd", _forward),
    (r"bkwd", _backward),
    (r"attn/", _forward),
    (r"layernorm", _layernorm),
    (r"rotary", _rotary),
    (r"softmax", _softmax),
    (r"rmsnorm", _rms_norm),
    (r"test_accum_layout|test_load_to_lds|timing/", _copied),
    (r"phases/", _phases),
    (r"fp8fp32", _fp8_gemm),
    (r"fp6fp32", _fp6_gemm),
    (r"gemm|grid_micro", _gemm),
]


def main(arguments: Iterable[str]) -> None:
    """Runs one or several sources in a separate process, which may crash; result and arguments are JSON.

    "module": of a source, what its own Makefile built of it; "sizes": by macro, those that it was built for.
    """
    request = json.loads(next(iter(arguments)))
    sources = [Source.from_record(record) for record in request["sources"]]
    if request.get("sizes"):
        ATTENTION.clear()
        ATTENTION.update(request["sizes"])
    if request.get("module"):
        module = wb.load_module(request["module"], arch=sources[0].arch)
        print(json.dumps(checked(module, sources[0], [sources[0].headers])))
    elif request["together"]:
        print(json.dumps(run_together(sources, request["own_headers"])))
    else:
        print(json.dumps(attempt(sources[0], request["own_headers"], request["whole"])))


if __name__ == "__main__":
    main(sys.argv[1:])
