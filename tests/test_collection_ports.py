"""Results of `collection_ports` on a source of the same form as the collection's own."""

from __future__ import annotations

from pathlib import Path

import collection_ports
import needs

pytestmark = needs.python_headers

SOFTMAX = r"""
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <pybind11/pybind11.h>
constexpr int THREADS = 256;
/* Every thread has the result, of a number each. */
template <typename F> __device__ float reduced(float x, float *shared, F &&op) {
    for (int lane = 32; lane; lane /= 2) x = op(x, __shfl_xor(x, lane, 64));
    if (threadIdx.x % 64 == 0) shared[threadIdx.x / 64] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < THREADS / 64; i++) x = op(x, shared[i]);
        shared[0] = x;
    }
    __syncthreads();
    x = shared[0];
    BARRIER
    return x;
}
__global__ void softmax(const __hip_bfloat16 *in, __hip_bfloat16 *out, int n) {
    __shared__ float shared[THREADS / 64];
    in += blockIdx.x * n, out += blockIdx.x * n;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) most = fmaxf(most, __bfloat162float(in[i]));
    most = reduced(most, shared, [](float a, float b) { return fmaxf(a, b); });
    for (int i = threadIdx.x; i < n; i += THREADS) sum += expf(__bfloat162float(in[i]) - most);
    sum = reduced(sum, shared, [](float a, float b) { return a + b; });
    for (int i = threadIdx.x; i < n; i += THREADS)
        out[i] = __float2bfloat16(expf(__bfloat162float(in[i]) - most) / sum);
}
template <typename T> T *data(pybind11::object x) { return (T *)x.attr("data_ptr")().cast<size_t>(); }
void softmax_fwd(pybind11::object in, pybind11::object out) {
    auto shape = in.attr("shape").cast<pybind11::tuple>();
    const int rows = shape[0].cast<int>(), n = shape[1].cast<int>();
    softmax<<<rows, THREADS>>>(data<__hip_bfloat16>(in), data<__hip_bfloat16>(out), n);
}
PYBIND11_MODULE(softmax_tk, m) { m.def("softmax_fwd", &softmax_fwd); }
"""


def attempt(folder: Path, source: str) -> dict[str, object]:
    path = folder / "kernel.cpp"
    path.write_text(source)
    return collection_ports.attempt("softmax_tk", path)


def test_a_barrier_that_is_missing_between_two_reductions(tmp_path: Path) -> None:
    """As in the collection's softmax: the sanitizer finds a race, and none with the barrier."""
    without = attempt(tmp_path, SOFTMAX.replace("BARRIER", ""))
    assert without["cases"]["race"] == 1
    assert "race in shared memory" in str(without["race"])
    assert "race in 1" in collection_ports.cell_text(without)
    assert attempt(tmp_path, SOFTMAX.replace("BARRIER", "__syncthreads();")) == {"cases": {"right": 1}}


def test_results_for_failed_builds_and_other_arguments(tmp_path: Path) -> None:
    outcome = attempt(tmp_path, SOFTMAX.replace("BARRIER", "no_such_name();"))
    assert "no_such_name" in str(outcome["failure"])
    assert collection_ports.cell_text(outcome) == "does not build"
    renamed = SOFTMAX.replace("BARRIER", "").replace('m.def("softmax_fwd"', 'm.def("other"')
    assert collection_ports.cell_text(attempt(tmp_path, renamed)) == "1 for other arguments"
    beyond = SOFTMAX.replace("BARRIER", "").replace(
        "in += blockIdx.x * n", "in += blockIdx.x * n + (1 << 20)"
    )
    assert "1 leave their tensors" in collection_ports.cell_text(attempt(tmp_path, beyond))
