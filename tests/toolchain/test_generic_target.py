"""gfx9-4-generic: the headers for LLVM's generic processor for gfx942 and gfx950."""

from __future__ import annotations

import pytest

from workbench.codeobject import CodeObject
from workbench.codeobject.decoder import decode
from workbench.errors import CompileError, UsageError
from workbench.toolchain import CompileOptions, compile_device
from workbench.toolchain.device_libraries import settings_text

# It has no conversions of 8-bit floats (LLVM's AMDGPUUsage, "Generic Processors"); ROCm's hip_fp8.h knows
# none of its macros, so it has both formats in software.
SOURCE = """
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#if defined(__HIP_DEVICE_COMPILE__)
#if !defined(__gfx9_4_generic__) || defined(__gfx942__) || defined(__gfx950__)
#error "the macros of another processor"
#endif
static_assert(HIP_FP8_TYPE_OCP == 1 && HIP_FP8_TYPE_FNUZ == 1 && HIP_FP8_CVT_FAST_PATH == 0);
#endif
extern "C" __global__ void sums(float *f, __half2 *h, __hip_bfloat162 *b, __hip_fp8_e4m3 *small) {
    unsafeAtomicAdd(f, 1.0f);
    unsafeAtomicAdd(h, __half2{1, 1});
    unsafeAtomicAdd(b, __hip_bfloat162{1, 1});
    small[threadIdx.x] = __hip_fp8_e4m3(f[threadIdx.x]);
}
"""


def test_what_the_headers_decide() -> None:
    code = CodeObject.from_bytes(compile_device(SOURCE, CompileOptions("gfx9-4-generic")).code_object)
    opcodes = {
        target: {i.opcode for i in decode(code.text.data, code.text.address, target)}
        for target in code.targets
    }
    assert opcodes["gfx942"] == opcodes["gfx950"]
    assert not any("cvt_pk_fp8" in opcode or "cvt_scalef32" in opcode for opcode in opcodes["gfx942"])
    for operation in ("add_f32", "pk_add_f16", "pk_add_bf16"):
        assert any(f"atomic_{operation}" in opcode for opcode in opcodes["gfx942"]), operation


def test_the_tile_library_is_for_a_target_of_its_own() -> None:
    with pytest.raises(CompileError, match=r"written for gfx950 \(CDNA4\) and gfx942 \(CDNA3\)"):
        compile_device('#include "kittens.cuh"\n', CompileOptions("gfx9-4-generic"))


def test_device_libraries_take_it_for_the_first_of_its_targets() -> None:
    """As ROCm's own oclc_isa_version_9-4-generic.bc."""
    assert settings_text("gfx9-4-generic") == settings_text("gfx942")


def test_unknown_generic_processors() -> None:
    with pytest.raises(UsageError, match=r"'gfx9-generic': expected one of .*gfx9-4-generic"):
        CompileOptions("gfx9-generic")
