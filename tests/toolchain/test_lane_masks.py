"""The masks of HIP's `__*_sync` functions: refusals of ROCm 7's headers, and traps."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.errors import TrapFault

CALLS = (
    "__shfl_sync({}, v, 1)",
    "__shfl_up_sync({}, v, 1)",
    "__shfl_down_sync({}, v, 1)",
    "__shfl_xor_sync({}, v, 1)",
    "__ballot_sync({}, v)",
    "__any_sync({}, v)",
    "__all_sync({}, v)",
    "__match_any_sync({}, v)",
    "__match_all_sync({}, v, &same)",
    "__reduce_add_sync({}, v)",
    "__reduce_max_sync({}, (unsigned)v)",
    "__reduce_xor_sync({}, (unsigned)v)",
    "(__syncwarp({}), 0)",
)
KERNEL = """#include <hip/hip_runtime.h>
__global__ void k(int *out, unsigned long long m) {{
    int lane = threadIdx.x, v = lane, same;
    {}
    out[lane] = v + same;
}}
"""


def kernel(body: str, arch: str = "gfx950", flags: tuple[str, ...] = ()) -> wb.Kernel:
    return wb.compile(KERNEL.format(body), arch=arch, name="masks.hip", flags=flags)["k"]


# Integral types of sizes other than 8 bytes: a template is rejected once for each.
NARROW = (
    *("bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned"),
    *("wchar_t", "char16_t", "char32_t", "__int128", "unsigned __int128"),
)


def test_a_mask_has_64_bits() -> None:
    lines = [f"v += {call.format(f'({kind})m')};" for call, kind in zip(CALLS, NARROW, strict=True)]
    with pytest.raises(wb.CompileError) as caught:
        kernel("\n    ".join(lines))
    errors = [found for found in caught.value.diagnostics if found.severity == "error"]
    assert len(errors) == len(CALLS)
    assert all("the mask has 64 bits, one for each lane" in found.message for found in errors)
    kernel("\n    ".join(f"v += {call.format(mask)};" for call in CALLS for mask in ("~0ull", "(long)m")))


WRONG = {
    "a branch with a mask of everybody": (
        "if (lane < 32) v += __shfl_down_sync(~0ull, v, 16);",
        "mask 0xffffffffffffffff, .* lanes 0-31 .* lanes 32-63 of the mask do not",
    ),
    "a mask of CUDA": (
        "v += __shfl_xor_sync((unsigned long long)0xffffffffu, v, 1);",
        "mask 0xffffffff, .* lanes 0-63 .* lanes 32-63 are not in the mask",
    ),
    "every second lane": (
        "if (lane & 1) v = __popcll(__ballot_sync(~0ull, 1));",
        "32 lanes, from 1 to 63 .0xaaaaaaaaaaaaaaaa",
    ),
    "a mask of nobody": ("v = __shfl_sync(0ull, v, 3);", "mask 0x0, .* lanes 0-63 are not in the mask"),
    "ten lanes": ("if (lane < 10) v = __reduce_add_sync(~0ull, v);", "lanes 0-9 .0x3ff"),
    "a mask that is known at run time": (
        "if (lane != 5) v = __any_sync(m, v);",
        "mask 0xffffffffffffffff, .* lanes 0-4, 6-63 .*: lane 5 of the mask does not",
    ),
    "one part of two": (
        "v = __shfl_sync(lane < 20 ? (1ull << 20) - 1 : ~0ull << 21, v, 30);",
        "mask 0xffffffffffe00000, .* lanes 20-63 .*: lane 20 is not in the mask",
    ),
    "synchronising": ("if (lane < 3) __syncwarp(m);", "lanes 0-2 "),
}


@pytest.mark.parametrize(
    ("arch", "name"), [*(("gfx950", name) for name in WRONG), ("gfx942", "one part of two")]
)
def test_a_mask_that_is_not_the_lanes_traps(arch: str, name: str) -> None:
    body, words = WRONG[name]
    out = torch.zeros(64, dtype=torch.int32)
    with pytest.raises(TrapFault, match=f"masks.hip:4: .*{words}"):
        kernel(body, arch)[1, 64](out, 2**64 - 1)
    assert not out.any()


def test_a_wrong_mask_without_optimisation_and_as_a_finding() -> None:
    body, words = WRONG["one part of two"]
    out = torch.zeros(64, dtype=torch.int32)
    with pytest.raises(TrapFault, match=f"masks.hip:4: .*{words}"):
        kernel(body, flags=("-O0",))[1, 64](out, 0)
    report = wb.sanitize(kernel(body)[1, 64], out, 0)
    assert [finding.line for finding in report.findings] == [4]
    assert "lane mask 0xffffffffffe00000" in report.findings[0].message


@pytest.mark.parametrize("flag", ["-O0", "-O3"])
def test_masks_that_divide_the_lanes_are_right(flag: str) -> None:
    out = torch.zeros(64, dtype=torch.int32)
    body = """unsigned long long part = lane < 20 ? (1ull << 20) - 1 : ~0ull << 20;
    same = 0; v = __reduce_add_sync(part, 1); if (lane >= 3) same = 1000 * __reduce_max_sync(m, lane);"""
    kernel(body, flags=(flag,))[1, 64](out, 2**64 - 8)
    assert out.tolist() == [(20 if i < 20 else 44) + (63000 if i >= 3 else 0) for i in range(64)]


def test_a_release_has_no_check() -> None:
    """As ROCm's headers: they assert."""
    out = torch.zeros(64, dtype=torch.int32)
    kernel("same = 0; v = __shfl_sync(0ull, v, 3);", flags=("-DNDEBUG",))[1, 64](out, 0)
    assert out.tolist() == [3] * 64


def test_what_a_program_switches_off_is_off() -> None:
    with pytest.raises(wb.CompileError, match="__ballot_sync"):
        kernel("v = __ballot_sync(~0ull, v);", flags=("-DHIP_DISABLE_WARP_SYNC_BUILTINS",))
    kernel("v = __ballot(v);", flags=("-DHIP_DISABLE_WARP_SYNC_BUILTINS",))


@pytest.mark.parametrize("call", ["__reduce_add_sync(~0ull, 1.5f)", "__reduce_min_sync(~0ull, 1ll)"])
def test_reductions_of_further_types_are_asked_for(call: str) -> None:
    with pytest.raises(wb.CompileError, match="ambiguous"):
        kernel(f"v = {call};")
    kernel(f"v = {call};", flags=("-DHIP_ENABLE_EXTRA_WARP_SYNC_TYPES",))


BFLOAT16 = """#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
__global__ void k(float *out, long mask, int narrow) {{
    __hip_bfloat16 one = static_cast<float>(threadIdx.x);
    __hip_bfloat162 two(one, one);
    {};
    out[threadIdx.x] = static_cast<float>(one) + static_cast<float>(two.y);
}}
"""


def test_masks_of_bfloat16() -> None:
    """Pairs, which no plain shuffle takes, have functions whose mask is unsigned long long."""
    body = "one = __shfl_xor_sync(mask, one, 1); two = __shfl_xor_sync(~0ull, two, 2)"
    out = torch.zeros(64)
    wb.compile(BFLOAT16.format(body), arch="gfx950", name="masks.hip")["k"][1, 64](out, -1, 0)
    assert out.tolist() == [(lane ^ 1) + (lane ^ 2) for lane in range(64)]
    for call, words in (
        ("one = __shfl_sync(narrow, one, 1)", "the mask has 64 bits"),
        ("two = __shfl_sync(narrow, two, 1)", "the mask has 64 bits"),
        ("two = __shfl_sync(mask, two, 1)", "deleted function '__shfl'"),
    ):
        with pytest.raises(wb.CompileError, match=words):
            wb.compile(BFLOAT16.format(call), arch="gfx950", name="masks.hip")
