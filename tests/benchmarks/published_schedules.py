"""Sources of HipKittens that were timed to compare schedules and orders of tiles, ready to be run here.

Nothing of a source is kept but its path and what has to change for the checkout's headers.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from own_kernels import host_headers

import workbench as wb
from workbench import targets
from workbench.kernel import Kernel
from workbench.operators.launch_target import Target, resolve

SIDE = 8192
TILE = 256
DEVICE = "emulated:MI355X"

LATER_HEADERS: Mapping[str, str] = {
    r".*const lds_lane_ofs.*\n": "",
    r", lane_ofs\)": ")",
    r"st_bf<BLOCK_SIZE, K_STEP>": "st_bf<BLOCK_SIZE, K_STEP, st_16x32_s>",
    r"rt_bf<(REG_BLOCK_[MN]), DOT_SLICE>": r"rt_bf<\1, DOT_SLICE, row_l, rt_16x32_s>",
    r"rt_fl<REG_BLOCK_M, REG_BLOCK_N, [^>]*>": "rt_fl<REG_BLOCK_M, REG_BLOCK_N, col_l, rt_16x16_s>",
    r"(?s)__host__ __device__ inline int ceil_div.*?\n}\n": "",
}
"""Edits from a GEMM of the paper's first months to the current headers: pattern and replacement."""


def _compiled(path: Path, text: str, hipkittens: Path | None, entry: str) -> Kernel:
    """A kernel of a source, with a checkout's headers or, without one, with ours."""
    theirs = [hipkittens / "include"] if hipkittens else []
    with tempfile.TemporaryDirectory() as empty:
        (Path(empty) / "omp.h").touch()  # in host code only
        module = wb.compile(
            text,
            arch="gfx950",
            name=str(path),
            include=[*theirs, path.parent, empty, *host_headers()],
            define=["HIP_ENABLE_WARP_SYNC_BUILTINS"],
            flags=["-w"],
        )
    return module[entry]


def order_target(hipkittens: Path, window: int) -> Target:
    """The bf16 GEMM that was timed with windows of this many rows of tiles; 0: row-major."""
    path = hipkittens / "analysis" / "paper_experiments" / "grid_micro" / f"kernel_8192_w{window}.cpp"
    text = path.read_text(encoding="utf-8")
    for pattern, now in LATER_HEADERS.items():
        text = re.sub(pattern, now, text)
    kernel = _compiled(path, text, hipkittens, "micro_tk")
    torch.manual_seed(0)
    # The output's content counts as an operand, and operands of zeros raise the clock.
    a, b, c = (torch.randn(SIDE, SIDE).bfloat16() for _ in range(3))
    tiles = SIDE // TILE
    grid = (tiles * tiles, 1, 1) if window else (tiles, tiles, 1)
    shared = int(targets.target("gfx950").lds_bytes) - kernel.resources.lds
    target = resolve(kernel[grid, 512, shared], kwargs={"a": a, "b": b, "c": c}, device=DEVICE)
    return replace(target, fresh=True)


def chiplet_target(hipkittens: Path, side: int, order: tuple[int, int] | None) -> Target:
    """The bf16 GEMM with tiles of 192 x 256 whose orders the paper compares in its table 4.

    Args:
        hipkittens: a checkout of the main branch.
        side: of the square problem, a multiple of 768.
        order: rows of a window and tiles of a chunk, or None for row-major.
    """
    path = hipkittens / "kernels" / "gemm" / "bf16fp32" / "mi350x" / "micros" / "192x256" / "kernel.cpp"
    text = re.sub(r"(#define [MNK]) \d+", rf"\1 {side}", path.read_text(encoding="utf-8"))
    window, chunk = order or (1, 1)
    rows, cols = side // 192, side // 256
    text = text.replace("WGM = 4;", f"WGM = {window};")
    if order is None:
        text = re.sub(r"wgid = chiplet_transform_chunked\(.*\);", "", text)
    elif chunk * targets.MI355X.xcds > rows * cols:
        # Chunks of all tiles of a die; the library's formula does not change such an order.
        text = re.sub(
            r"wgid = chiplet_transform_chunked\(.*\);",
            "const int whole = NUM_WGS / NUM_XCDS, more = NUM_WGS % NUM_XCDS, die = wgid % NUM_XCDS;\n"
            "    wgid = die * whole + min(die, more) + wgid / NUM_XCDS;",
            text,
        )
    else:
        text = text.replace("NUM_XCDS, WGM*WGM)", f"NUM_XCDS, {chunk})")
    # With its own headers it does not compile: their load of a tile that is no whole number of turns of all
    # waves makes an integer of a pointer.
    kernel = _compiled(path, text, None, "micro_tk")
    torch.manual_seed(0)
    a, b, c = (torch.randn(side, side).bfloat16() for _ in range(3))
    shared = int(targets.target("gfx950").lds_bytes) - kernel.resources.lds
    target = resolve(kernel[rows * cols, 512, shared], kwargs={"a": a, "b": b, "c": c}, device=DEVICE)
    return replace(target, fresh=True)


def fp8_target(hipkittens: Path, waves: int) -> Target:
    """The fp8 GEMM of 4 or 8 waves."""
    path = hipkittens / "kernels" / "gemm" / "fp8fp32" / f"FP8_{waves}wave" / f"{waves}_wave.cu"
    text = path.read_text(encoding="utf-8")
    kernel = text[: text.index("\n}\n", text.index("void matmul_device(")) + 3]
    sizes = f"1, 1, {SIDE}, {SIDE}"
    inputs = f"kittens::gl<kittens::fp8e4m3, {sizes}>"
    kernel += (
        f"template __global__ void matmul_device<{SIDE}, {SIDE}, {SIDE}>(const {inputs}, const {inputs}, "
        f"const kittens::gl<kittens::bf16, {sizes}>);\n"
    )
    made = _compiled(path, kernel, hipkittens, f"matmul_device<{SIDE}, {SIDE}, {SIDE}>")
    torch.manual_seed(0)
    a, b = (torch.randn(SIDE, SIDE).to(torch.float8_e4m3fn) for _ in range(2))
    c = torch.randn(SIDE, SIDE).bfloat16()
    tiles = (SIDE // TILE) ** 2
    target = resolve(made[tiles, 64 * waves], kwargs={"A": a, "B": b, "C": c}, device=DEVICE)
    return replace(target, fresh=True)


NOTEBOOK = Path("docs/notebooks/gpu_dev_optimize/fp8_gemm_hip_cdna4.ipynb")
"""In a checkout of ROCm/gpuaidev: the kernels of the ROCm blog 'FP8 GEMM Optimization on AMD CDNA4'."""

STEPS: Mapping[str, tuple[str, int, int]] = {
    "double buffering, tiles of 64": ("mfma_gemm_fp8_double_bufferload_kernel", 64, 256),
    "8 waves, tiles of 128": (
        "mfma_gemm_fp8_double_bufferload_multiwave_128x128x128_t512_wave64x32_kernel",
        *(128, 512),
    ),
    "8 waves, tiles of 256": (
        "mfma_gemm_fp8_double_bufferload_multiwave_256x256x128_t512_wave64x32_kernel",
        *(256, 512),
    ),
    "8 waves, ping-pong": ("fp8_gemm_256x256x128", 256, 512),
}
"""Kernels of the blog by what it calls them: name, side of a work-group's tile, threads."""


def step_target(notebooks: Path, step: str, side: int = 4096) -> Target:
    """A kernel of the blog, cold, as it was timed on tensors in turn.

    Args:
        notebooks: a checkout of ROCm/gpuaidev.
        step: of `STEPS`.
        side: of the square problem.
    """
    kernel, tile, threads = STEPS[step]
    cells = json.loads((notebooks / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    cell = next(source for one in cells if f"{kernel}(" in (source := "".join(one["source"])))
    text = "\n".join(re.findall(r"r'''(.*?)'''", cell, re.DOTALL))
    # Host code: helpers before the kernels, PyTorch's wrapper after them.
    text = re.sub(r"(?s)#define CHECK_HIP_ERROR.*?(?=extern \"C\" __device__)", "", text)
    text = re.split(r"#include <torch/types", text)[0]
    launched = text.find("hipLaunchKernelGGL")
    text = text[: text.rfind("\n}\n", 0, launched) + 3] if launched > 0 else text
    text = re.sub(r"#include <random>", "#include <bit>", text)
    scalars: tuple[float, ...] = (*[side] * 6, 1.0, 0.0)
    types, entry = "const fp8e4m3*, const fp8e4m3*, bf16*, int, int, int, int, int, int, float, float", kernel
    if step == "8 waves, ping-pong":
        scalars, types = (), "fp8*, fp8*, bf16*"
        entry = f"{kernel}<{side}, {side}, {side}>"
    elif tile == 256:
        entry = f"{kernel}<-1, -1, -1, true, false>"
    if entry != kernel:
        text += f"template __global__ void {entry}({types});\n"
    made = _compiled(notebooks / NOTEBOOK, text, None, entry)
    torch.manual_seed(0)
    a, b = (torch.randn(side, side).to(torch.float8_e4m3fn) for _ in range(2))
    tiles = side // tile
    grid = (tiles**2, 1, 1) if not scalars else (tiles, tiles, 1)
    block = (64, threads // 64, 1) if tile == 64 else (threads, 1, 1)
    given = (a, b, torch.randn(side, side).bfloat16(), *scalars)
    return replace(resolve(made[grid, block], args=given, device=DEVICE), fresh=True)
