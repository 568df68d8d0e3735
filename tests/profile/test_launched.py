"""Programs that time themselves by HIP events print the model's times."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.profile.launch import QUANTITIES
from workbench.targets import MI300X

N = 192
KERNEL = """#include <hip/hip_runtime.h>
__global__ void gemm(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][16], bs[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        as[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
"""
PROGRAM = f"""
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>
#include <cstdio>
#include <functional>
#include <vector>
{KERNEL}
#define CHECK(call) if (hipError_t e = (call)) {{ printf("%s: %s\\n", #call, hipGetErrorName(e)); return 1; }}
int main() {{
    const int n = {N}, bytes = 4 * n * n;
    std::vector<float> host(n * n);
    for (int i = 0; i < n * n; ++i) host[i] = i % 13 - 6.5f;
    float *a, *b, *c;
    CHECK(hipMalloc(&a, bytes)); CHECK(hipMalloc(&b, bytes)); CHECK(hipMalloc(&c, bytes));
    CHECK(hipMemcpy(b, host.data(), bytes, hipMemcpyHostToDevice));
    hipEvent_t start, stop;
    CHECK(hipEventCreate(&start)); CHECK(hipEventCreate(&stop));
    hipStream_t one, two;
    CHECK(hipStreamCreate(&one)); CHECK(hipStreamCreate(&two));
    dim3 grid(n / 16, n / 16), block(16, 16);
    auto timed = [&](const char *name, int count, hipStream_t stream, const std::function<void()> &work) {{
        (void)hipEventRecord(start, stream);
        work();
        (void)hipEventRecord(stop, stream);
        (void)hipEventSynchronize(stop);
        float ms = -1, back = -1;
        hipError_t error = hipEventElapsedTime(&ms, start, stop);
        if (error) printf("%s\\n", hipGetErrorName(error));
        (void)hipEventElapsedTime(&back, stop, start);
        printf("%s %.9g %.9g\\n", name, 1000 * ms / count, 1000 * back / count);
    }};
    auto launch = [&](hipStream_t stream) {{ gemm<<<grid, block, 0, stream>>>(a, b, c, n); }};
    timed("copy", 1, 0, [&] {{ (void)hipMemcpy(a, host.data(), bytes, hipMemcpyHostToDevice); }});
    timed("first", 1, 0, [&] {{ launch(0); }});
    timed("loop", 10, 0, [&] {{ for (int i = 0; i < 10; ++i) launch(0); }});
    timed("another stream", 1, one, [&] {{ launch(one); launch(two); }});
    timed("two streams", 1, 0, [&] {{ launch(one); launch(two); }});
    timed("nothing", 1, 0, [] {{}});
    hipGraph_t graph;
    hipGraphExec_t execution;
    CHECK(hipStreamBeginCapture(one, hipStreamCaptureModeGlobal));
    for (int i = 0; i < 3; ++i) launch(one);
    CHECK(hipStreamEndCapture(one, &graph));
    CHECK(hipGraphInstantiate(&execution, graph, nullptr, nullptr, 0));
    timed("graph", 1, one, [&] {{ (void)hipGraphLaunch(execution, one); }});
    hipExtLaunchKernelGGL(gemm, grid, block, 0, one, start, stop, 0, a, b, c, n);
    float ms = -1;
    CHECK(hipEventElapsedTime(&ms, start, stop));
    printf("kernel %.9g %.9g\\n", 1000 * ms, -1000 * ms);
    hipEvent_t fresh, untimed;
    CHECK(hipEventCreate(&fresh)); CHECK(hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
    CHECK(hipEventRecord(untimed, 0));
    printf("%s %s %s\\n", hipGetErrorName(hipEventElapsedTime(&ms, start, fresh)),
           hipGetErrorName(hipEventElapsedTime(&ms, start, untimed)),
           hipGetErrorName(hipEventElapsedTime(nullptr, start, stop)));
}}
"""
LABEL = "hipkittens: times of HIP events are modelled for MI300X"


def ran(**variables: str) -> wb.ProgramResult:
    return wb.run_program(PROGRAM, device="emulated:gfx942", env=variables).check()


@pytest.fixture(scope="module")
def printed() -> wb.ProgramResult:
    return ran(HIPKITTENS_THREADS="1")


def times(result: wb.ProgramResult) -> dict[str, float]:
    """Microseconds by timed span; reversed events give the negative time."""
    microseconds = {}
    for line in result.stdout.splitlines()[:-1]:
        name, forth, back = line.rsplit(" ", 2)
        assert float(back) == -float(forth)
        microseconds[name] = float(forth)
    return microseconds


def test_a_loop_of_launches_costs_modelled_time_plus_launch_overhead(printed: wb.ProgramResult) -> None:
    import torch

    kernel = wb.compile(KERNEL, arch="gfx942")["gemm"]
    a, b, c = torch.randn(N, N), torch.randn(N, N), torch.zeros(N, N)
    launch = kernel[(N // 16, N // 16), (16, 16)]
    cold, warm = (
        wb.time(launch, a, b, c, N, device="emulated:gfx942", warm=warm).median.value
        for warm in (False, True)
    )
    gap, graph = (QUANTITIES[name].seconds * 1e6 for name in ("events", "graph"))
    microseconds = times(printed)
    # A program's memory has other addresses than PyTorch's, for the caches' sets.
    assert microseconds["first"] == pytest.approx(cold + gap, rel=0.01)
    assert microseconds["loop"] == pytest.approx(warm + gap, rel=0.01)
    assert microseconds["graph"] == pytest.approx(3 * warm + graph, rel=0.01)
    assert microseconds["kernel"] == pytest.approx(warm, rel=0.01)


def test_streams_overlap_as_far_as_there_are_compute_units(printed: wb.ProgramResult) -> None:
    microseconds = times(printed)
    # 144 work-groups of the kernel leave half of 304 compute units free.
    assert microseconds["another stream"] == pytest.approx(microseconds["loop"])
    assert microseconds["two streams"] == pytest.approx(microseconds["loop"])
    assert microseconds["nothing"] == 0.0


def test_a_copy_takes_as_long_as_its_bytes_on_the_link(printed: wb.ProgramResult) -> None:
    seconds = 4 * N * N / MI300X.host_link_bytes_per_second
    assert times(printed)["copy"] == pytest.approx(1e6 * seconds + QUANTITIES["events"].seconds * 1e6)


def test_events_that_cannot_be_timed(printed: wb.ProgramResult) -> None:
    names = "hipErrorInvalidHandle hipErrorInvalidHandle hipErrorInvalidValue"
    assert printed.stdout.splitlines()[-1] == names


def test_the_same_times_again_with_any_number_of_threads(printed: wb.ProgramResult) -> None:
    assert ran(HIPKITTENS_THREADS="2").stdout == printed.stdout


def test_the_origin_of_times_is_printed_once(printed: wb.ProgramResult) -> None:
    assert printed.stderr.count("hipkittens:") == 1
    assert LABEL in printed.stderr
    assert "HIPKITTENS_EVENT_TIMES=host" in printed.stderr


def test_the_hosts_clock_on_request(printed: wb.ProgramResult) -> None:
    result = ran(HIPKITTENS_EVENT_TIMES="host")
    assert result.stderr == ""
    assert times(result)["loop"] != times(printed)["loop"]
    assert times(result)["nothing"] > 0
