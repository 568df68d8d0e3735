"""The host's pass over kernels: clang reads the device part of a source with host code twice.

Code that runs on no host has errors there too, such as a builtin that takes another kind of pointer, and only
where it is instantiated. HIPKITTENS_TEST_CLANGS names folders of further clangs, which differ in this.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import needs
import pytest
import torch
from tile_cases import in_turn

import workbench as wb
from workbench.errors import ShapeError
from workbench.operators import building
from workbench.toolchain import CompileOptions, precompiled
from workbench.toolchain.host import _Build
from workbench.toolchain.job import Job

GENERATED = Path(__file__).parent / "generated"

VECTORS = """
#include "kittens.cuh"
using namespace kittens;
using row = gl<float, 1, 1, 1, 128>;
struct globals {
    row x, y;
    dim3 grid() { return dim3(1); }
    dim3 block() { return dim3(64); }
    size_t dynamic_shared_memory() { return 0; }
};
__global__ void through_shared(const globals g) {
    __shared__ sv_fl<128> s;
    rv_naive<float, 128> given, got;
    load(given, g.x, {0, 0, 0, 0});
    store(s, given);
    wait_and_barrier();
    load(got, s);
    add(got, got, 1.0f);
    store(g.y, got, {0, 0, 0, 0});
}
"""
MODULE = """
#include "pyutils/pyutils.cuh"
void start(globals g) { through_shared<<<g.grid(), g.block()>>>(g); }
PYBIND11_MODULE(vectors, m) { py::bind_function<start>(m, "start", &globals::x, &globals::y); }
"""
PROGRAM = """
#include <cstdio>
int main() {
    float *x, *y;
    hipMallocManaged(&x, 128 * sizeof(float));
    hipMallocManaged(&y, 128 * sizeof(float));
    for (int i = 0; i < 128; i++) x[i] = i * i;
    globals g{make_gl<row>(reinterpret_cast<uint64_t>(x), 1, 1, 1, 128),
              make_gl<row>(reinterpret_cast<uint64_t>(y), 1, 1, 1, 128)};
    through_shared<<<1, 64>>>(g);
    if (hipDeviceSynchronize() != hipSuccess) return 1;
    for (int i = 0; i < 128; i++) printf("%g ", y[i]);
}
"""


@pytest.mark.usefixtures("compiler")
@pytest.mark.filterwarnings("ignore::workbench.errors.UntrustedCompiler")
class TestRegisterVectors:
    """From shared memory, in a module and in a program: values, and that both compile."""

    @needs.python_headers
    def test_in_a_module(self, arch: str) -> None:
        module = wb.compile(VECTORS + MODULE, arch=arch, host=True, name="vectors.cpp")
        x = torch.arange(128.0).reshape(1, 1, 1, 128).square()
        y = torch.zeros_like(x)
        module.start(x, y)
        assert torch.equal(y, x + 1)

    def test_in_a_program(self, arch: str) -> None:
        result = wb.run_program(VECTORS + PROGRAM, device=f"emulated:{arch}")
        assert [float(word) for word in result.stdout.split()] == [i * i + 1 for i in range(128)]


def errors_of_the_host(source: str, options: CompileOptions, folder: Path) -> str:
    """The compiler's errors when it compiles a source for the host."""
    job = Job(source, options)
    _, half = _Build(job, [], module=False)._halves()
    # Most of the time goes into the headers, which all sources begin with.
    half.header.build()
    top = precompiled.top(half.header.find(), job.compiler)
    command = [*half.start, *job.own, *half.common, *top, "-fsyntax-only", "-w", "-"]
    environment = job.compiler.environment(str(folder))
    text = job.prologue + source
    finished = subprocess.run(command, input=text, capture_output=True, text=True, env=environment)
    return finished.stderr if finished.returncode else ""


def generated(arch: str, seed: str) -> str:
    """The kernels of all families of generated cases, as one source."""
    sys.path.append(str(GENERATED))
    for path in GENERATED.glob("test_*.py"):
        if "Family(" in path.read_text():
            importlib.import_module(path.stem)
    tiles = importlib.import_module("tile_batches")
    batches = [b for family in tiles.FAMILIES.values() for b in family.covering_batches(seed)]
    kernels = [
        f"namespace batch_{n} {{\n{kernel.source()}\n}}"
        for n, batch in enumerate(batches)
        if batch.arch == arch
        for kernel in batch.kernels
    ]
    return "\n".join([tiles.PREAMBLE, *kernels])


@pytest.mark.usefixtures("compiler")
def test_operations(arch: str, tmp_path: Path) -> None:
    """Every family of operations, each in the types and layouts of a covering array."""
    source = generated(arch, os.environ["HIPKITTENS_TEST_SEED"])
    assert source.count("__global__") > 500
    assert errors_of_the_host(source, CompileOptions(arch, name="operations.hip"), tmp_path) == ""


PARTS = 8


def sources(arch: str, part: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, CompileOptions]]:
    """Sources of one in PARTS of the operators at their first shapes, each distinct source once."""
    asked: dict[tuple[str, str], CompileOptions] = {}

    def keep(source: str, options: CompileOptions) -> None:
        asked.setdefault((source, str(options)), options)

    monkeypatch.setattr(building, "compile_source", keep)
    for name in list(wb.kernels)[part::PARTS]:
        spec = wb.kernels[name]
        if arch in spec.targets and in_turn(name, arch):
            for variant in map(spec.variant, spec.variants) if spec.variants else (spec,):
                with contextlib.suppress(ShapeError):
                    implementation = variant.implementation(arch=arch)
                    replace(implementation, modules=building.Modules(variant)).step_modules()
    for (source, _), options in asked.items():
        yield source, options


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("part", range(PARTS))
def test_operators(arch: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators outside families: quantization, selections, scans, scaled and pinned products, schedules."""
    wrong = {
        options.name: message
        for source, options in sources(arch, part, monkeypatch)
        if (message := errors_of_the_host(source, options, tmp_path))
    }
    assert wrong == {}
