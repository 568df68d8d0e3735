"""Faults that people reported in public kernels, reduced, and the same kernels fixed. Each has one cause, so
it is one finding, however often the compiler unrolled the code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.check.sanitizer import SanitizeResult  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

HEAD = """#include <hip/hip_runtime.h>
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef float f4 __attribute__((ext_vector_type(4)));
#define LDS __attribute__((address_space(3)))
"""


@dataclass(frozen=True)
class Report:
    """A kernel `k` and what is right of it.

    Attributes:
        source: the report.
        body: of the kernel, with its parameters.
        category: of the one finding; "" where there is none.
        args: makes the arguments.
        grid, block: of the launch.
        words: in the finding's message.
        instructions: that the cause is found at, at least.
        arch: targets that have the instructions.
    """

    source: str
    body: str
    category: str
    args: Callable[[], list[Any]]
    grid: int = 1
    block: int = 256
    words: str = ""
    instructions: int = 1
    arch: tuple[str, ...] = tuple(TILE_TARGETS)


def _halves() -> list[Any]:
    return [torch.ones(64 * 8, dtype=torch.float16), torch.zeros(64 * 4)]


def _floats(count: int, results: int = 256) -> Callable[[], list[Any]]:
    return lambda: [torch.linspace(-1, 1, count), torch.zeros(results)]


def _mfma(output: str, rest: str, use: str) -> str:
    return (
        "const h4 *a, f4 *o) { h4 x = a[threadIdx.x]; f4 d;\n"
        f'asm volatile("v_mfma_f32_16x16x16_f16 %0, %1, %1, 0{rest}" : "{output}"(d) : "v"(x));\n'
        f"o[threadIdx.x] = {use}; }}"
    )


def _two_kinds(nops: str) -> str:
    return (
        "const h8 *a, f4 *o) { h8 x = a[threadIdx.x]; h4 y = x.lo; f4 d;\n"
        'asm volatile("v_mfma_f32_16x16x32_f16 %0, %1, %1, 0\\n'
        f"{nops}v_mfma_f32_16x16x16_f16 %0, %2, %2, %0\\n"
        's_nop 7\\n s_nop 7" : "=&v"(d) : "v"(x), "v"(y));\n o[threadIdx.x] = d; }'
    )


def _pingpong(first: str, second: str) -> str:
    return f"""const float *x, float *o) {{
    __shared__ float s[512]; float sum = 0; const int t = threadIdx.x;
    s[t] = x[t]; __syncthreads();
    for (int i = 1; i < 16; i++) {{
        float v; unsigned at = (unsigned)(unsigned long long)(LDS float *)&s[(t + 64) & 511];
        asm volatile("ds_read_b32 %0, %1" : "=v"(v) : "v"(at) : "memory");
        asm volatile("{first}" : "+v"(v) :: "memory");
        asm volatile("{second}" : "+v"(v) :: "memory");
        sum += v;
        s[t] = x[t + 512 * i];
        __syncthreads();
    }}
    o[t] = sum; }}"""


def _loop(barrier: str) -> str:
    return f"""const float *x, float *o) {{
    __shared__ float s[256]; float sum = 0; const int t = threadIdx.x;
    for (int i = 0; i < 8; i++) {{
        s[t] = x[t + 256 * i];
        __syncthreads();
        if (t < 128) sum += s[t + 128]; else sum += s[t - 128];
        {barrier}
    }}
    o[t] = sum; }}"""


def _transpose(barrier: str) -> str:
    return f"""const float *x, float *o) {{
    __shared__ float s[32][33]; const int i = threadIdx.x % 32, j = threadIdx.x / 32;
    for (int r = 0; r < 32; r += 8) s[j + r][i] = x[(j + r) * 32 + i];
    {barrier};
    for (int r = 0; r < 32; r += 8) o[(j + r) * 32 + i] = s[i][j + r]; }}"""


def _last_block(fence: str) -> str:
    return f"""const float *x, float *part, unsigned *count, float *o) {{
    __shared__ bool last; float v = x[blockIdx.x * 64 + threadIdx.x];
    for (int d = 32; d; d /= 2) v += __shfl_down(v, d);
    if (threadIdx.x == 0) {{
        part[blockIdx.x] = v; {fence}; last = atomicAdd(count, 1) == gridDim.x - 1; {fence};
    }}
    __syncthreads();
    if (last && threadIdx.x == 0) {{ float s = 0; for (int i = 0; i < 16; i++) s += part[i]; *o = s; }} }}"""


def _parts() -> list[Any]:
    return [torch.ones(1024), torch.zeros(16), torch.zeros(1, dtype=torch.int32), torch.zeros(1)]


NO_BARRIER = '__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront")'
TRITON_3168 = "facebookexperimental/triton #3168"
REPORTS: dict[str, Report] = {
    "mfma_read": Report(TRITON_3168, _mfma("=v", "", "d * 2.0f"), "hazard", _halves, block=64),
    "mfma_waited": Report(
        TRITON_3168, _mfma("=&v", "\\n s_nop 7\\n s_nop 7", "d * 2.0f"), "", _halves, block=64
    ),
    "mfma_agpr": Report(TRITON_3168, _mfma("=a", "", "d"), "hazard", _halves, block=64, words="register a"),
    "mfma_two_kinds": Report(
        "llvm/llvm-project #218363: another opcode needs the wait states of a partial overlap",
        _two_kinds(""), "hazard", _halves, block=64, words="needs 6 wait states", arch=("gfx950",),
    ),
    "mfma_two_kinds_apart": Report(
        "the same, far enough apart", _two_kinds("s_nop 5\\n"), "", _halves, block=64, arch=("gfx950",)
    ),
    "wait_after_barrier": Report(
        "triton-lang/triton #11696: the barrier comes before the wait for the reads",
        _pingpong("s_barrier", "s_waitcnt lgkmcnt(0)"), "missing wait", _floats(512 * 16, 512), block=512,
        words="before its read", instructions=15,
    ),
    "wait_before_barrier": Report(
        "the same the other way round",
        _pingpong("s_waitcnt lgkmcnt(0)", "s_barrier"), "", _floats(512 * 16, 512), block=512,
    ),
    "bare_wait_and_barrier": Report(
        "ROCm/rocm-libraries #10893, #11454: right where the compiler leaves the store before it",
        """const float *x, float *o) {
        __shared__ float s[256]; s[threadIdx.x] = x[threadIdx.x];
        asm volatile("s_waitcnt lgkmcnt(0)\\n s_barrier" ::: "memory");
        o[threadIdx.x] = s[255 - threadIdx.x]; }""",
        "", _floats(256),
    ),
    "loop_without_last_barrier": Report(
        "tile-ai/tilelang #2613: the next turn overwrites what the other half still reads",
        _loop(""), "race", _floats(2048), instructions=8,
    ),
    "loop_with_both_barriers": Report("the same mended", _loop("__syncthreads();"), "", _floats(2048)),
    "transpose_without_barrier": Report(
        "a transpose through shared memory", _transpose(NO_BARRIER), "race", _floats(1024, 1024),
        instructions=4,
    ),
    "transpose": Report("the same mended", _transpose("__syncthreads()"), "", _floats(1024, 1024)),
    "tail_of_48": Report(
        "tile-ai/tilelang #2556: one wave needs no barrier, its LDS accesses are in order",
        """const float *x, float *o) { __shared__ float s[64]; const int t = threadIdx.x;
        if (t < 48) { s[t] = x[t]; asm volatile("" ::: "memory"); o[t] = s[47 - t]; } }""",
        "", _floats(64), block=64,
    ),
    "reduction_of_32_lanes": Report(
        "ggml-org/llama.cpp #3630: two waves without a barrier",
        """const float *x, float *o) {
        __shared__ float s[256]; const int t = threadIdx.x;
        s[t] = x[t]; __syncthreads();
        if (t < 128) s[t] += s[t + 128];
        if (t < 64) s[t] += s[t + 64];
        __syncthreads();
        if (t < 32) { volatile float *v = s; v[t] += v[t + 32]; v[t] += v[t + 16]; v[t] += v[t + 8];
                      v[t] += v[t + 4]; v[t] += v[t + 2]; v[t] += v[t + 1]; }
        if (t == 0) *o = s[0]; }""",
        "race", _floats(256, 1),
    ),
    "last_block_without_fence": Report(
        "CUDA's threadFenceReduction without the fence", _last_block(""), "race", _parts, grid=16, block=64,
        words="work-groups of a launch", instructions=4,
    ),
    "last_block": Report("the same mended", _last_block("__threadfence()"), "", _parts, grid=16, block=64),
    "barrier_in_a_branch": Report(
        "__syncthreads() in a branch that a whole wave skips",
        """const float *x, float *o) { __shared__ float s[256]; const int t = threadIdx.x; s[t] = x[t];
        if (t < 192) { __syncthreads(); o[t] = s[191 - t]; } else o[t] = 0; }""",
        "missed barrier", _floats(256),
    ),
    "early_return": Report(
        "threads of a tail block return before __syncthreads()",
        """const float *x, float *o) { __shared__ float s[256]; const int t = threadIdx.x;
        if (t >= 130) return;
        s[t] = x[t]; __syncthreads(); o[t] = s[129 - t]; }""",
        "missed barrier", _floats(256),
    ),
    "bare_barrier_in_a_branch": Report(
        "s_barrier itself goes on without waves that have ended, by the guides",
        """const float *x, float *o) { __shared__ float s[256]; const int t = threadIdx.x; s[t] = x[t];
        if (t < 192) { asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory"); __builtin_amdgcn_s_barrier();
        o[t] = x[191 - t]; } else o[t] = 0; }""",
        "", _floats(256),
    ),
    "unaligned_rows": Report(
        "float4 at a row of five floats: the compiler reads dwords, which may lie anywhere",
        """const float *x, float4 *o) { __shared__ float s[64 * 5 + 4]; const int t = threadIdx.x;
        for (int i = t; i < 64 * 5 + 4; i += 64) s[i] = x[i];
        __syncthreads(); o[t] = *(const float4 *)(s + 5 * t); }""",
        "", _floats(324), block=64,
    ),
    "tail_never_written": Report(
        "rows of a tile beyond n are summed",
        """const float *x, float *o) { __shared__ float s[256]; const int t = threadIdx.x;
        if (t < 200) s[t] = x[t];
        __syncthreads();
        for (int d = 128; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
        if (t == 0) *o = s[0]; }""",
        "uninitialised", _floats(200, 1), words="shared memory",
    ),
}  # fmt: skip


@cache
def compiled(arch: str) -> wb.Module:
    """All kernels of a target in one compilation."""
    parts = [
        f"namespace {name} {{\n__global__ void k({report.body}\n}}\n"
        for name, report in REPORTS.items()
        if arch in report.arch
    ]
    return wb.compile(HEAD + "".join(parts), arch=arch, name="reports.hip")


def run(name: str, arch: str) -> SanitizeResult:
    report = REPORTS[name]
    launch = compiled(arch)[f"{name}::k"][report.grid, report.block]
    return wb.sanitize(launch, *report.args(), device=f"emulated:{arch}")


@pytest.mark.parametrize(("name", "arch"), [(name, arch) for name in REPORTS for arch in REPORTS[name].arch])
def test_report(name: str, arch: str) -> None:
    report, result = REPORTS[name], run(name, arch)
    assert [cause.first.category for cause in result.causes] == [report.category] * bool(report.category), (
        result
    )
    for cause in result.causes:
        assert report.words in cause.first.message
        assert len(cause.findings) >= report.instructions


def test_a_cause_counts_and_keeps_its_instructions() -> None:
    result = run("loop_without_last_barrier", TILE_TARGETS[0])
    [cause] = result.causes
    assert cause.findings == result.findings
    assert cause.count == sum(finding.count for finding in result.findings)
    others = len(cause.findings) - 1
    assert f"; and {others} more instructions between these lines, {cause.count:,} times in all" in str(
        result
    )
    assert ": 1 finding\n" in str(result)
    # Each side of it is marked.
    assert {finding.line for finding in cause.by_line()} == {finding.line for finding in result.findings}
    html = result._repr_html_()
    assert html.count("race in shared memory") == 1
    assert f"and {others} more instructions" in html
