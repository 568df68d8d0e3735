"""References by signature, against PyTorch's own functions; and limits of child processes."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from workbench.audit.limits import run_limited
from workbench.audit.references import TOLERANCE, errors_of, problem_for
from workbench.audit.signature import Signature

ATTENTION = "#define ATTN_B 2\n#define ATTN_H 4\n#define ATTN_H_KV 2\n#define ATTN_N 64\n#define ATTN_D 32\n"


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    out = functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
    return out.transpose(1, 2)


@pytest.mark.parametrize("name", ["attn/gqa/kernel.cpp", "attn/gqa_causal/kernel.cpp"])
def test_attention(name: str) -> None:
    problem = problem_for(Signature("f", ("Qg", "Kg", "Vg", "Og", "L_vec")), ATTENTION, name)
    assert problem is not None
    q, k, v = (problem.tensors[key].float() for key in ("Qg", "Kg", "Vg"))
    assert q.shape == (2, 64, 4, 32)
    assert k.shape == (2, 64, 2, 32)
    problem.tensors["Og"].copy_(attention(q, k, v, "causal" in name))
    assert errors_of(problem)["L_vec"] == float("inf")
    problem.tensors["L_vec"].copy_(problem.expected["L_vec"])
    assert max(errors_of(problem).values()) < 0.005
    # The other mask is far off.
    problem.tensors["Og"].copy_(attention(q, k, v, "causal" not in name))
    assert errors_of(problem)["Og"] > 10 * TOLERANCE


def test_attention_backward() -> None:
    members = ("Q", "K", "V", "dOg", "dQg", "dKg", "dVg", "L_vec", "delta_vec")
    problem = problem_for(Signature("f", members), ATTENTION, "attn/gqa_backwards/attn_bkwd_non_causal.cpp")
    assert problem is not None
    q, k, v = (problem.tensors[key].float().requires_grad_() for key in "QKV")
    torch.autograd.backward(attention(q, k, v, False), problem.tensors["dOg"].float())
    assert k.grad is not None
    assert v.grad is not None
    problem.tensors["dKg"].copy_(k.grad)
    problem.tensors["dVg"].copy_(v.grad)
    assert max(errors_of(problem).values()) < 0.005


def test_matrix_product_and_softmax() -> None:
    problem = problem_for(Signature("f", ("A", "B", "C")), "#define M 64\n#define N 32\n#define K 48\n", "g")
    assert problem is not None
    product = problem.tensors["A"].float() @ problem.tensors["B"].float().T
    assert product.shape == (64, 32)
    problem.tensors["C"].copy_(product)
    assert errors_of(problem)["C"] < 0.005
    problem = problem_for(Signature("f", ("x", "o")), "constexpr int N = 64;\n", "kernels/softmax/kernel.cpp")
    assert problem is not None
    problem.tensors["o"].copy_(functional.softmax(problem.tensors["x"].float(), -1))
    assert errors_of(problem)["o"] < 0.005


def test_layer_norm() -> None:
    members = ("x", "residual", "o", "o_resid", "norm_weight", "norm_bias")
    sizes = "constexpr int B = 2;\nconstexpr int N = 16;\nconstexpr int H = 2;\nconstexpr int HEAD_D = 8;\n"
    sizes += "constexpr int D = HEAD_D * H;\n"
    for text, is_zero in ((sizes, False), (sizes + "dropout_mask(x);\n", True)):
        problem = problem_for(Signature("f", members), text, "kernels/layernorm/kernel.cpp")
        assert problem is not None
        x, residual = (problem.tensors[key].float() for key in ("x", "residual"))
        assert x.shape == (2, 16, 16)
        assert bool((x == 0).all()) is is_zero
        norm = torch.nn.LayerNorm(16)
        with torch.no_grad():
            for parameter, key in ((norm.weight, "norm_weight"), (norm.bias, "norm_bias")):
                parameter.copy_(problem.tensors[key])
            problem.tensors["o"].copy_(norm(x + residual))
        problem.tensors["o_resid"].copy_(x + residual)
        assert max(errors_of(problem).values()) < 0.005


def test_rms_norm() -> None:
    text = "constexpr int B = 2;\nconstexpr int N = 16;\nconstexpr int D = 32;\n"
    problem = problem_for(Signature("f", ("x", "o", "gamma", "epsilon")), text, "kernels/rmsnorm/kernel.cpp")
    assert problem is not None
    norm = torch.nn.RMSNorm(32, eps=problem.numbers["epsilon"])
    with torch.no_grad():
        norm.weight.copy_(problem.tensors["gamma"][0, 0])
        problem.tensors["o"].copy_(norm(problem.tensors["x"].float()))
    assert errors_of(problem)["o"] < 0.005


def test_arguments_are_contiguous() -> None:
    """Modules take nothing else; a mean over heads, transposed, is not."""
    backward = ("Q", "K", "V", "dOg", "dQg", "dKg", "dVg", "L_vec", "delta_vec")
    others = (("Qg", "Kg", "Vg", "Og", "L_vec"), ("Og", "dOg", "delta"), ("x", "o", "gamma", "epsilon"))
    for members in (backward, *others):
        problem = problem_for(Signature("f", members), ATTENTION, "kernel.cpp")
        assert problem is not None
        assert [name for name, tensor in problem.tensors.items() if not tensor.is_contiguous()] == []


def test_rotary() -> None:
    text = "#define ATTN_B 1\n#define ATTN_H 2\n#define ATTN_N 16\n#define HEAD_DIM 8\n"
    problem = problem_for(Signature("f", ("x", "o", "sin", "cos")), text, "kernels/rotary/kernel.cpp")
    assert problem is not None
    # A rotation of complex numbers.
    x, sin, cos = (problem.tensors[key].float() for key in ("x", "sin", "cos"))
    turned = torch.complex(x[..., :4], x[..., 4:]) * torch.complex(cos, sin)
    problem.tensors["o"].copy_(torch.cat([turned.real, turned.imag], -1))
    assert errors_of(problem)["o"] < 0.005


def test_unknown_signatures_have_no_problem() -> None:
    assert problem_for(Signature("f", ("x", "y", "z")), "", "k.cpp") is None
    # Two tensors alone do not say what is computed.
    assert problem_for(Signature("f", ("x", "o")), "", "kernels/copy/kernel.cpp") is None


def test_limits(tmp_path: Path) -> None:
    def ended(code: str, seconds: float = 60, memory: int = 1 << 30):  # type: ignore[no-untyped-def]
        words = [sys.executable, "-c", code]
        return run_limited(words, tmp_path, os.environ, seconds=seconds, memory=memory)

    result = ended("print('x'); raise SystemExit(3)")
    assert (result.status, result.output, result.limit) == (3, "x\n", "")
    # Its children end with it, too.
    code = "import subprocess as s, time; print(s.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
    result = ended(code, seconds=2)
    assert result.status is None
    assert result.limit == "not done after 2 s"
    state = Path("/proc", result.output.strip(), "stat")
    # It may be about to end, or a zombie that nobody has waited for yet.
    begin = time.monotonic()
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() - begin < 60, "it is still there"
        time.sleep(0.05)
    result = ended("while True: pass", seconds=1)
    assert result.status is None
    assert result.limit == "not done after 1 s"
    result = ended("x = bytearray(1 << 28); import time; time.sleep(600)", memory=1 << 27)
    assert result.status is None
    assert "GiB of memory" in result.limit
