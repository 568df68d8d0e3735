"""Halves of registers that 16-bit instructions do not write are not tracked."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402

HEAD = "#include <hip/hip_runtime.h>\n__global__ void k(const unsigned *in, unsigned *out) {\n"
BODY = {
    "mad_u16": "unsigned x = in[threadIdx.x], y;"
    'asm volatile("v_mad_u16 v77, %1, %1, %1\\nv_mov_b32 %0, v77" : "=v"(y) : "v"(x) : "v77");',
    "load_short_d16": "unsigned y, at = threadIdx.x * 4;"
    'asm volatile("global_load_short_d16 v77, %1, %2\\ns_waitcnt vmcnt(0)\\nv_mov_b32 %0, v77"'
    ' : "=v"(y) : "v"(at), "s"(in) : "v77");',
}


@pytest.mark.parametrize("name", BODY)
def test_a_kept_half_is_not_followed(name: str) -> None:
    source = f"{HEAD}{BODY[name]}\nout[threadIdx.x] = y & 0xFFFF;\n}}"
    module = wb.compile(source, arch="gfx950", name="kept.hip")
    values = torch.arange(64, dtype=torch.int32)
    out = torch.zeros(64, dtype=torch.int32)
    assert wb.sanitize(module["k"][1, 64], values, out).passed
    expected = values * values + values if name == "mad_u16" else values
    assert torch.equal(out, expected)
