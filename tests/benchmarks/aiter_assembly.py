"""Modelled times of AITER's bf16 GEMMs in assembly, whose times its tuner published, from a checkout.

Of 514 tuned problems of a gfx950 with 256 compute units, half (by a hash of problem and kernel) took no part
in changes of the model; `published_assembly.jsonl` has every third of these up to 12 GFLOP. Nothing of a
source is stored here but names, shapes and times.
"""

from __future__ import annotations

import csv
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch
from error_document import ASSEMBLY
from published_times import Problem

import workbench as wb
from workbench.kernel import Kernel
from workbench.operators.launch_target import Target, resolve

MOST_SPLITS, SMALLEST_PART = 16, 64
"""Splits of K that AITER's launcher allows, and the least part of K."""

PADDING = b"\xa3pad"
"""The name of all padding between arguments, in the code objects' metadata (a string of MessagePack)."""


@cache
def _table(folder: Path) -> dict[str, dict[str, str]]:
    """AITER's table of kernels, by the part of their names that a problem has."""
    with (folder / "bf16gemm_fp32bf16.csv").open(newline="", encoding="utf-8") as file:
        return {_short(row["knl_name"]): row for row in csv.DictReader(file)}


def _short(symbol: str) -> str:
    return symbol.rpartition("bf16gemm_")[2].removesuffix("E")


@cache
def _kernel(folder: Path, name: str) -> Kernel:
    """A kernel of a code object. Arguments are passed by name, so each padding gets a name of its own."""
    first, *others = (folder / _table(folder)[name]["co_name"]).read_bytes().split(PADDING)
    code = first + b"".join(
        PADDING[:-2] + bytes((ord("a") + i // 26, ord("a") + i % 26)) + part for i, part in enumerate(others)
    )
    return wb.load(code)[_table(folder)[name]["knl_name"]]


def kernels_that_fit(checkout: Path) -> list[tuple[str, bool]]:
    """Kernels for plain operands, as a problem names them, and whether each splits K."""
    table = _table(checkout / "hsa" / "gfx950" / "bf16gemm")
    return [
        (name, row["splitK"] == "1")
        for name, row in table.items()
        if row["bPreshuffle"] == "0" and name.startswith("fp32bf16")
    ]


def assembly_target(problem: Problem, checkout: Path) -> Target:
    """A GEMM of AITER's in assembly at a row's shape; only its own launch sees its tensors.

    Args:
        problem: "aiter assembly fp32bf16_tn_64x64_splitk_clean", with m, n, k, split and bits of the output.
        checkout: of ROCm/aiter, of which `hsa/gfx950/bf16gemm` is needed.
    """
    folder = checkout / "hsa" / "gfx950" / "bf16gemm"
    name = problem.kernel.removeprefix(ASSEMBLY)
    m, n, k, split, bits = (int(problem.parameters[key]) for key in ("m", "n", "k", "split", "bits"))
    split = max(1, min(split, MOST_SPLITS, k // SMALLEST_PART))
    torch.manual_seed(0)
    a, b = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16()
    out = torch.zeros(m, n, dtype=torch.float32 if bits == 32 else torch.bfloat16)
    pitch = n * out.element_size()
    values = {
        **{"D": out, "C": 0, "A": a, "B": b, "Bias": 0},
        "ptr_semaphore": torch.zeros(16, 64, dtype=torch.int32),
        **{"alpha": struct.pack("<f", 1.0), "beta": bytes(4)},
        **{"strideD0": pitch, "strideC0": pitch, "strideA0": 2 * k, "strideB0": 2 * k},
        **{"Mdim": m, "Ndim": n, "Kdim": k, "splitk": split, "is_out_b16": int(bits == 16)},
    }
    kernel = _kernel(folder, name)
    arguments = []
    for argument in kernel.info.args:
        value = values.get(argument.name, bytes(argument.size))
        is_number = isinstance(value, int) and argument.value_kind == "by_value"
        arguments.append(struct.pack("<I", value) if is_number else value)
    tile = _table(folder)[name]
    grid = (-(-n // int(tile["tileN"])), -(-m // int(tile["tileM"])), split)
    target = resolve(kernel[grid, (256, 1, 1)], tuple(arguments), {}, device=f"emulated:{problem.gpu}")
    # With splits, a work-group's path depends on what others wrote: all of them run.
    return replace(target, fresh=split == 1)
