"""HipKittens inside other projects: Primus-Turbo's attention, built by `hipcc` and run.

    python tests/kernels/compatibility.py elsewhere --primus FOLDER --june FOLDER --results FILE

A source is compiled unedited into a shared library, with HipKittens' headers and with ours. Its functions
take addresses and sizes, and are called by ctypes with PyTorch's tensors in a process below `exec`.
"""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

STATUS = (
    "SUCCESS",
    "NOT_INITIALIZED",
    "ALLOC_FAILED",
    "INVALID_VALUE",
    "MAPPING_ERROR",
    "EXECUTION_FAILED",
    "INTERNAL_ERROR",
    "NOT_SUPPORTED",
    "ARCH_MISMATCH",
    "HANDLE_IS_NULLPTR",
    "INVALID_ENUM",
    "UNKNOWN",
)
"""hipBLAS's statuses, whose names a header of Primus-Turbo prints; its attention uses no hipBLASLt."""
ATTENTION = 0.02
"""Tolerance of attention in bf16, a relative error in L2."""


@dataclass(frozen=True)
class Elsewhere:
    """A source of another project that includes HipKittens.

    Attributes:
        project: as the command's options name it.
        path: of the source in its checkout.
        target: of the device.
        include: folders of its checkout.
        sizes: two, as the check takes them.
        check: name of the function in CHECKS.
    """

    project: str
    path: str
    target: str
    include: tuple[str, ...]
    sizes: tuple[Mapping[str, int], Mapping[str, int]]
    check: str


SOURCES = (
    *(
        Elsewhere(
            "primus",
            f"csrc/kernels/attention/hipkittens/hk_attn_fwd_d{d}_gfx950.cu",
            "gfx950",
            ("csrc/include",),
            (
                {"d": d, "rows": 256, "heads": 2, "heads_kv": 2},
                {"d": d, "rows": 512, "heads": 4, "heads_kv": 1},
            ),
            "attention",
        )
        for d in (64, 128)
    ),
)


def build(source: Elsewhere, checkout: Path, headers: Path, library: Path, timeout: float) -> str:
    """Compile a source into a shared library; the first error, "" if there is none."""
    shim = library.parent / "shim" / "hipblaslt"
    shim.mkdir(parents=True, exist_ok=True)
    values = ", ".join(f"HIPBLAS_STATUS_{name}" for name in STATUS)
    (shim / "hipblaslt.h").write_text(f"#pragma once\nenum hipblasStatus_t {{ {values} }};\n")
    command = [sys.executable, "-m", "workbench", "hipcc", "-O3", "-std=c++20", "-w", "-fPIC", "-shared"]
    command += [f"--offload-arch={source.target}", "-DHIP_ENABLE_WARP_SYNC_BUILTINS"]
    command += [f"-DKITTENS_{'CDNA4' if source.target == 'gfx950' else 'CDNA3'}", f"-I{shim.parent}"]
    command += [f"-I{checkout / folder}" for folder in source.include]
    command += [f"-I{headers}", str(checkout / source.path), "-o", str(library)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"not built after {timeout:g} s"
    error = re.search(r"error: (.*)", done.stderr + done.stdout)
    return "" if done.returncode == 0 else error[1] if error else "hipcc says nothing"


def attempt(source: Elsewhere, checkout: Path, headers: Path, timeout: float) -> list[dict[str, str]]:
    """Build a source, run it at its sizes and check it: for each size "result" and "text"."""
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        library = Path(folder) / "library.so"
        if error := build(source, checkout, headers, library, timeout):
            return [{"result": "no", "text": error} for _ in source.sizes]
        return [_checked(source, size, library, timeout) for size in source.sizes]


def _checked(source: Elsewhere, size: Mapping[str, int], library: Path, timeout: float) -> dict[str, str]:
    """Call the library's function in a process below `exec`."""
    request = json.dumps({"library": str(library), "check": source.check, "size": dict(size)})
    command = [sys.executable, "-m", "workbench", "exec", "--quiet", "--device", f"emulated:{source.target}"]
    command += ["--", sys.executable, str(Path(__file__).resolve()), request]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"result": "compiles", "text": f"its check is not done after {timeout:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip() or "nothing said").splitlines()[-1]
        return {"result": "fails", "text": f"exit status {done.returncode}: {last}"}
    result: dict[str, str] = json.loads(lines[-1])
    return result


def _function(library: ctypes.CDLL, path: str, name: str) -> Any:
    """A C++ function of a library by its name without namespaces and arguments."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True)
    mangled = re.findall(rf" T (_Z\w*?{len(name)}{name}(?:E|R|P|i)\w*)$", symbols.stdout, re.M)
    return library[mangled[0]]


class _Extent(ctypes.Structure):
    """Primus-Turbo's description of a tensor: its address and four sizes."""

    _fields_ = [("data", ctypes.c_void_p), *((f"d{i}", ctypes.c_int) for i in range(4))]


def attention(path: str, d: int, rows: int, heads: int, heads_kv: int) -> list[tuple[str, Any, Any]]:
    """Causal attention of `[rows, 1, heads, d]` tensors, and the log of its sums of exponentials."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(rows, 1, of, d).bfloat16() for of in (heads, heads_kv, heads_kv))
    out, lse = torch.full_like(q, float("nan")).cuda(), torch.full((1, heads, 1, rows), float("nan")).cuda()
    tensors = [q.cuda(), k.cuda(), v.cuda(), out, lse]
    extents = [_Extent(tensor.data_ptr(), *tensor.shape) for tensor in tensors]
    function = _function(ctypes.CDLL(path), path, f"hk_attn_fwd_d{d}")
    numbers = [ctypes.c_int(n) for n in (rows, rows, 1, heads, heads_kv, -1)]
    function(*map(ctypes.byref, extents), *numbers, ctypes.c_float(d**-0.5))
    torch.cuda.synchronize()
    q, k, v = (x.double().permute(1, 2, 0, 3) for x in (q, k, v))
    k, v = (x.repeat_interleave(heads // heads_kv, 1) for x in (k, v))
    scores = q @ k.transpose(2, 3) * d**-0.5
    scores = scores.masked_fill(torch.ones(rows, rows).triu(1).bool(), -torch.inf)
    expected = (scores.softmax(-1) @ v).permute(2, 0, 1, 3)
    return [("O", out.cpu(), expected), ("L", lse.cpu(), scores.logsumexp(-1).unsqueeze(2))]


CHECKS: Mapping[str, Callable[..., list[tuple[str, Any, Any]]]] = {"attention": attention}


def table(results: Mapping[str, Sequence[Mapping[str, str]]], commits: Mapping[str, tuple[str, str]]) -> str:
    """A row for each source; `results` by `key`, `commits` with dates by project."""
    heads = ("project", "commit, date", "source", "target", "sizes")
    heads += ("HipKittens' headers", "our headers", "checked, or the first error")
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for source in SOURCES:
        columns = [results.get(key(source, own), []) for own in (True, False)]
        if not any(columns):
            continue
        sizes = "; ".join(", ".join(f"{n} {name}" for name, n in size.items()) for size in source.sizes)
        cells = [", ".join(result["result"] for result in column) for column in columns]
        text = next(result["text"] for column in reversed(columns) for result in column)
        row = (source.project, ", ".join(commits[source.project]), source.path, source.target, sizes)
        lines.append(f"| {' | '.join((*row, *cells))} | `{text}` |")
    return "\n".join(lines)


def key(source: Elsewhere, own_headers: bool) -> str:
    return f"{source.project} | {source.path} | {'own' if own_headers else 'ours'}"


def main(arguments: Sequence[str]) -> None:
    """Run a check and print its result; results and arguments are JSON."""
    request = json.loads(arguments[0])
    errors, verdict = [], "right"
    for name, got, expected in CHECKS[request["check"]](request["library"], **request["size"]):
        error = ((got.double() - expected).norm() / expected.norm()).item()
        # Not a number where something was not written.
        if not error < ATTENTION:
            verdict = "wrong"
        errors.append(f"{name}: {error:.1e}")
    print(json.dumps({"result": verdict, "text": ", ".join(errors)}))


if __name__ == "__main__":
    main(sys.argv[1:])
