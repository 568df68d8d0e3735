"""Every seeded fault is found on its line; the same kernel without the fault is not reported."""

from __future__ import annotations

from functools import cache

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from tests.emulator.sanitizer import tables  # noqa: E402
from tests.emulator.sanitizer.seeded import CASES, HEAD  # noqa: E402
from workbench.check.sanitizer import SanitizeResult  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402


@cache
def compiled(arch: str, fault: bool) -> wb.Module:
    """Every case of a target in one compilation, with its lines counted as if it were alone."""
    first = HEAD.count("\n") + 1
    cases = [
        f'namespace {name} {{\n#line {first} "seeded.hip"\n{case.source}\n}}'
        for name, case in CASES.items()
        if arch in case.targets
    ]
    source = HEAD + "\n".join(cases)
    return wb.compile(source, arch=arch, define=["FAULT"] if fault else [], name="seeded.hip")


def far_apart(elements: int) -> tuple[torch.Tensor, torch.Tensor]:
    """An input and an output, neither where an access beyond the other would find it."""
    values = torch.arange(elements, dtype=torch.float32)
    near = []
    while abs((out := torch.zeros(elements)).data_ptr() - values.data_ptr()) < 1 << 16:
        near.append(out)
    return values, out


def run(name: str, arch: str, fault: bool) -> tuple[SanitizeResult, set[int]]:
    """The result, and the faulty lines."""
    case = CASES[name]
    source = HEAD + case.source
    lines = {n for n, text in enumerate(source.splitlines(), 1) if text.endswith("// HERE")}
    launch = compiled(arch, fault)[f"{name}::k"][case.grid, case.block]
    values, out = far_apart(case.elements)
    return wb.sanitize(launch, values, out, device=f"emulated:{arch}"), lines


@pytest.mark.parametrize(("name", "arch"), [(name, arch) for name in CASES for arch in CASES[name].targets])
def test_seeded_fault_is_found_on_its_line(name: str, arch: str) -> None:
    case = CASES[name]
    result, lines = run(name, arch, fault=True)
    assert not result.passed
    findings = [f for f in result.findings if f.category == case.category and case.words in f.message]
    assert findings, str(result)
    assert lines <= {f.line for f in findings}, str(result)
    assert all(f.wave is not None for f in findings)


@pytest.mark.parametrize(("name", "arch"), [(name, arch) for name in CASES for arch in CASES[name].targets])
def test_the_same_kernel_without_the_fault_is_clean(name: str, arch: str) -> None:
    result, _ = run(name, arch, fault=False)
    assert result.passed, str(result)


ORIGINS = {
    "register_stored": (
        "a register that was never written, first used by `v_add_f32",
        'asm volatile("v_add_f32',
    ),
    "matrix_stored": (
        "a register that was never written, first used by `v_mfma_f32",
        "__builtin_amdgcn_mfma",
    ),
    "lds_stored": ("shared memory: `ds_read_b32", "// HERE"),
    "scratch_stored": ("'a' (declared at line 17): `flat_load_dword", "// HERE"),
    "lanes": ("'x' (declared at line 17), which was never written", "// HERE"),
    "spilled": (
        "a register that was never written, first used by `scratch_store_dword",
        'asm volatile("scratch_store',
    ),
    "branch": ("a register that was never written, first used by `s_mov_b32", 'asm volatile("s_mov_b32'),
    "shuffle_from_a_lane_that_is_off": (
        "a lane that is off: `ds_bpermute_b32",
        "__shfl_xor(",
    ),
}
"""Words of a finding's message about the value's origin, and a part of the origin's line."""


@pytest.mark.parametrize("name", ORIGINS)
def test_an_uninitialised_value_names_its_origin(name: str) -> None:
    words, line = ORIGINS[name]
    result, _ = run(name, "gfx942", fault=True)
    [finding] = [f for f in result.findings if f.category == "uninitialised"]
    assert f"; it comes from {words}" in finding.message
    assert finding.related is not None
    assert line in (HEAD + CASES[name].source).splitlines()[finding.related[1] - 1]


def test_the_documentation_has_the_tables() -> None:
    text = tables.DOCUMENT.read_text()
    assert tables.generated(text) == text, "run python -m tests.emulator.sanitizer.tables"


CLOCKS = """
#include <hip/hip_runtime.h>
__global__ void k(const float *in, float *out) {
    unsigned long long start = clock64(), wall = wall_clock64(), scalar;
    asm volatile("s_memtime %0\\n\\ts_waitcnt lgkmcnt(0)" : "=s"(scalar));
    out[threadIdx.x] = in[threadIdx.x] + (clock64() >= start) + (wall > 0) + (scalar > 0);
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_scalar_memory_without_an_address_is_followed(arch: str) -> None:
    module = wb.compile(CLOCKS, arch=arch, name="clocks.hip")
    out = torch.zeros(64)
    assert wb.sanitize(module["k"][1, 64], torch.zeros(64), out, device=f"emulated:{arch}").passed
    assert (out == 3).all()


IN_ORDER = """
#include <hip/hip_runtime.h>
#define LDS __attribute__((address_space(3)))
typedef float f4 __attribute__((ext_vector_type(4)));
// A load of global memory is under way at a barrier, and another wave stores there.
__global__ void load_at_barrier(const float *in, float *out) {
    float x, y = (float)threadIdx.x;
    unsigned at = threadIdx.x * 4, other = at ^ 256;
    asm volatile("global_load_dword %0, %1, %2\\n\\ts_barrier" : "=&v"(x) : "v"(at), "s"(out) : "memory");
    asm volatile("global_store_dword %0, %1, %2\\n\\ts_waitcnt vmcnt(0)"
                 : : "v"(other), "v"(y), "s"(out) : "memory");
    asm volatile("v_add_f32 %0, %0, 1.0" : "+v"(x));
    out[threadIdx.x + 128] = x;
}
// Registers of a store change when it has been issued.
__global__ void store_data(const float *in, float *out) {
    float y = in[threadIdx.x];
    unsigned at = threadIdx.x * 4;
    asm volatile("s_waitcnt vmcnt(0)\\n\\tglobal_store_dword %0, %1, %2\\n\\t"
                 "v_mov_b32 %1, 0\\n\\tv_mov_b32 %0, 0"
                 : "+v"(at), "+v"(y) : "s"(out) : "memory");
}
// A wave's own accesses of LDS are in order.
__global__ void own_order(const float *in, float *out) {
    __shared__ float s[128];
    float x, y = in[threadIdx.x];
    unsigned at = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    asm volatile("s_waitcnt vmcnt(0)\\n\\tds_write_b32 %1, %2\\n\\tds_read_b32 %0, %1\\n\\ts_barrier\\n\\t"
                 "ds_write_b32 %1, %1\\n\\ts_waitcnt lgkmcnt(0)" : "=&v"(x) : "v"(at), "v"(y) : "memory");
    out[threadIdx.x] = x;
}
// 16 accesses after a read cannot all be under way with it.
__global__ void counter_full(const float *in, float *out) {
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    s[threadIdx.x + 128] = 0;
    __syncthreads();
    float x, y;
    unsigned from = (unsigned)(size_t)(LDS float *)&s[threadIdx.x ^ 64];
    unsigned to = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    asm volatile("ds_read_b32 %0, %2\\n\\t.rept 16\\n\\tds_read_b32 %1, %2 offset:512\\n\\t.endr\\n\\t"
                 "s_barrier\\n\\t"
                 "ds_write_b32 %3, %3\\n\\ts_waitcnt lgkmcnt(0)"
                 : "=&v"(x), "=&v"(y) : "v"(from), "v"(to) : "memory");
    out[threadIdx.x] = x + y;
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", ["load_at_barrier", "store_data", "own_order", "counter_full"])
def test_what_hardware_orders_is_not_reported(name: str, arch: str) -> None:
    module = wb.compile(IN_ORDER, arch=arch, name="order.hip")
    values, out = torch.arange(512.0), torch.zeros(512)
    result = wb.sanitize(module[name][1, 128], values, out, device=f"emulated:{arch}")
    assert result.passed, str(result)
