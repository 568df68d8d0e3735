"""Variables in shared memory whose addresses only the running kernel knows."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest
import torch

import workbench as wb
from workbench.codeobject import CodeObject
from workbench.codeobject.debug import DebugInfo
from workbench.targets import TILE_TARGETS

TYPES = {"float": 4, "char": 1, "double": 8, "float4": 16, "short": 2}
KERNELS = 12
OTHERS = """#include <hip/hip_runtime.h>
template <int N> __device__ void turn(float *o) {
    __shared__ float inner[N];
    inner[threadIdx.x] = o[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = inner[N - 1 - threadIdx.x];
}
__global__ void inlined(float *o) {
    __shared__ double first[8];
    float local[4] = {1, 2, 3, o[3]};
    first[threadIdx.x & 7] = local[3];
    turn<64>(o);
    o[threadIdx.x] += first[3];
}
__global__ void one_of_two(float *o) {
    __shared__ float unused[64];
    __shared__ float used[64];
    used[threadIdx.x] = o[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = used[63 - threadIdx.x];
}
__global__ void padded(float *o) {
    __shared__ float wide[33];
    __shared__ char small[5];
    wide[threadIdx.x] = o[threadIdx.x], small[threadIdx.x] = o[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = wide[32 - threadIdx.x] + small[4 - threadIdx.x];
}
__global__ void behind(float *o) {
    extern __shared__ float more[];
    __shared__ float counts[16];
    counts[threadIdx.x & 15] = 1;
    more[threadIdx.x] = o[threadIdx.x];
    o[threadIdx.x] = more[127 - threadIdx.x] + counts[15 - (threadIdx.x & 15)];
}
__global__ void race(float *o) {
    __shared__ float counts[16];
    __shared__ float tile[128];
    counts[threadIdx.x & 15] = 1;
    tile[threadIdx.x] = o[threadIdx.x];
    o[threadIdx.x] = tile[127 - threadIdx.x] + counts[threadIdx.x & 15];
}
"""
PADDED = [("wide", 0, 132), ("small", 136, 5)]


class Shared(NamedTuple):
    name: str
    type: str
    count: int
    alignment: int


def kernel(name: str, variables: list[Shared]) -> str:
    """A kernel that writes the address of each of its shared arrays."""
    lines = [f"__global__ void {name}(unsigned *o) {{"]
    for v in variables:
        asked = f"alignas({v.alignment}) " if v.alignment else ""
        lines.append(f"__shared__ {asked}{v.type} {v.name}[{v.count}];")
    for at, v in enumerate(variables):
        lines.append(f"o[{at}] = (unsigned)(size_t)(__attribute__((address_space(3))) char *){v.name};")
    return "\n".join([*lines, "}", ""])


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_each_variable_is_where_the_kernel_has_it(arch: str) -> None:
    kernels = {
        f"k{number}": [
            Shared(
                f"{random.choice('abcdefgh')}{at}",
                random.choice(list(TYPES)),
                random.choice((1, 2, 3, 5, 8, 16, 33, 64)),
                random.choice((0, 0, 0, 0, 32, 128)),
            )
            for at in range(random.randint(1, 5))
        ]
        for number in range(KERNELS)
    }
    module = wb.compile(OTHERS + "".join(kernel(*entry) for entry in kernels.items()), arch=arch)
    debug = DebugInfo(CodeObject.from_bytes(module.code))
    for name, variables in kernels.items():
        out = torch.zeros(8, dtype=torch.int32)
        module[name][1, 1](out)
        symbol = f"_Z{len(name)}{name}Pj"
        arrays = debug.shared_arrays(symbol, module[name].resources.lds)
        expected = {v.name: (int(at), v.count * TYPES[v.type]) for v, at in zip(variables, out, strict=False)}
        reported = {array.name: (array.first, array.size) for array in arrays}
        assert reported.items() <= expected.items(), kernel(name, variables)
    padded = debug.shared_arrays("_Z6paddedPf", module["padded"].resources.lds)
    assert [(array.name, array.first, array.size) for array in padded] == PADDED
    inlined = debug.shared_arrays("_Z7inlinedPf", module["inlined"].resources.lds)
    assert [(array.name, array.first, array.size) for array in inlined] == [
        ("inner", 0, 256),
        ("first", 256, 64),
    ]
    # Either of its two arrays would fill the LDS, so none is named.
    assert debug.shared_arrays("_Z10one_of_twoPf", module["one_of_two"].resources.lds) == ()

    result = wb.sanitize(module["race"][1, 128], torch.zeros(128), device=f"emulated:{arch}")
    assert any(
        "shared memory at byte " in f.message and "('tile' of line " in f.message for f in result.findings
    ), str(result)
    launch = module["behind"][1, 128, 512]
    result = wb.sanitize(launch, torch.zeros(128), device=f"emulated:{arch}")
    assert any(" (dynamic shared memory, byte 256)" in f.message for f in result.findings), str(result)
