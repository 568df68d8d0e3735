"""Triton's own kernels on the emulated devices, against PyTorch."""

from __future__ import annotations

import functools
import math
import operator
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

pytest.importorskip("triton")

import triton
from triton.tools.tensor_descriptor import TensorDescriptor

import workbench as wb
from tests.triton_driver import kernels
from workbench.errors import AddressFault, AssertionFault, EmptyGrid, ModelledTime, UsageError
from workbench.targets import TILE_TARGETS


@pytest.fixture(params=TILE_TARGETS)
def arch(request: pytest.FixtureRequest) -> Iterator[str]:
    with wb.triton(f"emulated:{request.param}"):
        yield request.param


def drawn(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(actual: torch.Tensor, expected: torch.Tensor, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    torch.testing.assert_close(actual.double(), expected.double(), rtol=rtol, atol=atol)


def test_masks(arch: str) -> None:
    x, y, out = drawn(1000), drawn(1000, seed=2), torch.full((1000,), torch.nan)
    kernels.add[(4,)](x, y, out, 1000, BLOCK=256)
    assert torch.equal(out, x + y)


def test_scalars_of_many_types(arch: str) -> None:
    x, out = drawn(64), torch.empty(64)
    kernels.scaled[(1,)](x, out, 0.1, 3, True, BLOCK=64)
    close(out, -(x * 0.1 + 3))


def test_rows_of_a_strided_view(arch: str) -> None:
    x, out = drawn(8, 300)[:, :200], torch.empty(8, 200)
    kernels.softmax[(8,)](x, out, x.stride(0), 200, BLOCK=256)
    close(out, x.softmax(-1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_ragged_matmul(arch: str, dtype: torch.dtype) -> None:
    a, b, c = (
        drawn(50, 70, dtype=dtype),
        drawn(70, 40, seed=2, dtype=dtype).t().contiguous().t(),
        torch.empty(50, 40),
    )
    kernels.matmul[(2, 2)](a, b, c, 50, 40, 70, *a.stride(), *b.stride(), BM=32, BN=32, BK=32)
    close(c, a.double() @ b.double(), atol=1e-4)


def test_autotuning_takes_modelled_time(arch: str) -> None:
    a, b = drawn(64, 64, dtype=torch.float16), drawn(64, 64, seed=2, dtype=torch.float16)
    c = torch.empty(64, 64)
    kernels.tuned_matmul.cache.clear()
    grid = lambda meta: (64 // meta["BM"], 64 // meta["BN"])  # noqa: E731
    kernels.tuned_matmul[grid](a, b, c, 64, 64, 64, *a.stride(), *b.stride())
    close(c, a.double() @ b.double(), atol=1e-4)
    times = kernels.tuned_matmul.configs_timings
    assert {config.num_warps for config in times} == {1, 4}
    for config, (milliseconds, *_) in times.items():
        constants = config.all_kwargs()
        launch = kernels.matmul[grid(constants)]
        modelled = wb.time(launch, a, b, c, 64, 64, 64, *a.stride(), *b.stride(), **constants).median
        assert str(modelled.origin) == "modelled"
        assert milliseconds == pytest.approx(modelled.value / 1e3)


def test_a_sum_behind_a_lock(arch: str) -> None:
    dy, x, dw, lock = drawn(20, 96), drawn(20, 96, seed=2), torch.zeros(96), torch.zeros(1, dtype=torch.int32)
    kernels.layer_norm_weights[(5,)](dy, x, dw, lock, 20, 96, ROWS=4, BLOCK=128)
    close(dw, (dy * x).sum(0))


def test_attention(arch: str) -> None:
    q, k, v = (drawn(2, 64, 64, seed=s, dtype=torch.float16) for s in (1, 2, 3))
    out = torch.empty_like(q)
    kernels.attention[(2, 2)](q, k, v, out, 0.125, N=64, D=64, BM=32, BN=32)
    expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double())
    close(out, expected, atol=2e-3, rtol=2e-3)


def test_addresses_in_a_tensor(arch: str) -> None:
    groups = [
        (drawn(32, 32, seed=s, dtype=torch.float16), drawn(32, 32, seed=s + 9, dtype=torch.float16))
        for s in range(3)
    ]
    products = [torch.empty(32, 32) for _ in groups]
    parts = [part for (a, b), c in zip(groups, products, strict=True) for part in (a, b, c)]
    addresses = torch.tensor([part.data_ptr() for part in parts], dtype=torch.int64)
    kernels.grouped_matmul[(3,)](addresses, SIZE=32)
    for (a, b), c in zip(groups, products, strict=True):
        close(c, a.double() @ b.double(), atol=1e-4)


def test_tensor_descriptors(arch: str) -> None:
    x, out = drawn(40, 64), torch.zeros(40, 64)
    described = [TensorDescriptor.from_tensor(tensor, [16, 32]) for tensor in (x, out)]
    kernels.described[(3, 2)](*described, ROWS=16, COLS=32)
    assert torch.equal(out, 2 * x)


def test_dot_scaled(arch: str) -> None:
    if arch == "gfx942" and triton.__version__.startswith("3.7."):
        pytest.skip("Triton 3.7 does not compile it for gfx942")
    a, b = (drawn(*shape, seed=s).to(torch.float8_e4m3fn) for s, shape in enumerate(((32, 64), (64, 32))))
    scales = [
        torch.randint(120, 134, (32, 2), dtype=torch.uint8, generator=torch.Generator().manual_seed(s))
        for s in (5, 6)
    ]
    out = torch.empty(32, 32)
    kernels.dot_scaled[(1,)](a, scales[0], b, scales[1], out, M=32, N=32, K=64)
    left, right = (2.0 ** (scale.double() - 127).repeat_interleave(32, 1) for scale in scales)
    close(out, (a.double() * left) @ (b.double() * right.t()), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32])
def test_atomics(arch: str, dtype: torch.dtype) -> None:
    x = torch.randint(-99, 99, (512,), generator=torch.Generator().manual_seed(1)).to(dtype)
    sums, least, most = (
        torch.zeros(1, dtype=dtype),
        torch.full((1,), 999, dtype=dtype),
        torch.full((1,), -999, dtype=dtype),
    )
    bits = torch.zeros(1, dtype=torch.int32)
    kernels.atomics[(4,)](x, sums, least, most, bits, BLOCK=128)
    assert [sums.item(), least.item(), most.item(), bits.item()] == [x.sum(), x.min(), x.max(), 15]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64])
def test_atomics_of_every_kind(arch: str, dtype: torch.dtype) -> None:
    x = torch.randint(1, 99, (128,), generator=torch.Generator().manual_seed(1)).to(torch.int32)
    added, ored, xored = torch.zeros(8, dtype=dtype), torch.zeros_like(x[:8]), torch.zeros_like(x[:8])
    anded = torch.full_like(x[:8], 127)
    kernels.more_atomics[(2,)](x, added, ored, anded, xored, BLOCK=64)
    columns = x.view(16, 8).t().tolist()
    # Sums of whole numbers below 2,048; bf16 has only those up to 256.
    close(added, x.view(16, 8).sum(0), rtol=0.1 if dtype is torch.bfloat16 else 0)
    assert ored.tolist() == [functools.reduce(operator.or_, column) for column in columns]
    assert anded.tolist() == [functools.reduce(operator.and_, column, 127) for column in columns]
    assert xored.tolist() == [functools.reduce(operator.xor, column) for column in columns]


def test_exchanges(arch: str) -> None:
    if triton.__version__.startswith("3.7."):
        pytest.skip("Triton 3.7 makes a buffer exchange that its LLVM does not have")
    x, swapped = torch.arange(1, 129, dtype=torch.int32), torch.arange(128, dtype=torch.int32)
    before = torch.zeros_like(x)
    kernels.exchanges[(2,)](x, swapped, before, BLOCK=64)
    assert before.tolist() == list(range(128))
    assert torch.equal(swapped, -x)


def test_sort_scan_and_gather(arch: str) -> None:
    x, index = drawn(128), torch.randperm(128, generator=torch.Generator().manual_seed(2)).to(torch.int32)
    out = torch.empty(128)
    kernels.ordered[(1,)](x, out, BLOCK=128)
    assert torch.equal(out, x.sort().values)
    kernels.running[(1,)](x, out, BLOCK=128)
    close(out, x.cumsum(0))
    kernels.gathered[(1,)](x, index, out, BLOCK=128)
    assert torch.equal(out, x[index])


def test_random_numbers_are_the_interpreter_s(arch: str) -> None:
    out = torch.empty(512)
    kernels.random[(2,)](out, 7, BLOCK=256)
    assert 0 <= out.min() < out.max() < 1
    assert abs(out.mean() - 0.5) < 0.05
    assert out.unique().numel() > 500


def test_inline_assembly(arch: str) -> None:
    x, out = torch.arange(64, dtype=torch.int32), torch.empty(64, dtype=torch.int32)
    kernels.assembly[(1,)](x, out, BLOCK=64)
    assert out.tolist() == [int(f"{n:032b}"[::-1], 2) - (1 << 32) * (n & 1) for n in range(64)]


def test_tuples(arch: str) -> None:
    x, y, out = drawn(64), drawn(64, seed=2), torch.empty(64)
    kernels.summed[(1,)]((x, y), out, BLOCK=64)
    assert torch.equal(out, x + y)


def test_print(arch: str, capfd: pytest.CaptureFixture[str]) -> None:
    kernels.printing[(1,)](torch.arange(64, dtype=torch.int32), BLOCK=64, num_warps=1)
    lines = [line for line in capfd.readouterr().out.splitlines() if "seen" in line]
    assert len(lines) == 64
    assert lines[5].endswith("5")


def test_assert(arch: str, capfd: pytest.CaptureFixture[str]) -> None:
    x = torch.arange(64, dtype=torch.int32)
    kernels.asserting[(1,)](x, BLOCK=64, debug=True)
    x[3] = x[40] = 1000
    with pytest.raises(
        AssertionFault, match=r"too large.*kernels\.py:\d+|kernels\.py:\d+.*too large"
    ) as caught:
        kernels.asserting[(1,)](x, BLOCK=64, debug=True)
    assert str(caught.value).count("too large") == 1
    output = capfd.readouterr()
    assert "too large" not in output.out + output.err


def test_a_read_past_the_end_names_the_line_and_the_argument(arch: str) -> None:
    x, out = drawn(64), torch.empty(256)
    with pytest.raises(AddressFault, match=r"kernels\.py:\d+.*argument 'x'"):
        kernels.copied[(1,)](x, out, 64, BLOCK=256)


def test_the_sanitizer_reports_a_read_in_the_padding_of_pytorchs_block(arch: str) -> None:
    """On a GPU PyTorch's tensors are of blocks of 512 bytes, and a view is of its whole storage."""
    whole, out = drawn(128), torch.empty(128)
    kernels.copied[(1,)](whole[:64], out, 64, BLOCK=128)
    assert torch.equal(out, whole)
    assert wb.sanitize(kernels.copied[(1,)], whole[:64], out, 64, BLOCK=128).passed
    x = drawn(64)
    kernels.copied[(1,)](x, out, 64, BLOCK=128)
    assert torch.equal(out[:64], x)
    [finding] = wb.sanitize(kernels.copied[(1,)], x, out, 64, BLOCK=128).findings
    assert finding.category == "out of bounds"
    assert "argument 'x'" in finding.message
    # On this computer that memory may belong to something else.
    with pytest.raises(AddressFault, match=r"wrote .* argument 'out'"):
        kernels.copied[(1,)](out, torch.empty(64), 64, BLOCK=128)


def test_profile_and_sanitizer_take_a_launch(arch: str) -> None:
    x, y, out = drawn(512), drawn(512, seed=2), torch.empty(512)
    profile = wb.profile(kernels.add[(2,)], x, y, out, 512, BLOCK=256)
    assert profile["bytes_read"].value >= 2 * x.nbytes
    assert wb.sanitize(kernels.add[(2,)], x, y, out, 512, BLOCK=256).passed


def test_benchmark_functions_give_modelled_time(arch: str) -> None:
    x, y, out = drawn(512), drawn(512, seed=2), torch.empty(512)
    call = lambda: kernels.add[(2,)](x, y, out, 512, BLOCK=256)  # noqa: E731
    modelled = wb.time(call).median.value / 1e3
    with pytest.warns(ModelledTime, match="modelled for .*emulated.*, not measured"):
        assert triton.testing.do_bench(call) == pytest.approx(modelled)
    with pytest.warns(ModelledTime):
        assert triton.testing.do_bench(call, quantiles=[0.5, 0.2, 0.8]) == pytest.approx([modelled] * 3)


def test_benchmark_functions_return_nan_without_launches(arch: str) -> None:
    """Tutorials and tests time PyTorch's operators and their own kernels."""
    x = drawn(512)
    with pytest.warns(ModelledTime, match="launched no kernel.*nan"):
        assert math.isnan(triton.testing.do_bench(lambda: x + x))
    with pytest.raises(UsageError, match="return_mode is 'least'"):
        triton.testing.do_bench(lambda: None, return_mode="least")


def test_tensors_are_where_the_driver_says(arch: str) -> None:
    place = triton.runtime.driver.active.get_active_torch_device
    assert torch.empty(1).device == place() == torch.device("cpu")
    with wb.triton(f"emulated:{arch}", cuda_means_cpu=True):
        assert torch.empty(1, device="cuda").device == place() == torch.device("cuda", 0)
        assert torch.empty(1, device=place()).is_cuda


def test_the_use_of_time_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "ours"))
    x, out = drawn(64), torch.empty(64)
    kernels.scaled.device_caches.clear()
    began = time.perf_counter()
    with wb.triton("emulated:gfx950"):
        for _ in range(2):
            kernels.scaled[(1,)](x, out, 0.5, 1, False, BLOCK=64)
        spent = wb.triton.spent
        took = time.perf_counter() - began
    row = spent.kernels["scaled"]
    assert row.launches == 2
    assert min(row.compiler, row.translation, row.run) > 0
    # Parts do not overlap: together they are no longer than all of it.
    assert row.total < took
    assert "scaled" in repr(spent)
    cached = sorted((tmp_path / "ours").rglob("*"))
    with wb.triton("emulated:gfx950"):
        kernels.scaled[(1,)](x, out, 0.5, 1, False, BLOCK=64)
        again = wb.triton.spent.kernels["scaled"]
    assert again.launches == 1
    assert again.compiler == 0
    # It was not translated again.
    assert sorted((tmp_path / "ours").rglob("*")) == cached
    assert spent.kernels["scaled"].launches == 2


def test_the_driver_is_put_back() -> None:
    before, bench = triton.runtime.driver._active, triton.testing.do_bench
    with wb.triton("emulated:gfx950"):
        assert triton.runtime.driver.active.get_current_target().arch == "gfx950"
    assert triton.runtime.driver._active is before
    assert triton.testing.do_bench is bench


def test_code_that_says_cuda() -> None:
    with wb.triton("emulated:gfx950", cuda_means_cpu=True):
        x = torch.ones(64, device="cuda")
        y = torch.ones(64).cuda()
        out = torch.empty_like(x, device=torch.device("cuda", 0))
        kernels.add[(1,)](x, y, out, 64, BLOCK=64)
        torch.cuda.synchronize()
        torch.cuda.set_stream(torch.cuda.current_stream())
        torch.set_default_device("cuda")
        assert torch.ones(1).is_cpu
        torch.set_default_device(None)
        assert torch.cuda.is_available()
        assert x.is_cuda
        assert out.device.type == y.device.type == "cuda"
        assert torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx950")
        assert out.to("cuda:0").tolist() == [2.0] * 64
    assert not torch.cuda.is_available()
    assert (x.device.type, x.is_cuda) == ("cpu", False)


def test_verify_takes_a_launch(arch: str) -> None:
    inputs = {"x": drawn(500), "y": drawn(500, seed=2), "out": torch.zeros(500), "n": 500, "BLOCK": 256}

    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    result = wb.verify(kernels.add[(2,)], add, inputs=inputs, outputs=("out",)).check()
    assert (result.name, result.device) == ("add", f"emulated:{arch}")
    # The second half is not written.
    assert not wb.verify(kernels.add[(1,)], add, inputs=inputs, outputs=("out",)).passed
    with pytest.raises(UsageError, match="some of x, y, out"):
        wb.verify(kernels.add[(2,)], add, inputs=inputs, outputs=("z",))


def test_verify_takes_a_function_that_launches(arch: str) -> None:
    def added(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        kernels.add[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
        return out

    def half(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        kernels.add[(1,)](x, y, out, x.numel(), BLOCK=256)
        return out

    inputs = {"x": drawn(500), "y": drawn(500, seed=2)}
    result = wb.verify(added, lambda x, y: x + y, inputs=inputs).check()
    assert (result.name, result.device, len(result.records)) == ("added", f"emulated:{arch}", 1)
    assert wb.verify(half, lambda x, y: x + y, inputs=inputs).worst.nonfinite_mismatches == 244
    with pytest.raises(UsageError, match=r"add is launched with a grid; give add\[grid\]"):
        wb.verify(kernels.add, lambda x, y: x + y, inputs=inputs)


@pytest.mark.parametrize(
    ("product", "units", "lds", "clock", "bandwidth"),
    [("MI355X", 256, 160 << 10, 2_400_000, 8000), ("MI300X", 304, 64 << 10, 2_100_000, 5300)],
)
def test_properties_are_those_of_hip(product: str, units: int, lds: int, clock: int, bandwidth: int) -> None:
    """Values from AMD's white papers; a work-group's registers and a unit's waves from rocminfo."""
    with wb.triton(f"emulated:{product}"):
        properties = triton.runtime.driver.active.utils.get_device_properties(0)
        assert triton.testing.get_dram_gbps() == pytest.approx(bandwidth, rel=1e-3)
    assert (
        properties["multiprocessor_count"],
        properties["max_shared_mem"],
        properties["sm_clock_rate"],
    ) == (
        units,
        lds,
        clock,
    )
    assert (properties["max_num_regs"], properties["warpSize"], properties["max_threads_per_sm"]) == (
        65536,
        64,
        2048,
    )


def test_an_empty_grid_is_an_error(arch: str) -> None:
    """Triton's own driver skips an empty grid, as ours does: nothing is written or reported."""
    x, out = drawn(64), torch.zeros(64)
    for grid in ((0,), (1, 0, 1)):
        with pytest.warns(EmptyGrid, match=r"add: its grid is \(\d, \d, 1\)") as caught:
            kernels.add[grid](x, x, out, 64, BLOCK=64)
        assert caught[0].filename == __file__
    assert not out.any()


def test_operators_of_ours_among_tensors_that_say_cuda() -> None:
    x = drawn(16, 64, dtype=torch.bfloat16)
    with wb.triton("emulated:gfx950", cuda_means_cpu=True):
        assert x.device.type == "cuda"
        result = wb.kernels["activations/softmax"](x)
    close(result, x.double().softmax(-1), atol=1e-2)
