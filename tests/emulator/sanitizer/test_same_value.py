"""Waves that write the same value to LDS do not race: nothing is read that depends on their order.

Triton's compiler copies tiles that are smaller than the work-group's layout by several waves.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

STORES = {
    "b32": "ds_write_b32 %0, %1",
    "two_b32": "ds_write2_b32 %0, %1, %2 offset0:0 offset1:1",
    "two_b32_far": "ds_write2st64_b32 %0, %1, %2 offset0:0 offset1:1",
    "two_b64": "ds_write2_b64 %0, %3, %4 offset0:0 offset1:1",
}
SOURCE = "#include <hip/hip_runtime.h>\n" + "".join(
    f"""__global__ void {name}(const int *first, const int *second, int *out) {{
    __shared__ alignas(16) int s[512];
    unsigned lane = threadIdx.x & 63, place = lane * 16 % 256 + lane / 16 * 512;
    unsigned at = (unsigned)(__attribute__((address_space(3))) char *)s + place;
    int a = first[threadIdx.x], b = second[threadIdx.x];
    unsigned long long c = (unsigned)a, d = (unsigned)b;
    asm volatile("{text}\\ns_waitcnt lgkmcnt(0)" : : "v"(at), "v"(a), "v"(b), "v"(c), "v"(d) : "memory");
    __syncthreads();
    out[threadIdx.x] = s[place / 4];
}}
"""
    for name, text in STORES.items()
)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_only_values_that_differ_race(arch: str) -> None:
    module = wb.compile(SOURCE, arch=arch, name="same.hip")
    same = torch.arange(1, 65, dtype=torch.int32).repeat(2)
    other = same.clone()
    other[64 + 5] = -1  # a lane of the second wave
    for name in STORES:
        for first, second, races in ((same, same, 0), (other, same, 1), (same, other, name != "b32")):
            report = wb.sanitize(module[name][1, 128], first, second, torch.zeros(128, dtype=torch.int32))
            found = [finding.category for finding in report.findings if finding.category == "race"]
            assert len(found) == races, f"{name}: {report}"
