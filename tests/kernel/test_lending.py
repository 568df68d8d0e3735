"""Tensors that kernels reach by their addresses, and the messages of faults for others."""

from __future__ import annotations

import re

import pytest
import torch

import workbench as wb
from workbench.errors import AddressFault, ArgumentError

SOURCE = """#include <hip/hip_runtime.h>
__global__ void gather(float *const *rows, float *out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = rows[threadIdx.x][0];
}
__global__ void halve(unsigned long long address, int n) {
  if (threadIdx.x < n) reinterpret_cast<float *>(address)[threadIdx.x] *= 0.5f;
}
// The addresses are in bytes, which nobody takes for a table.
__global__ void behind(const unsigned char *blob, float *out) {
  out[threadIdx.x] = (*reinterpret_cast<const float *const *>(blob))[threadIdx.x];
}
__global__ void scale(const float *x, float *out, int stride, int columns, float by) {
  out[threadIdx.y * stride + threadIdx.x] = x[threadIdx.y * stride + threadIdx.x] * by;
}
"""


@pytest.fixture(scope="module")
def module() -> wb.Module:
    return wb.compile(SOURCE, arch="gfx950", name="lending.hip")


def test_a_table_of_pointers_reaches_its_tensors(module: wb.Module) -> None:
    rows = [torch.full((2,), float(i)) for i in range(3)]
    out = torch.zeros(3)
    module["gather"][1, 64](torch.tensor([row.data_ptr() for row in rows]), out, 3)
    assert out.tolist() == [0.0, 1.0, 2.0]


def test_an_address_in_an_integer_reaches_its_tensor(module: wb.Module) -> None:
    x = torch.arange(8.0)
    for _ in range(2):
        module["halve"][1, 64](x.data_ptr(), 8)
    assert torch.equal(x, torch.arange(8.0) / 4)
    with pytest.raises(
        AddressFault, match=r"past the end of argument 'address', an address .*element 8 of 8"
    ):
        module["halve"][1, 64](x.data_ptr(), 9)


def test_a_kernel_reads_and_writes_views_where_they_are(module: wb.Module) -> None:
    """Rows with padding: the padding does not change, and an access after the last element is a fault."""
    x, out = torch.arange(40.0).reshape(4, 10), torch.full((4, 10), -1.0)
    module["scale"][1, (6, 4)](x[:, :6], out[:, :6], 10, 6, 2.0)
    assert torch.equal(out[:, :6], x[:, :6] * 2)
    assert (out[:, 6:] == -1).all()
    with pytest.raises(
        AddressFault, match=r"'x' \(float32 tensor 4x6, strides 10, 1\), 144 bytes: element 36 of 36"
    ):
        module["scale"][1, (7, 4)](x[:, :6], out, 10, 7, 2.0)


def test_a_view_as_an_output_is_verified_with_its_strides(module: wb.Module) -> None:
    inputs = {"x": torch.arange(40.0).reshape(4, 10)[:, :6], "out": torch.zeros(4, 10)[:, :6]}
    result = wb.verify(
        module["scale"][1, (6, 4)],
        lambda x, by: x * by,
        inputs={**inputs, "stride": 10, "columns": 6, "by": 2.0},
        outputs=["out"],
    )
    assert result.passed, result


def test_a_lent_tensor_is_reached_until_the_loan_ends(module: wb.Module) -> None:
    x, out = torch.arange(64.0), torch.zeros(64)
    blob = torch.tensor([x.data_ptr()]).view(torch.uint8)
    with wb.lend(x) as loan:
        module["behind"][1, 64](blob, out)
        assert "float32 tensor 64: lent" in repr(loan)
    assert torch.equal(out, x)
    assert "no longer lent" in repr(loan)
    again = wb.lend(x[8:16], out)
    out.zero_()
    # A view represents its storage; a tensor that is also an argument is reached as a whole.
    module["behind"][1, 64](blob, out)
    assert torch.equal(out, x)
    again.end()
    again.end()
    with pytest.raises(AddressFault):
        module["behind"][1, 64](blob, out)


def test_a_fault_names_the_tensor_at_its_address(module: wb.Module) -> None:
    # Large enough that malloc maps it separately, so that nothing else is near.
    x, out = torch.zeros(1 << 22), torch.zeros(64)
    blob = torch.tensor([x[1 << 21 :].data_ptr()]).view(torch.uint8)
    pattern = re.escape(
        "; a float32 tensor 4194304 of this process lies there: if the kernel has its address"
    )
    with pytest.raises(AddressFault, match=f"{pattern}.*wb.lend"):
        module["behind"][1, 64](blob, out)


def test_what_cannot_be_lent() -> None:
    with pytest.raises(ArgumentError, match="tensor 1 is a list"):
        wb.lend(torch.zeros(1), [1.0])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="tensor 0 is on meta; expected one on cpu"):
        wb.lend(torch.zeros(1, device="meta"))
