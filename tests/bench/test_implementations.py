"""Triton's implementations beside ours: each gets its library's arguments and gives the right result."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import workbench as wb
from workbench.bench.cases import Case
from workbench.bench.implementations import RIVALS
from workbench.bench.rivals import run_rival
from workbench.targets import TILE_TARGETS

SHAPES = {
    "gemm/bf16": {"m": 256, "n": 128, "k": 128},
    "attention/forward": {"queries": 128, "keys": 128, "heads": 2, "heads_kv": 1, "dim": 64, "dim_v": 64},
    "gated_delta/chunk": {"tokens": 130, "keys": 64, "values": 64, "dtype": "bf16"},
}
"""Small problems; a few rows for other operators."""

FLYDSL = {
    "norm/rmsnorm_kernel.py": """
def build_rmsnorm_module(columns, dtype, *, eps, weight_dtype_str):
    assert (columns, dtype, weight_dtype_str) == (384, "bf16", "bf16")

    def launch(x, weight, out, rows, *, stream):
        assert x.is_cuda and rows == 8
        wide = x.float()
        out.copy_(wide * (wide.pow(2).mean(1, keepdim=True) + eps).rsqrt() * weight.float())

    return launch
""",
    "norm/layernorm_kernel.py": """
def build_layernorm_module(columns, dtype, *, eps):
    assert (columns, dtype) == (384, "bf16")
    return lambda x, weight, bias, out, rows, stream: out.copy_(
        torch.nn.functional.layer_norm(x, (columns,), weight, bias, eps)
    )
""",
    "norm/softmax_kernel.py": """
def build_softmax_module(rows, columns, dtype):
    assert (rows, columns, dtype) == (8, 384, "bf16")
    return lambda x, out, rows, *, stream: out.copy_(x.softmax(-1))
""",
    "gemm/gemm_a16w16_gfx950.py": """
def gemm_a16w16(a, b, out, *, layout):
    assert layout == "nt" and b.stride(0) == 1
    return out.copy_(a @ b)
""",
    "attention/flash_attn_interface.py": """
def flydsl_flash_attn_func(q, k, v, *, causal):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    function = torch.nn.functional.scaled_dot_product_attention
    return function(q, k, v, is_causal=causal, enable_gqa=True).transpose(1, 2)
""",
}
"""Stand-ins for the modules of FlyDSL's repository, which launch nothing."""
COMPILER = """

def from_c_void_p(element, address):
    assert element == "BFloat16"
    return address

def compile(launch, *arguments):
    def compiled(*values):
        assert len(values) == len(arguments)
        return launch(*(torch_tensor(value) for value in values[:4]), *values[4:])

    return compiled

def torch_tensor(address):
    import gc, torch

    return next(x for x in gc.get_objects() if isinstance(x, torch.Tensor) and x.data_ptr() == address)
"""

IN_TRITON = [
    pytest.param(rival, operator, id=f"{rival.name} {operator}")
    for rival in RIVALS
    if rival.group == "triton"
    for operator in rival.operators
]


@pytest.mark.parametrize(("rival", "operator"), IN_TRITON)
def test_triton_computes_what_ours_does(rival, operator) -> None:
    if not rival.installed:
        pytest.skip(f"{rival.module} is not installed")
    case = Case(operator, wb.kernels[operator].shape(SHAPES.get(operator, {"rows": 8, "cols": 384})))
    assert rival.takes(case)
    for target in TILE_TARGETS:
        result = run_rival(rival.name, case, f"emulated:{target}")
        assert not result.failure
        assert result.verified
        assert result.us > 0


@contextlib.contextmanager
def replaced_modules(*packages: str) -> Iterator[None]:
    """Imports these packages again inside the block, and restores them afterwards."""

    def loaded() -> dict[str, ModuleType]:
        return {
            name: module
            for name, module in sys.modules.items()
            if any(name == package or name.startswith(f"{package}.") for package in packages)
        }

    before = loaded()
    for name in before:
        del sys.modules[name]
    try:
        yield
    finally:
        for name in loaded():
            del sys.modules[name]
        sys.modules.update(before)


@pytest.mark.parametrize("operator", next(rival for rival in RIVALS if rival.name == "FlyDSL").operators)
def test_flydsl_computes_what_ours_does(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With stand-ins for FlyDSL's repository and compiler, checks arguments and results."""
    for name, text in FLYDSL.items():
        file = tmp_path / "kernels" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"import torch\n{text}")
    (tmp_path / "flydsl").mkdir()
    (tmp_path / "flydsl" / "compiler.py").write_text(COMPILER)
    (tmp_path / "flydsl" / "expr.py").write_text(
        'Float32, Float16, BFloat16 = "Float32", "Float16", "BFloat16"'
    )
    monkeypatch.syspath_prepend(tmp_path)
    with replaced_modules("kernels", "flydsl", "workbench.bench.flydsl_kernels"):
        case = Case(operator, wb.kernels[operator].shape(SHAPES.get(operator, {"rows": 8, "cols": 384})))
        result = run_rival("FlyDSL", case, "emulated:gfx950")
    # The stand-in is right, and launches nothing that could be timed.
    assert "launched nothing" in result.failure


def test_what_an_implementation_does_not_take() -> None:
    libraries = {rival.name: rival for rival in RIVALS}
    delta = wb.kernels["gated_delta/chunk"]
    assert not libraries["Triton (flash-linear-attention)"].takes(
        Case("gated_delta/chunk", delta.shape({"chunk": 32}))
    )
    attention = wb.kernels["attention/forward"].shape({"dim": 192, "dim_v": 128})
    assert not libraries["Triton (AITER)"].takes(Case("attention/forward", attention))
