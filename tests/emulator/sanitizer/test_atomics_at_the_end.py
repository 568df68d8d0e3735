"""Atomics of a half or a byte access the dword around it, also where memory ends inside that."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench import errors  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

SOURCE = r"""
#include <hip/hip_runtime.h>
#define AGENT __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
typedef _Float16 half2v __attribute__((ext_vector_type(2)));
typedef __attribute__((address_space(1))) half2v global2;
#define FOR(T, name, what)                                                             \
    __global__ void name(T *x, int n) {                                                \
        T *at = x + threadIdx.x;                                                       \
        if (threadIdx.x < n) what;                                                     \
    }
FOR(_Float16, add_f16, __hip_atomic_fetch_add(at, (_Float16)1, AGENT))
FOR(__bf16, add_bf16, __hip_atomic_fetch_add(at, (__bf16)1, AGENT))
FOR(unsigned char, add_u8, __hip_atomic_fetch_add(at, (unsigned char)1, AGENT))
FOR(unsigned short, or_u16, __hip_atomic_fetch_or(at, (unsigned short)1, AGENT))
FOR(unsigned short, and_u16, __hip_atomic_fetch_and(at, (unsigned short)0xfff0, AGENT))
// The last half alone, as one of two.
__global__ void packed(half2v *x, int n) {
    half2v one = {(_Float16)1, (_Float16)0};
    if (threadIdx.x == 0) __builtin_amdgcn_global_atomic_fadd_v2f16((global2 *)(x + n / 2), one);
}
// What changes bytes that are not there.
__global__ void both(half2v *x, int n) {
    half2v one = {(_Float16)1, (_Float16)1};
    if (threadIdx.x == 0) __builtin_amdgcn_global_atomic_fadd_v2f16((global2 *)(x + n / 2), one);
}
#define FIRST if (threadIdx.x == 0)
__global__ void swapped(_Float16 *x, int n) { FIRST atomicCAS((unsigned *)x + n / 2, 0u, 0x10001u); }
__global__ void integer(_Float16 *x, int n) { FIRST atomicAdd((int *)x + n / 2, 1); }
__global__ void next(_Float16 *x, int n) { FIRST __hip_atomic_fetch_or((short *)x + n + 1, 1, AGENT); }
__global__ void dword(_Float16 *x, unsigned *out, int n) { FIRST out[0] = ((const unsigned *)x)[n / 2]; }
"""
RIGHT: dict[str, tuple[Any, int, int]] = {
    "add_f16": (torch.float16, 2, 3),
    "add_bf16": (torch.bfloat16, 2, 3),
    "add_u8": (torch.uint8, 2, 3),
    "or_u16": (torch.int16, 2, 3),
    "and_u16": (torch.int16, 0x7FFF, 0x7FF0),
}
"""The tensor's data type, what it holds, and what each element becomes."""


def module(arch: str) -> wb.Module:
    return wb.compile(SOURCE, arch=arch, name="atomics.hip")


def within(dtype: Any, n: int, value: int) -> tuple[Any, Any]:
    """A tensor whose storage ends with its last element, and the bytes of memory that it is the start of."""
    around = torch.full((256,), 0x5A, dtype=torch.uint8)
    size = torch.empty(0, dtype=dtype).element_size()
    tensor = torch.frombuffer(around.numpy(), dtype=dtype, count=n)
    tensor.fill_(value)
    assert tensor.nbytes == n * size
    return tensor, around


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("n", [1, 5, 64])
@pytest.mark.parametrize("name", RIGHT)
def test_the_last_element_of_an_odd_tensor(name: str, n: int, sanitize: bool, arch: str) -> None:
    dtype, before, after = RIGHT[name]
    tensor, around = within(dtype, n, before)
    launcher = module(arch)[name][1, 64]
    if sanitize:
        wb.sanitize(launcher, tensor, n, device=f"emulated:{arch}").check()
    else:
        launcher(tensor, n)
    assert tensor.tolist() == [after] * n
    assert (around[tensor.nbytes :] == 0x5A).all()


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_a_packed_addition_of_nothing_leaves_what_is_behind(arch: str) -> None:
    tensor, around = within(torch.float16, 5, 2)
    around[10:12] = torch.tensor([0, 0x80], dtype=torch.uint8)  # -0, which + 0 would make +0
    module(arch)["packed"][1, 64](tensor, 5)
    assert tensor.tolist() == [2, 2, 2, 2, 3]
    assert around[10:12].tolist() == [0, 0x80]


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", ["both", "swapped", "integer", "next"])
def test_an_atomic_past_the_end_is_out_of_bounds(name: str, arch: str) -> None:
    tensor, around = within(torch.float16, 5, 0)
    launcher = module(arch)[name][1, 64]
    with pytest.raises(errors.AddressFault, match="past the end of argument 'x'"):
        launcher(tensor, 5)
    result = wb.sanitize(launcher, tensor, 5, device=f"emulated:{arch}")
    assert [f.category for f in result.findings] == ["out of bounds"], str(result)
    assert (around[10:] == 0x5A).all()


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_a_plain_load_past_the_end_is_found(arch: str) -> None:
    tensor, _ = within(torch.float16, 5, 0)
    launcher = module(arch)["dword"][1, 64]
    result = wb.sanitize(launcher, tensor, torch.zeros(1, dtype=torch.int32), 5, device=f"emulated:{arch}")
    assert [f.category for f in result.findings] == ["out of bounds"], str(result)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_a_race_on_the_last_element_is_found(arch: str) -> None:
    source = SOURCE + (
        "#include <hip/hip_runtime.h>\n__global__ void race(_Float16 *x, int n) {\n"
        "    if (threadIdx.x >= 64) x[n - 1] = 1;\n"
        "    else __hip_atomic_fetch_add(x + n - 1, (_Float16)1, AGENT);\n}"
    )
    tensor, _ = within(torch.float16, 5, 0)
    launcher = wb.compile(source, arch=arch, name="atomics.hip")["race"][1, 128]
    result = wb.sanitize(launcher, tensor, 5, device=f"emulated:{arch}")
    assert {f.category for f in result.findings} == {"race"}, str(result)
