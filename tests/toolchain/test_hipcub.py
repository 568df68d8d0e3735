"""The portable hipcub.hpp: its primitives against NumPy, on the emulated device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.errors import CompileError
from workbench.targets import TILE_TARGETS

SOURCE = """
#include <hipcub/hipcub.hpp>
constexpr int X = THREADS, N = 4;
struct running {
    int total;
    __device__ int operator()(int block) {
        const int before = total;
        total += block;
        return before;
    }
};
// Not commutative: the composition of x -> a x + b, as two 16-bit numbers that wrap.
struct compose {
    __device__ unsigned operator()(unsigned f, unsigned g) const {
        const unsigned a = f & 0xffff, b = f >> 16, c = g & 0xffff, d = g >> 16;
        return (a * c & 0xffff) | (c * b + d) << 16;
    }
};
__global__ void reduce(const int *x, const float *f, int *out, float *highest, int valid) {
    using Reduce = hipcub::BlockReduce<int, X>;
    __shared__ typename Reduce::TempStorage storage;
    int items[N];
    for (int i = 0; i < N; i++) items[i] = x[threadIdx.x * N + i];
    const int sum = Reduce(storage).Sum(items);
    __syncthreads();
    const int some = Reduce(storage).Sum(items[0], valid);
    __syncthreads();
    const unsigned composed = hipcub::BlockReduce<unsigned, X>().Reduce(unsigned(items[1]), compose());
    const float top = hipcub::BlockReduce<float, X>().Reduce(f[threadIdx.x], hipcub::Max());
    const int wave = hipcub::WarpReduce<int, 16>().Sum(items[0]);
    if (threadIdx.x == 0) out[0] = sum, out[1] = some, out[2] = composed, *highest = top;
    if (threadIdx.x % 16 == 0) out[3 + threadIdx.x / 16] = wave;
}
__global__ void scan(
    const int *x, int *inclusive, int *exclusive, int *prefixed, unsigned *composed, int *total) {
    using Scan = hipcub::BlockScan<int, X, hipcub::BLOCK_SCAN_WARP_SCANS>;
    using Load = hipcub::BlockLoad<int, X, N, hipcub::BLOCK_LOAD_TRANSPOSE>;
    using Store = hipcub::BlockStore<int, X, N, hipcub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } shared;
    int items[N], out[N], sum;
    Load(shared.load).Load(x, items);
    __syncthreads();
    Scan(shared.scan).InclusiveSum(items, out, sum);
    __syncthreads();
    Store(shared.store).Store(inclusive, out);
    __syncthreads();
    Scan(shared.scan).ExclusiveSum(items, out);
    __syncthreads();
    Store(shared.store).Store(exclusive, out);
    __syncthreads();
    running prefix{100};
    Scan(shared.scan).ExclusiveSum(items[0], out[0], prefix);
    __syncthreads();
    Scan(shared.scan).ExclusiveScan(items[0], out[1], 7, hipcub::Max(), sum);
    prefixed[threadIdx.x] = out[0];
    prefixed[X + threadIdx.x] = out[1];
    hipcub::BlockScan<unsigned, X>().InclusiveScan(unsigned(items[1]), composed[threadIdx.x], compose());
    int up, before;
    hipcub::WarpScan<int, 32>().Scan(items[2], up, before, hipcub::Sum());
    prefixed[2 * X + threadIdx.x] = up;
    hipcub::WarpScan<int, 32>().ExclusiveSum(items[2], before);
    prefixed[3 * X + threadIdx.x] = before;
    if (threadIdx.x == 0) total[0] = prefix.total, total[1] = sum;
}
template <typename Key>
__device__ void sorted(Key *keys, int *values, Key *down) {
    using Sort = hipcub::BlockRadixSort<Key, X, N, int>;
    __shared__ typename Sort::TempStorage storage;
    Key mine[N], other[N];
    int with[N];
    hipcub::BlockLoad<Key, X, N>().Load(keys, mine);
    hipcub::BlockLoad<int, X, N, hipcub::BLOCK_LOAD_VECTORIZE>().Load(values, with);
    for (int i = 0; i < N; i++) other[i] = mine[i];
    Sort(storage).Sort(mine, with);
    hipcub::BlockStore<Key, X, N>().Store(keys, mine);
    hipcub::BlockStore<int, X, N>().Store(values, with);
    __syncthreads();
    hipcub::BlockRadixSort<Key, X, N>().SortDescendingBlockedToStriped(other);
    hipcub::BlockStore<Key, X, N, hipcub::BLOCK_STORE_STRIPED>().Store(down, other);
}
__global__ void sort_float(float *keys, int *values, float *down) { sorted(keys, values, down); }
__global__ void sort_short(short *keys, int *values, short *down) { sorted(keys, values, down); }
__global__ void sort_long(long long *keys, int *values, long long *down) { sorted(keys, values, down); }
__global__ void partly(const int *x, int *out, int valid) {
    int items[N];
    hipcub::BlockLoad<int, X, N>().Load(x, items, valid, -1);
    hipcub::BlockExchange<int, X, N>().BlockedToStriped(items);
    hipcub::BlockStore<int, X, N, hipcub::BLOCK_STORE_STRIPED>().Store(out, items, X * N - 5);
}
"""


@pytest.fixture(scope="module", params=[("gfx950", 256), ("gfx942", 160)], ids=lambda p: f"{p[0]}-{p[1]}")
def kernels(request: pytest.FixtureRequest) -> tuple[wb.Module, int]:
    arch, threads = request.param
    return wb.compile(SOURCE, arch=arch, define={"THREADS": threads}), threads


def run(kernel: Any, threads: int, *arguments: Any) -> None:
    """Runs one block; arrays become tensors that share their memory."""
    kernel[1, threads](*(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments))


def composed(values: np.ndarray) -> list[int]:
    """All compositions of the functions from the left."""
    a, b, compositions = 1, 0, []
    for value in values.tolist():
        c, d = value & 0xFFFF, value >> 16
        a, b = a * c & 0xFFFF, (c * b + d) & 0xFFFF
        compositions.append(a | b << 16)
    return compositions


def test_reductions(
    kernels: tuple[wb.Module, int], generator: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A read past the storage of a block, whose values may be 0, ends the launch.
    monkeypatch.setenv("HIPKITTENS_SHARED_BOUNDS", "exact")
    module, n = kernels
    x = generator.integers(0, 1 << 20, 4 * n, dtype=np.int32)
    f = generator.standard_normal(n).astype(np.float32)
    for valid in (1, 64, 100, n, 2 * n, 4 * n):
        out, highest = np.zeros(3 + n // 16, np.int32), np.zeros(1, np.float32)
        run(module["reduce"], n, x, f, out, highest, valid)
        assert out[0] == x.sum(dtype=np.int32)
        assert out[1] == x[::4][:valid].sum(dtype=np.int32)
        assert int(out[2]) & 0xFFFFFFFF == composed(x[1::4])[-1]
        assert out[3:].tolist() == x[::4].reshape(-1, 16).sum(1).tolist()
        assert highest[0] == f.max()


def test_scans(kernels: tuple[wb.Module, int], generator: np.random.Generator) -> None:
    module, n = kernels
    x = generator.integers(0, 1000, 4 * n, dtype=np.int32)
    inclusive, exclusive, prefixed = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    functions, total = np.zeros(n, np.uint32), np.zeros(2, np.int32)
    run(module["scan"], n, x, inclusive, exclusive, prefixed, functions, total)
    assert inclusive.tolist() == np.cumsum(x).tolist()
    assert exclusive.tolist() == (np.cumsum(x) - x).tolist()
    first, second, third = x[::4], x[1::4], x[2::4]
    assert prefixed[:n].tolist() == (100 + np.cumsum(first) - first).tolist()
    before = np.maximum.accumulate(np.concatenate([[7], first[:-1]]))
    assert prefixed[n : 2 * n].tolist() == before.tolist()
    waves = np.cumsum(third.reshape(-1, 32), axis=1)
    assert prefixed[2 * n : 3 * n].tolist() == waves.reshape(-1).tolist()
    assert prefixed[3 * n :].tolist() == (waves.reshape(-1) - third).tolist()
    assert functions.tolist() == composed(second)
    assert total.tolist() == [100 + first.sum(), first.max()]


@pytest.mark.parametrize("name", ["float", "short", "long"])
def test_sorting(kernels: tuple[wb.Module, int], generator: np.random.Generator, name: str) -> None:
    module, n = kernels
    if name == "float":
        keys = generator.standard_normal(4 * n).astype(np.float32).round(1)
    else:
        dtype, high = (np.int16, 50) if name == "short" else (np.int64, 1 << 60)
        keys = generator.integers(-high, high, 4 * n, dtype=dtype)
    order = np.argsort(keys + 0, kind="stable") if name != "float" else None
    values, ascending, down = np.arange(4 * n, dtype=np.int32), keys.copy(), np.zeros_like(keys)
    run(module[f"sort_{name}"], n, ascending, values, down)
    assert ascending.tolist() == sorted(keys.tolist())
    assert down.tolist() == sorted(keys.tolist(), reverse=True)
    assert keys[values].tolist() == ascending.tolist()
    if order is not None:
        assert values.tolist() == order.tolist()


def test_parts_of_a_block(kernels: tuple[wb.Module, int]) -> None:
    module, n = kernels
    x, out = np.arange(4 * n, dtype=np.int32), np.full(4 * n, -7, np.int32)
    run(module["partly"], n, x, out, 3 * n + 1)
    expected = np.where(x < 3 * n + 1, x, -1)
    expected[-5:] = -7
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("header", "call"),
    [
        ("hipcub/hipcub.hpp", "DeviceScan::ExclusiveSum(nullptr, bytes, x, x, 10)"),
        ("hipcub/device/device_radix_sort.hpp", "DeviceRadixSort::SortPairs(nullptr, bytes, x, x, x, x, 10)"),
        ("hipcub/device/device_reduce.hpp", "DeviceReduce::Sum((void *)x, bytes, x, x, 10, hipStream_t{})"),
    ],
)
def test_device_wide_algorithms_say_how_to_get_them(header: str, call: str) -> None:
    body = f"size_t bytes = 0; (void)hipcub::{call};"
    source = f"#include <{header}>\nvoid sum(int *x) {{ {body} }}\nint main() {{}}\n"
    with pytest.raises(CompileError, match=r"whole device are not installed .* \(libhipcub-dev"):
        wb.run_program(source)


def test_the_sanitizer_has_nothing_to_say(kernels: tuple[wb.Module, int]) -> None:
    module, n = kernels
    keys, down = torch.arange(4 * n, 0, -1, dtype=torch.int64), torch.zeros(4 * n, dtype=torch.int64)
    values = torch.zeros(4 * n, dtype=torch.int32)
    assert not wb.sanitize(module["sort_long"][1, n], keys, values, down).findings


def test_parts_are_included_by_their_own_names() -> None:
    parts = [
        "block/block_scan",
        "block/block_radix_sort",
        "block/block_load",
        "block/block_store",
        "block/block_reduce",
    ]
    parts += ["block/block_exchange", "warp/warp_scan", "warp/warp_reduce"]
    included = "".join(f"#include <hipcub/{part}.hpp>\n" for part in parts)
    assert wb.compile(included + SOURCE, define={"THREADS": 64}).kernels


def test_it_is_for_every_target() -> None:
    for arch in (*TILE_TARGETS, "gfx90a"):
        assert wb.compile(SOURCE, arch=arch, define={"THREADS": 64}).kernels
