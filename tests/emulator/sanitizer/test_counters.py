"""Proofs by a wait for a count: an access is done if no order of return leaves it in flight."""

from __future__ import annotations

from functools import cache

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

READ = "ds_read_b32 {}, %[at] offset:{}"
DWORD, OTHER = "s_load_dword s20, %[x], 0x0", "s_load_dword s28, %[x], 0x0"
QUAD = "s_load_dwordx4 s[20:23], %[x], 0x0"
TO_LDS = "flat_load_dword %[c], %[shared]"
A, B, FIRST = READ.format("%[a]", 0), READ.format("%[b]", 256), "v_add_f32 %[a], %[a], %[a]"
LOAD_A, LOAD_B = "global_load_dword %[a], %[g], %[x]", "global_load_dword %[b], %[g], %[x] offset:256"
STORE = "global_store_dword %[g], %[z], %[o]"
SCALAR = "s_add_u32 s24, s20, 1"

CASES: dict[str, tuple[tuple[str, ...], bool]] = {
    "lds in order": ((A, B, "s_waitcnt lgkmcnt(1)", FIRST), True),
    "lds counted short": ((A, B, "s_waitcnt lgkmcnt(2)", FIRST), False),
    # Whatever the scalar load does, one of the two reads is done: the first.
    "scalar load before lds": ((QUAD, A, B, "s_waitcnt lgkmcnt(1)", FIRST), True),
    "scalar load between lds": ((A, QUAD, B, "s_waitcnt lgkmcnt(1)", FIRST), True),
    # The scalar load may be done already, so it is not an access after the read.
    "scalar load after lds": ((A, DWORD, "s_waitcnt lgkmcnt(1)", FIRST), False),
    "scalar loads after lds": ((A, QUAD, OTHER, "s_waitcnt lgkmcnt(1)", FIRST), False),
    # A load of several dwords counts two, so that it is not under way at one.
    "wide scalar load": ((QUAD, A, "s_waitcnt lgkmcnt(1)", SCALAR), True),
    "wide scalar load counted short": ((QUAD, A, "s_waitcnt lgkmcnt(2)", SCALAR), False),
    "scalar load of a dword": ((DWORD, A, "s_waitcnt lgkmcnt(1)", SCALAR), False),
    "scalar load before a later one": ((OTHER, QUAD, "s_waitcnt lgkmcnt(1)", SCALAR), True),
    # A flat access of LDS counts in both, and each may be done before what was issued earlier.
    "flat before lds": ((TO_LDS, A, B, "s_waitcnt lgkmcnt(1)", FIRST), False),
    "flat after lds": ((A, TO_LDS, "s_waitcnt lgkmcnt(1)", FIRST), False),
    "flat and lds after lds": ((A, TO_LDS, B, "s_waitcnt lgkmcnt(1)", FIRST), True),
    "flat after a load": ((LOAD_A, TO_LDS, "s_waitcnt vmcnt(1)", FIRST), False),
    "flat and load after a load": ((LOAD_A, TO_LDS, LOAD_B, "s_waitcnt vmcnt(1)", FIRST), True),
    "flat waited for": ((TO_LDS, A, B, "s_waitcnt lgkmcnt(0)", FIRST), True),
    # Stores and loads of memory are one order in vmcnt.
    "store after a load": ((LOAD_A, STORE, "s_waitcnt vmcnt(1)", FIRST), True),
    "store before a load": ((STORE, LOAD_A, "s_waitcnt vmcnt(1)", FIRST), False),
    "lds after a load": ((LOAD_A, B, "s_waitcnt lgkmcnt(0)", FIRST), False),
}

KERNEL = """
extern "C" __global__ void {name}(const float *x, float *o) {{
    __shared__ float s[128];
    s[threadIdx.x] = s[threadIdx.x + 64] = x[threadIdx.x];
    __syncthreads();
    unsigned at = (unsigned)(unsigned long long)(LDS float *)&s[threadIdx.x], g = 4 * threadIdx.x;
    float a = 0, b = 0, c = 0, z = x[threadIdx.x];
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)\\n{asm}\\ns_waitcnt vmcnt(0) lgkmcnt(0)"
                 : [a] "+&v"(a), [b] "+&v"(b), [c] "+&v"(c)
                 : [at] "v"(at), [g] "v"(g), [x] "s"(x), [o] "s"(o), [z] "v"(z),
                   [shared] "v"((const float *)s)
                 : "s20", "s21", "s22", "s23", "s24", "s28", "scc", "memory");
    o[threadIdx.x] = a + b + c;
}}
"""


@cache
def compiled(arch: str) -> wb.Module:
    kernels = [
        KERNEL.format(name=name.replace(" ", "_"), asm="\\n".join(lines))
        for name, (lines, _) in CASES.items()
    ]
    head = "#include <hip/hip_runtime.h>\n#define LDS __attribute__((address_space(3)))\n"
    return wb.compile(head + "".join(kernels), arch=arch)


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_a_wait_proves_what_it_must(name: str, arch: str) -> None:
    lines, is_done = CASES[name]
    launch = compiled(arch)[name.replace(" ", "_")][1, 64]
    result = wb.sanitize(launch, torch.ones(128), torch.zeros(64), device=f"emulated:{arch}")
    assert result.passed == is_done, f"{lines}\n{result}"
    if not is_done:
        (finding,) = result.findings
        assert finding.category == "missing wait"
        assert "may still be in flight" in finding.message
