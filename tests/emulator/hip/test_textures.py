"""Programs with textures compile, and get an error at run time, since there are none."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench import errors, runtime
from workbench.runtime.hip import api as load_hip
from workbench.targets import TILE_TARGETS

KERNEL = """#include <hip/hip_runtime.h>
__global__ void sample(hipTextureObject_t texture, float *out) {
    out[threadIdx.x] = texture ? tex2D<float>(texture, threadIdx.x + 0.5f, 0.5f) : 1.0f;
}
"""
PROGRAM = (
    KERNEL
    + r"""
#include <cstdio>
int main() {
    const hipChannelFormatDesc channel = hipCreateChannelDesc<float4>();
    hipArray_t array;
    const hipError_t made = hipMallocArray(&array, &channel, 16, 16);
    hipResourceDesc resource = {};
    resource.resType = hipResourceTypeLinear;
    hipTextureDesc description = {};
    hipTextureObject_t texture = nullptr;
    const hipError_t created = hipCreateTextureObject(&texture, &resource, &description, nullptr);
    float *out;
    hipMallocManaged(&out, 256);
    sample<<<1, 64>>>(texture, out);
    std::printf("%d %d %s %s ", channel.w, channel.f, hipGetErrorName(made), hipGetErrorName(created));
    std::printf("%g\n", out[9]);
    sample<<<1, 64>>>(reinterpret_cast<hipTextureObject_t>(out), out);
    std::printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
}
"""
)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_a_program_with_textures(arch: str) -> None:
    result = wb.run_program(PROGRAM, device=f"emulated:{arch}").check()
    assert result.stdout == "32 2 hipErrorNotSupported hipErrorNotSupported 1\nhipErrorAssert\n"
    assert result.stderr.count(f"{arch} has no image instructions") == 1
    assert "hipMallocArray: " in result.stderr
    assert (
        "`image instructions, which this target has none of; read memory through a pointer`" in result.stderr
    )


def test_the_reason_reaches_python() -> None:
    hip = load_hip(runtime.device("emulated:gfx950").backend)
    from workbench.emulator.hip import take_exception

    status, *_ = hip.hipFreeArray(None)
    assert status == hip.hipError_t.hipErrorNotSupported
    assert "hipFreeArray: gfx950 has no image instructions" in str(take_exception())


def test_a_kernel_alone() -> None:
    with pytest.raises(errors.AssertionFault, match=r"image instructions.* tex2D for thread"):
        wb.compile(KERNEL, arch="gfx950")["sample"][(1,), (64,)](64, 64)
