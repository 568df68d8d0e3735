"""Shared memory beyond a kernel's request: a finding, and the launch continues as on hardware."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.check.sanitizer import SanitizeResult  # noqa: E402
from workbench.errors import SharedMemoryOverrun  # noqa: E402
from workbench.targets import TILE_TARGETS, target  # noqa: E402

SOURCE = """#include <hip/hip_runtime.h>
#define LDS __attribute__((address_space(3)))
__global__ void spare(float *out, int by) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float rest = s[(int)threadIdx.x + by]; // LINE 7
    out[threadIdx.x] = threadIdx.x < 32 ? rest : 0;
}
__global__ void used(float *out, int by) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[(int)threadIdx.x + by]; // LINE 14
}
__global__ void written(float *out, int by) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    s[(int)threadIdx.x + by] = -1; // LINE 20
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void added(float *out, int by) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = atomicAdd(&s[(int)threadIdx.x + by], 1); // LINE 28
}
__global__ void loaded(const float *out, int by) {
    __shared__ float s[64];
    unsigned base = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(LDS float *)&s[by]);
    asm volatile("s_mov_b32 m0, %2\\ns_nop 0\\nglobal_load_lds_dword %0, %1\\ns_waitcnt vmcnt(0)" // LINE 33
                 : : "v"(threadIdx.x * 4), "s"(out), "s"(base) : "memory");
}
"""


@cache
def compiled(arch: str) -> wb.Module:
    return wb.compile(SOURCE, arch=arch, name="beyond.hip")


def run(arch: str, kernel: str, by: int) -> tuple[SanitizeResult, list[float]]:
    out = torch.full((64,), -9.0)
    return wb.sanitize(compiled(arch)[kernel][1, 64], out, by, device=f"emulated:{arch}"), out.tolist()


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_reads_that_are_not_used(arch: str) -> None:
    result, out = run(arch, "spare", 32)
    assert out == [*map(float, range(32, 64)), *32 * [0.0]]
    assert not result.stopped
    [finding] = result.findings
    assert (finding.category, finding.line, finding.lane, finding.count) == ("out of bounds", 7, 32, 32)
    assert finding.address == 256
    granule = f"{target(arch).lds_granule:,}"
    assert (
        f"up to 4 bytes past the end of the kernel's 256 bytes; hardware rounds them up to {granule}, so"
        in (finding.message)
    )


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_memory_after_it_has_no_value(arch: str) -> None:
    result, _ = run(arch, "used", 32)
    assert [(f.category, f.line) for f in result.findings] == [("out of bounds", 14), ("uninitialised", 14)]


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("by", [1 << 16, -64])
def test_where_no_memory_is(arch: str, by: int) -> None:
    """Reads give 0, which is a value, and writes are dropped."""
    result, out = run(arch, "used", by)
    assert [f.category for f in result.findings] == ["out of bounds"]
    assert "so that it gets 0" in result.findings[0].message
    assert not any(out)
    result, out = run(arch, "written", by)
    assert [(f.category, f.line, f.count) for f in result.findings] == [("out of bounds", 20, 64)]
    assert "so that the write is dropped" in result.findings[0].message
    assert out == list(map(float, range(64)))
    result, out = run(arch, "added", by)
    assert [(f.category, f.line) for f in result.findings] == [("out of bounds", 28)]
    assert not any(out)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_writes_behind_the_end(arch: str) -> None:
    result, out = run(arch, "written", 32)
    assert out == [*map(float, range(32)), *32 * [-1.0]]
    assert [(f.category, f.line, f.count) for f in result.findings] == [("out of bounds", 20, 32)]
    # A load to LDS may mask lanes by such addresses on purpose.
    for by in (32, target(arch).lds_granule // 4):
        result, _ = run(arch, "loaded", by)
        assert result.passed, str(result)
        assert ["has no effect there" in note.message for note in result.notes] == [True]


def test_a_stop_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_SHARED_BOUNDS", "exact")
    result, _ = run(TILE_TARGETS[0], "spare", 32)
    assert [(f.category, f.line, f.count) for f in result.findings] == [("out of bounds", 7, 32)]
    assert "outside the work-group's 256 bytes" in result.findings[0].message


def test_a_plain_launch_warns_at_its_line() -> None:
    out = torch.zeros(64)
    with pytest.warns(SharedMemoryOverrun, match=r"beyond\.hip:7: lane 32 of wave 0") as caught:
        compiled(TILE_TARGETS[0])["spare"][1, 64](out, 32)
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
    assert out[:32].tolist() == list(map(float, range(32, 64)))
