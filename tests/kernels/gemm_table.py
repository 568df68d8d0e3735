"""The tables of the GEMMs' main loops, resources and layouts in docs/gemm.md.

    python tests/kernels/gemm_table.py            # writes the loops into docs/gemm.md
    python tests/kernels/gemm_table.py --print
    python tests/kernels/gemm_table.py --layouts  # writes modelled times by layout: a quarter of an hour
    python tests/kernels/gemm_table.py --times    # CPU seconds of the compiler

The loops are read from compiled code objects; test_gemm_schedules.py compares the page with them.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import re
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from main_loop import main_loop

import workbench as wb
from workbench import toolchain
from workbench.targets import TILE_TARGETS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "gemm.md"
KERNELS = ["gemm/bf16:ping_pong", "gemm/bf16:interleave", "gemm/fp8:ping_pong", "gemm/fp8:interleave"]
SHAPE = {"m": 512, "n": 512, "k": 512}
LAYOUTS = dict.fromkeys(("gemm/bf16:ping_pong", "gemm/fp8:ping_pong"), ("nt", "nn", "tn"))
"""Layouts of kernels that have others than nt."""

TIMED = ("gemm/bf16:ping_pong", "gemm/fp8:ping_pong", "gemm/int8:ping_pong")
TIMED_SHAPE = {"m": 1024, "n": 1024, "k": 2048}
TIMED_HEAD = "| kernel, 1024 x 1024 x 2048 | target | nt, us | nn, us | tn, us | nn over nt | tn over nt |"

HEAD = (
    "| kernel | target | VGPRs | AGPRs | LDS, bytes | waves/SIMD | MFMAs in the loop | VALU | SALU | waits | "
    "LDS reads | direct loads |"
)


def compiler_name() -> str:
    """The compiler's name, such as "clang 22", also for the clang inside zig or hipcc."""
    match = re.search(r"clang (?:version )?(\d+)", toolchain.find_compiler().version)
    return f"clang {match[1]}" if match else "another compiler"


def rows(kernels: Sequence[str] = KERNELS) -> Iterator[str]:
    for name in kernels:
        spec = wb.kernels[name]
        for layout, arch in itertools.product(LAYOUTS.get(name, ("nt",)), TILE_TARGETS):
            shape = spec.shape({**SHAPE, "layout": layout} if name in LAYOUTS else SHAPE)
            kernel = spec.kernel(shape, arch=arch)
            launch = spec.launch(shape, arch)
            resources = kernel.resources_at(launch.block[0], launch.dynamic_shared)
            assert resources.scratch == resources.vgpr_spills == resources.sgpr_spills == 0
            loop = main_loop(kernel)
            shares = [
                loop.per_mfma("valu", "agpr copy"),
                loop.per_mfma("salu", "branch"),
                loop.per_mfma("wait"),
                loop.per_mfma("lds"),
                loop.per_mfma("direct load"),
            ]
            cells = [
                name if layout == "nt" else f"{name}, {layout}",
                arch,
                str(resources.vgprs),
                str(resources.agprs),
                f"{launch.dynamic_shared:,}",
                f"{resources.occupancy.waves_per_simd:g}",
                str(loop.kinds["mfma"]),
                *(f"{share:.3g}" for share in shares),
            ]
            yield f"| {' | '.join(cells)} |"


def table() -> str:
    return "\n".join([HEAD, "|" + " --- |" * (HEAD.count("|") - 1), *rows()])


def layout_rows() -> Iterator[str]:
    """Modelled times of each layout on the default products."""
    for name, arch in itertools.product(TIMED, TILE_TARGETS):
        shapes = [{**TIMED_SHAPE, "layout": layout} for layout in ("nt", "nn", "tn")]
        times = [wb.time(name, shape=shape, device=f"emulated:{arch}").median.value for shape in shapes]
        cells = [name, arch, *(f"{t:.1f}" for t in times), *(f"{t / times[0]:.3f}" for t in times[1:])]
        print(f"| {' | '.join(cells)} |", file=sys.stderr, flush=True)
        yield f"| {' | '.join(cells)} |"


def compile_seconds(name: str, arch: str) -> float:
    """CPU seconds of the compiler for a kernel, headers ready."""
    spec = wb.kernels[name]
    spec.kernel(spec.shape(SHAPE), arch=arch)
    again = {"COMPILED_AGAIN": time.time_ns()}
    fresh = dataclasses.replace(spec, define=lambda s, a: {**spec.define(s, a), **again})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    fresh.kernel(fresh.shape(SHAPE), arch=arch)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the table of docs/gemm.md.")
    parser.add_argument("--print", action="store_true", help="print it, and write nothing")
    parser.add_argument("--layouts", action="store_true", help="write the modelled times by layout")
    parser.add_argument("--times", action="store_true", help="print the compiler's CPU time, write nothing")
    options = parser.parse_args()
    if options.times:
        for name in KERNELS:
            for arch in TILE_TARGETS:
                print(f"{name} {arch}: {compile_seconds(name, arch):.1f} s")
        return
    if options.layouts:
        markdown = "\n".join([TIMED_HEAD, "|" + " --- |" * (TIMED_HEAD.count("|") - 1), *layout_rows()])
        text = re.sub(
            r"^\| kernel, 1024 .*?\n\n", lambda _: markdown + "\n\n", DOCS.read_text(), flags=re.M | re.S
        )
        DOCS.write_text(text)
        return
    if options.print:
        print(table())
        return
    text = DOCS.read_text()
    text = re.sub(r"^\| kernel \| target .*?\n\n", lambda _: table() + "\n\n", text, flags=re.M | re.S)
    text = re.sub(r"compiled by clang \d+", f"compiled by {compiler_name()}", text)
    DOCS.write_text(text)
    print(f"wrote {DOCS}", file=sys.stderr)


if __name__ == "__main__":
    main()
