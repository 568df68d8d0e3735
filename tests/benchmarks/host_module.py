"""How long a pybind11 module takes to compile: from empty caches, with the headers precompiled, and again.

    python tests/benchmarks/host_module.py [--source FILE] [--include FOLDER ...] [--arch gfx950] [--repeat 3]

Without a source it is a kernel of the tile library with its bindings. Each compilation is of a source
that was never compiled (a comment differs), in a process of its own; least of the repeats. Wall time
says little where the computer does other things; processor time (user and system, of compilers and
linkers too) says more. The halves for device and host run beside each other: on two idle cores wall time
is about that of the longer one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from workbench import cache as caches

GOAL = 10.0
"""Seconds from empty caches, on two idle cores."""
SOURCE = """
#include "kittens.cuh"
#include "pyutils/pyutils.cuh"
using namespace kittens;
struct globals {
    gl<bf16, 1, 1, -1, 64> x, out;
    dim3 grid() const { return dim3(x.rows() / 16); }
    dim3 block() const { return dim3(64); }
    size_t dynamic_shared_memory() const { return 0; }
};
__global__ __launch_bounds__(64) void twice(const globals g) {
    rt_bf<16, 64> tile;
    load(tile, g.x, {0, 0, static_cast<int>(blockIdx.x), 0});
    mul(tile, tile, bf16(2.0f));
    store(g.out, tile, {0, 0, static_cast<int>(blockIdx.x), 0});
}
PYBIND11_MODULE(twice_module, m) { py::bind_kernel<twice>(m, "twice", &globals::x, &globals::out); }
"""


def spent() -> float:
    """Seconds of processor time of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def once(given: dict[str, Any]) -> dict[str, float]:
    """Compile one source here; its wall and processor seconds, imports not counted."""
    import workbench as wb
    from workbench.toolchain import precompiled

    if given["only_device"]:
        wb.compile("__global__ void empty() {}", arch=given["arch"])["empty"][1, 64]()
        return {}
    wall, processor = time.perf_counter(), spent()
    wb.compile(given["text"], arch=given["arch"], host=True, include=given["include"])
    told = {"wall": time.perf_counter() - wall, "processor": spent() - processor}
    precompiled.wait()
    return told


def measured(given: dict[str, Any], cache: str) -> dict[str, float]:
    """`once` in a process of its own, with this cache."""
    finished = subprocess.run(
        [sys.executable, __file__, "--once", json.dumps(given)],
        env={**os.environ, "HIPKITTENS_CACHE": cache, "HIPKITTENS_HISTORY": "off"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return told


def rows(given: dict[str, Any], repeat: int) -> dict[str, list[dict[str, float]]]:
    """Times by what was there before."""
    text = given["text"]
    found: dict[str, list[dict[str, float]]] = {}
    # The emulated device is built once on a computer, whatever is compiled.
    measured({**given, "only_device": True}, str(caches.folder()))
    for turn in range(repeat):
        with tempfile.TemporaryDirectory(prefix="hipkittens-bench-") as cache:
            for kept in caches.folder().glob("native*"):
                shutil.copytree(kept, Path(cache) / kept.name)
            for what in ("nothing", "headers precompiled", "the module"):
                tag = f"// {turn} {'first' if what == 'nothing' else 'second'}\n"
                found.setdefault(what, []).append(measured({**given, "text": text + tag}, cache))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the compilation of a pybind11 module.")
    parser.add_argument("--source", type=Path, help="a file with PYBIND11_MODULE")
    parser.add_argument("--include", nargs="*", default=[], help="folders of its headers")
    parser.add_argument("--arch", default="gfx950")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--once", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(json.loads(options.once))))
        return
    text = options.source.read_text() if options.source else SOURCE
    include = [str(Path(folder).absolute()) for folder in options.include]
    given = {"text": text, "arch": options.arch, "include": include, "only_device": False}
    print(f"load of this computer: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("| cached before | wall | processor |\n| --- | --- | --- |")
    for what, times in rows(given, options.repeat).items():
        wall, processor = (min(each[key] for each in times) for key in ("wall", "processor"))
        note = "" if what != "nothing" else f" (goal {GOAL:.0f} s on idle cores)"
        print(f"| {what} | {wall:.2f} s{note} | {processor:.2f} s |")


if __name__ == "__main__":
    main()
