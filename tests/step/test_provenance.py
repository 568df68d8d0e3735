"""Provenance of numbers in kernels with known data flow."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.errors import UsageError
from workbench.targets import TILE_TARGETS

REVERSED = """#include <hip/hip_runtime.h>
__global__ void turned(const float *x, const float *y, float *out) {
    __shared__ float kept[256];
    kept[threadIdx.x] = x[threadIdx.x] * y[0];
    __syncthreads();
    out[threadIdx.x] = threadIdx.x < 128 ? kept[255 - threadIdx.x] : 2.0f;
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize(
    ("name", "size"), [("gemm/bf16", (64, 64, 128)), ("gemm/bf16:ping_pong", (256, 256, 128))]
)
def test_a_product_is_of_a_row_and_a_column(arch: str, name: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    at = (m - 5, n // 2 + 4)
    provenance = wb.provenance(name, shape={"m": m, "n": n, "k": k}, of="c", at=at, device=f"emulated:{arch}")
    assert set(provenance.elements) == {"a", "b"}
    rows, cols = (set((provenance.elements[x] // k).tolist()) for x in "ab")
    assert rows == {at[0]}
    # bf16 values of two columns share a dword, and one instruction makes both.
    assert at[1] in cols <= {at[1] & ~1, at[1] | 1}
    for x in "ab":
        assert set((provenance.elements[x] % k).tolist()) == set(range(k))
    assert any("mfma" in cause.text for cause in provenance.causes)
    assert provenance.stepper.last[0].opcode.startswith("buffer_store")
    assert f"from a[{at[0]}, 0:{k}]" in str(provenance)
    assert f"a[{at[0]}, 0:{k}]" in provenance._repr_html_()


def test_through_shared_memory() -> None:
    x, y, out = torch.randn(256), torch.randn(1), torch.zeros(256)
    kernel = wb.compile(REVERSED, arch="gfx950", name="turned.hip")["turned"]
    for at in (3, 100):
        provenance = wb.provenance(kernel[1, 256], x, y, out, of=out, at=at)
        assert provenance.of == "out"
        assert provenance.value == pytest.approx(float(x[255 - at] * y[0]))
        assert provenance.elements["x"].tolist() == [255 - at]
        assert (provenance.stepper.wave, provenance.lane) == divmod(at, 64)
        wave = (255 - at) // 64
        (write,) = [cause for cause in provenance.causes if cause.text.startswith("ds_write")]
        assert (write.wave, write.line) == (wave, 4)
    # A constant has no sources.
    provenance = wb.provenance(kernel[1, 256], x, y, out, of="out", at=200)
    assert provenance.value == 2
    assert "x" not in provenance.elements


def test_a_row_is_of_its_whole_row() -> None:
    provenance = wb.provenance(
        "normalization/rmsnorm", shape={"rows": 4, "cols": 256}, of="out", at=(2, 7), device="emulated:gfx950"
    )
    assert {(n // 256, n % 256) for n in provenance.elements["x"].tolist()} >= {(2, c) for c in range(256)}
    assert 7 in provenance.elements["weight"].tolist()


def test_wrong_use_is_an_error() -> None:
    x, y, out = torch.randn(256), torch.randn(1), torch.zeros(256)
    launch = wb.compile(REVERSED, arch="gfx950", name="turned.hip")["turned"][1, 256]
    with pytest.raises(UsageError, match="of='z': the launch has x, y, out"):
        wb.provenance(launch, x, y, out, of="z", at=0)
    with pytest.raises(UsageError, match=r"out has shape \[256\]; at=\[256\] is not an element"):
        wb.provenance(launch, x, y, out, of="out", at=256)
    with pytest.raises(UsageError, match=r"turned does not write x\[3\]"):
        wb.provenance(launch, x, y, out, of="x", at=3)
    with pytest.raises(UsageError, match="of is a int; expected a tensor"):
        wb.provenance(launch, x, y, out, of=5, at=3)  # type: ignore[arg-type]


def test_a_finding_is_stepped_to() -> None:
    racing = REVERSED.replace("    __syncthreads();\n", "")
    x, y, out = torch.randn(256), torch.randn(1), torch.zeros(256)
    launch = wb.compile(racing, arch="gfx950", name="turned.hip")["turned"][1, 256]
    finding = wb.sanitize(launch, x, y, out).findings[0]
    s = wb.step(launch, x, y, out, at=finding)
    assert (s.address, s.wave, s.line) == (finding.pc, finding.wave, finding.line)
    with pytest.raises(UsageError, match="leave debug=True out"):
        wb.step(launch, x, y, out, at=finding, debug=True)
    with pytest.raises(UsageError, match="no instruction at 0x3"):
        s.to_address(3)
