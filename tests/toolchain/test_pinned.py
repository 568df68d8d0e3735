"""Registers that inline assembly names by number: the compiler avoids them, or there is a warning."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.errors import CompileError, UntrustedRegisters
from workbench.targets import TILE_TARGETS
from workbench.toolchain import CompileOptions, Compiler, compile_device, pinned
from workbench.toolchain.compilation import list_job
from workbench.toolchain.job import Job

PINS = """
template <int R> __device__ void put(float x) {
    asm volatile("v_accvgpr_write_b32 a[%0], %1" ::"n"(R), "v"(x));
}
template <int R> __device__ float get() {
    float y;
    asm volatile("s_nop 4\\n\\tv_accvgpr_read_b32 %0, a[%1]" : "=v"(y) : "n"(R));
    return y;
}
"""
# Four AGPRs hold 1 to 4 while the compiler has MANY values at once, of which NV says how many find registers.
CROWDED = (
    PINS
    + """#include <hip/hip_runtime.h>
__global__ __launch_bounds__(64) __attribute__((amdgpu_num_vgpr(NV))) void crowded(volatile float *x) {
    asm volatile("" ::: "a0", "a1", "a2", "a3");
    put<0>(1); put<1>(2); put<2>(3); put<3>(4);
    float v[MANY];
    for (int i = 0; i < MANY; i++) v[i] = x[64 * i + threadIdx.x];
    for (int i = 0; i < MANY; i++) x[64 * i + threadIdx.x] = v[i] * v[(i + 1) % MANY];
    x[threadIdx.x] = get<0>() + 10 * get<1>() + 100 * get<2>() + 1000 * get<3>();
}
"""
)


def functions(source: str, arch: str = "gfx950", **options: object) -> list[pinned.Function]:
    listing = list_job(Job(source, CompileOptions(arch, name="pins.hip", **options)))
    return pinned.kernels(listing.splitlines())


NAMED = """#include <hip/hip_runtime.h>
template <int R> __device__ void one(float x) {
    asm volatile("v_add_f32 v[%0+1], v[%0], %1" ::"n"(R), "v"(x));
    asm volatile("v_mov_b32 v80, 0\\n\\tds_read_b96 a[%0:%0 + 3 - 1], %1" ::"n"(R), "v"(0) : "v80");
}
__global__ void named(float *x) {
    const int i = threadIdx.x;
    asm volatile("" ::: "v200");
    float y;
    asm volatile("v_mov_b32 %0, 0x1a4" : "=v"(y));
    asm volatile("s_mov_b32 s[%0], 0" ::"n"(90));
    if (i > 3) one<70>(x[i]);
    x[i] = y;
}
__global__ void plain(float *x) { x[threadIdx.x] *= 2; }
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_registers_that_assembly_names(arch: str) -> None:
    """Numbers and sums of constants; not operands, clobbers, or registers that only a clobber names."""
    (kernel,) = functions(NAMED, arch)
    assert kernel.name == "named"
    assert pinned.shown(kernel.named) == "a[70:72], s90, v[70:71]"
    assert not kernel.lost
    assert not kernel.spills


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_the_compilers_own_values_in_them_are_found(zig: Compiler, arch: str) -> None:
    """A launch shows it: the values of inline assembly in the AGPRs are lost. The warning is repeated."""
    for _ in range(2):
        with pytest.warns(UntrustedRegisters) as caught:
            module = wb.compile(CROWDED, arch=arch, name="pins.hip", define={"NV": 12, "MANY": 24})
        messages = [str(warning.message) for warning in caught]
        assert any("kernel crowded: inline assembly has a[0:3] by number" in text for text in messages)
        assert any("kernel crowded: the compiler spilled VGPRs" in text for text in messages)
        assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}
    x = torch.ones(64 * 24)
    module["crowded"][1, 64](x)
    assert (x[:64] != 4321).all()


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_nothing_is_said_where_it_keeps_off(zig: Compiler, arch: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UntrustedRegisters)
        module = wb.compile(CROWDED, arch=arch, name="pins.hip", define={"NV": 24, "MANY": 8})
    x = torch.ones(64 * 8)
    module["crowded"][1, 64](x)
    assert (x[:64] == 4321).all()


def step(text: str) -> pinned.Step:
    """`n`: inline assembly names a0; `r`, `w`: the compiler reads or writes it."""
    a0 = frozenset({("a", 0)})
    return pinned.Step(*(a0 if letter in text else frozenset() for letter in "nrw"))


@pytest.mark.parametrize(
    ("blocks", "is_lost"),
    [
        # Before the first statement and after the last, it belongs to the compiler.
        ({0: ("w r n n w r", [])}, False),
        ({0: ("n w n", [])}, True),
        ({0: ("w n r", [])}, True),
        # After the last on a path from which a loop leads back.
        ({0: ("n w r", [1]), 1: ("", [0, 2]), 2: ("", [])}, True),
        ({0: ("w r", [1]), 1: ("n", [1, 2]), 2: ("w r", [])}, False),
        # On one of two paths.
        ({0: ("", [1, 2]), 1: ("n", [3]), 2: ("w", [3]), 3: ("r", [])}, True),
        ({0: ("", [1, 2]), 1: ("n", []), 2: ("w r", [])}, False),
    ],
)
def test_ways_on_which_both_have_a_register(blocks: dict[int, tuple[str, list[int]]], is_lost: bool) -> None:
    made = {number: ([step(s) for s in text.split()], after) for number, (text, after) in blocks.items()}
    assert bool(pinned.Function("k", blocks=made).lost) == is_lost


def test_what_a_called_function_writes_counts() -> None:
    source = """#include <hip/hip_runtime.h>
    __device__ __attribute__((noinline)) float other(float x) {
        for (int i = 0; i < 64; i++) x = __builtin_sinf(x) / (x + i);
        return x;
    }
    __global__ void calls(float *x) {
        asm volatile("v_mov_b32 v[%0], 0" ::"n"(1));
        x[threadIdx.x] = other(x[threadIdx.x]);
    }
    """
    (kernel,) = functions(source)
    assert kernel.calls
    assert ("v", 1) in kernel.lost


def test_a_number_that_cannot_be_parsed_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"the register number '4\*2' is not a sum of constants"):
        functions('__global__ void k() { asm volatile("v_mov_b32 v[4*2], 0"); }')


# As in sources for LLVM 21 and earlier: NV VGPRs, and as many AGPRs, if all are named.
EARLIER = (
    PINS
    + """#include <hip/hip_runtime.h>
__global__ __launch_bounds__(256) __attribute__((amdgpu_num_vgpr(NV))) void earlier(volatile float *x) {
    asm volatile("" ::: "a255");
    put<0>(1); put<255>(2);
    float v[MANY];
    for (int i = 0; i < MANY; i++) v[i] = x[64 * i + threadIdx.x];
    for (int i = 0; i < MANY; i++) x[64 * i + threadIdx.x] = v[i] * v[(i + 1) % MANY];
    x[threadIdx.x] = get<0>() + 10 * get<255>();
}
"""
)


def test_registers_counted_as_in_earlier_releases(zig: Compiler) -> None:
    """LLVM 22 counts the AGPRs too: it gets a higher limit if it then avoids them, with a note."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UntrustedRegisters)
        module = wb.compile(EARLIER, arch="gfx950", name="pins.hip", define={"NV": 30, "MANY": 8})
    assert module.result is not None
    (note,) = module.result.diagnostics
    assert note.severity == "note"
    assert 'compiled with define=["amdgpu_num_vgpr(n)=amdgpu_num_vgpr(((n)+256)/2)"]' in note.message
    x = torch.ones(64 * 8)
    module["earlier"][1, 64](x)
    assert (x[:64] == 21).all()


def test_a_register_count_that_loses_registers_is_refused(zig: Compiler) -> None:
    options = CompileOptions("gfx950", name="pins.hip", define={"NV": 20, "MANY": 40})
    with pytest.raises(CompileError, match=r"it compiles, but is wrong: .* \(earlier has a\[?0") as caught:
        compile_device(EARLIER, options)
    assert "Since LLVM 22 the registers of amdgpu_num_vgpr(n)" in str(caught.value)


def test_a_program_is_looked_through_too(zig: Compiler) -> None:
    define = {"NV": 12, "MANY": 24}
    with pytest.warns(UntrustedRegisters) as caught:
        wb.run_program(CROWDED + "int main() {}\n", device="emulated:gfx950", define=define)
    assert "crowded: inline assembly has a[0:3]" in str(caught[0].message)
