"""wb.sanitize and %%hipkittens --sanitize: findings on the lines of the cell, faults among them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from IPython.utils.capture import capture_output

import workbench as wb
from workbench.errors import AddressFault, SanitizerError, ShapeError
from workbench.targets import TILE_TARGETS

RACE = """#include <hip/hip_runtime.h>
__global__ void flip(const float *x, float *out) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  SYNC;
  out[threadIdx.x] = s[threadIdx.x ^ 64];
}
"""
NO_BARRIER = '__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront")'
READ_LINE = 6


def run(shell: Any, line: str, cell: str) -> dict[str, Any]:
    with capture_output() as out:
        shell.run_cell_magic("hipkittens", line, cell)
    data: dict[str, Any] = out.outputs[0].data
    return data


def test_a_cell_shows_squiggles_where_the_race_is(shell: Any) -> None:
    wrong = RACE.replace("SYNC", NO_BARRIER)
    run(shell, "raced", wrong)
    shell.user_ns["raced"]["flip"][1, 128](torch.arange(128.0), torch.zeros(128))
    data = run(shell, "raced --sanitize", wrong)
    payload = data["application/vnd.hipkittens.cell+json"]
    assert payload["run"]["kind"] == "sanitize"
    marks = [d for d in payload["diagnostics"] if d["source"] == "sanitizer"]
    # The cell's first line is the magic itself.
    [finding] = [d for d in marks if d["option"] == "race" and d["line"] == READ_LINE + 1]
    assert finding["severity"] == "error"
    assert "race in shared memory" in finding["message"]
    assert "race" in data["text/html"]
    right = RACE.replace("SYNC", "__syncthreads()")
    clean = run(shell, "raced --sanitize", right)
    assert clean["application/vnd.hipkittens.cell+json"]["diagnostics"] == []


def test_a_shape_without_a_value_is_refused() -> None:
    with pytest.raises(ShapeError, match="gemm/bf16: m is None; supported is 1 to"):
        wb.sanitize("gemm/bf16", shape={"m": None})


def test_result_says_who_and_where() -> None:
    module = wb.compile(RACE.replace("SYNC", NO_BARRIER), arch="gfx950", name="race.hip")
    result = wb.sanitize(module["flip"][1, 128], torch.arange(128.0), torch.zeros(128))
    assert not result
    [finding] = [f for f in result.findings if f.category == "race" and f.line == READ_LINE]
    # Wave 0 runs first, so wave 1 reads data that another wave wrote.
    assert (finding.file, finding.wave, finding.lane) == ("race.hip", 1, 0)
    assert finding.count == 64
    # Both sides of the race, and the memory it leaves uninitialised, have one cause.
    [cause] = result.causes
    assert {f.line for f in cause.findings} == {READ_LINE - 2, READ_LINE}
    with pytest.raises(
        SanitizerError, match=r": 1 finding\n  race\.hip:4: race in shared memory .*\(line 6\)"
    ):
        result.check()


def test_a_fault_is_a_finding_and_the_result_is_repeatable() -> None:
    source = "#include <hip/hip_runtime.h>\n__global__ void k(float *x) { x[threadIdx.x] = 1.0f; }"
    module = wb.compile(source, arch="gfx950", name="fault.hip")
    first, second = (wb.sanitize(module["k"][1, 64], torch.zeros(63)) for _ in range(2))
    assert not first.stopped
    [finding] = first.findings
    assert finding.category == "out of bounds"
    assert (finding.line, finding.wave, finding.lane) == (2, 0, 63)
    assert "1 byte past the end of argument 'x' (float32 tensor 63), 252 bytes: element 63 of 63" in (
        finding.message
    )
    assert [f.pc for f in first.findings] == [f.pc for f in second.findings]


BEYOND = """#include <hip/hip_runtime.h>
__global__ void k(float *x, float *y, int n) {
    __shared__ float s[64];
    s[threadIdx.x] = 0.0f;
    __syncthreads();
    float *to = threadIdx.x & 1 ? s + threadIdx.x : x + threadIdx.x;
    unsafeAtomicAdd(to, 1.0f);
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x] + x[threadIdx.x + n];
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_a_launch_continues_without_the_lanes_out_of_bounds(arch: str) -> None:
    module = wb.compile(BEYOND, arch=arch, name="beyond.hip")
    x, y = torch.zeros(60), torch.full((64,), -1.0)
    result = wb.sanitize(module["k"][1, 64], x, y, 0, device=f"emulated:{arch}")
    assert [(f.category, f.line, f.lane, f.count) for f in result.findings] == [
        ("out of bounds", 7, 60, 2),
        ("out of bounds", 9, 60, 4),
    ], str(result)
    # The other lanes did their work once, and a load out of bounds gives 0.
    assert torch.equal(x, torch.arange(1, 61) % 2.0)
    assert torch.equal(y[:60], torch.ones(60))
    assert y[60:].tolist() == [0, 1, 0, 1]


STRUCT = """#include <hip/hip_runtime.h>
struct globals { const float *given; float *made; int n; };
__global__ void k(const globals g) {
    int i = blockIdx.x * 64 + threadIdx.x;
    g.made[threadIdx.x] = g.given[i + g.n];
}
"""


def test_messages_name_the_argument() -> None:
    module = wb.compile(STRUCT, arch="gfx950", name="named.hip")
    tensor = torch.arange(128.0).reshape(16, 8)
    raced = wb.sanitize(module["k"][2, 64], given=tensor, made=torch.zeros(64), n=0)
    [race] = raced.findings
    place = "(argument 'made' (float32 tensor 64), 256 bytes, byte 0, element 0)"
    assert f"race in global memory {place}:" in race.message
    with pytest.raises(
        AddressFault, match=r"past the end of argument 'given' \(float32 tensor 16x8\), 512 bytes"
    ):
        module["k"][1, 64](given=tensor, made=torch.zeros(64), n=100)
    both = torch.zeros(1, 64)
    with pytest.raises(
        AddressFault, match=r"arguments 'given' \(float32 tensor 64\) and 'made' \(float32 tensor 1x64\)"
    ):
        module["k"][1, 64](given=both[0], made=both, n=1)
    # Arguments' names last no longer than the launch.
    address = tensor.data_ptr() + 512 - 4 * 64
    with pytest.raises(AddressFault) as raised:
        module["k"][1, 64](given=address, made=torch.zeros(64), n=10)
    assert "'given'" not in str(raised.value)


def test_every_launch_of_a_block_is_watched() -> None:
    wrong = wb.compile(RACE.replace("SYNC", NO_BARRIER), arch="gfx950", name="race.hip")["flip"][1, 128]
    right = wb.compile(RACE.replace("SYNC", "__syncthreads()"), arch="gfx942", name="right.hip")["flip"][
        1, 128
    ]
    x, out = torch.arange(128.0), torch.zeros(128)
    with wb.sanitizing() as watch:
        right(x, out)
        assert watch.passed
        wrong(x, out)
        with pytest.raises(AddressFault):
            right(x, torch.zeros(127))
    wrong(x, out)
    assert watch.launches == 3
    assert [result.device for result in watch.results] == ["emulated:gfx950", "emulated:gfx942"]
    assert ("race", "race.hip") in {(f.category, f.file) for f in watch.results[0].findings}
    assert not watch.results[1].stopped
    assert watch.findings[-1].category == "out of bounds"
    with pytest.raises(SanitizerError, match="sanitize 3 launches: findings in 2"):
        watch.check()
    right(x, out)
    assert torch.equal(out, x.roll(64))
