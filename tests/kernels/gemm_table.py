"""The table of the GEMMs' main loops and resources in docs/gemm.md.

    python tests/kernels/gemm_table.py           # writes it into docs/gemm.md
    python tests/kernels/gemm_table.py --print
    python tests/kernels/gemm_table.py --times   # CPU seconds of the compiler

Everything is read from the code objects that the compiler makes; test_gemm_schedules.py holds the page to it.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import re
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from main_loop import main_loop

import workbench as wb
from workbench import toolchain
from workbench.targets import TILE_TARGETS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "gemm.md"
KERNELS = ["gemm/bf16:ping_pong", "gemm/bf16:interleave", "gemm/fp8:ping_pong", "gemm/fp8:interleave"]
SHAPE = {"m": 512, "n": 512, "k": 512}
LAYOUTS = {"gemm/bf16:ping_pong": ("nt", "nn", "tn")}
"""Of kernels that have others than nt."""

HEAD = (
    "| kernel | target | VGPRs | AGPRs | LDS, bytes | waves/SIMD | MFMAs in the loop | VALU | SALU | waits | "
    "LDS reads | direct loads |"
)


def compiler_name() -> str:
    """Such as "clang 22"; the clang inside zig or hipcc counts as what it is."""
    found = re.search(r"clang (?:version )?(\d+)", toolchain.find_compiler().version)
    return f"clang {found[1]}" if found else "another compiler"


def rows() -> Iterator[str]:
    for name in KERNELS:
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
    parser.add_argument("--times", action="store_true", help="print the compiler's CPU time, write nothing")
    options = parser.parse_args()
    if options.times:
        for name in KERNELS:
            for arch in TILE_TARGETS:
                print(f"{name} {arch}: {compile_seconds(name, arch):.1f} s")
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
