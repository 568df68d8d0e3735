"""Exact numerics as a property of a device: its name, its selection, and that the two never mix."""

from __future__ import annotations

import pickle

import pytest
import torch

import workbench as wb
from workbench import errors, runtime
from workbench.numerics import default_numerics

NAME = "emulated:gfx942,numerics=exact"
SHAPE = {"m": 128, "n": 128, "k": 256}


def test_a_device_by_its_numerics(monkeypatch: pytest.MonkeyPatch) -> None:
    exact, fast = wb.device(NAME), wb.device("emulated:gfx942")
    assert (exact.name, exact.numerics, exact.arch) == (NAME, "exact", "gfx942")
    assert (fast.name, fast.numerics) == ("emulated:gfx942", "fast")
    assert exact is not fast
    assert wb.device(NAME) is exact
    assert wb.device("emulated:MI300X,numerics=exact") is exact
    assert runtime.with_numerics(exact, "fast") is fast
    monkeypatch.setenv("HIPKITTENS_NUMERICS", "exact")
    assert wb.device("emulated:gfx942") is exact
    assert wb.device("emulated:gfx942,numerics=fast") is fast
    assert pickle.loads(pickle.dumps(fast)) is fast
    assert wb.device().numerics == "exact"
    with wb.numerics("fast"):
        assert wb.device("emulated:gfx942") is fast


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.UsageError, match="is 'exakt'; expected 'fast' or 'exact'"):
        wb.device("emulated:gfx942,numerics=exakt")
    with pytest.raises(errors.DeviceError, match=r"gfx90a has no numerics=exact.* use numerics=fast"):
        wb.device("emulated:gfx90a,numerics=exact")
    with pytest.raises(errors.UsageError, match="numerics is 'odd'"), wb.numerics("odd"):
        pass
    with pytest.raises(errors.UsageError, match="numerics is 'odd'"):
        wb.compare(torch.zeros(2), torch.zeros(2), numerics="odd")
    monkeypatch.setenv("HIPKITTENS_NUMERICS", "odd")
    with pytest.raises(errors.UsageError, match="HIPKITTENS_NUMERICS is 'odd'"):
        default_numerics()
    with pytest.raises(errors.UsageError, match="HIPKITTENS_NUMERICS is 'odd'"):
        wb.device()


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """Operands whose exact product is zero: a kernel's result is its rounding error."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(128, 128, generator=generator).bfloat16() for _ in range(2))
    return torch.cat([a, -a], 1), torch.cat([b, b], 1)


def test_launches_have_their_devices_numerics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches that alternate between both numerics keep their bits, on any number of threads."""
    a, b = inputs()
    gemm = wb.kernels["gemm/bf16"]
    results: dict[str, list[torch.Tensor]] = {"exact": [], "fast": []}
    for threads in (1, 2, 3):
        monkeypatch.setenv("HIPKITTENS_THREADS", str(threads))
        for numerics, outputs in results.items():
            outputs.append(gemm(a, b, device=f"emulated:gfx942,numerics={numerics}"))
    for outputs in results.values():
        assert all(torch.equal(outputs[0], other) for other in outputs)
    assert not torch.equal(results["exact"][0], results["fast"][0])
    with wb.numerics("exact"):
        monkeypatch.setenv("HIPKITTENS_DEVICE", "emulated:gfx942")
        assert torch.equal(wb.ops.gemm(a, b), results["exact"][0])


def test_verify_reports_both() -> None:
    results = wb.verify("gemm/bf16", shape=SHAPE, device="emulated:gfx942", numerics=("fast", "exact"))
    assert results.passed
    assert [result.device for result in results] == ["emulated:gfx942", NAME]
    assert [c.numerics for result in results for c in result.outputs.values()] == ["fast", "exact"]
    assert ["exact numerics" in str(result) for result in results] == [False, True]
