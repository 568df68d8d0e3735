"""The functions of `workbench.ops`: names, signatures, docstrings, layouts, PyTorch's namespace."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench import ops
from workbench.errors import UsageError
from workbench.operators import Gradient
from workbench.operators.description import describe
from workbench.operators.functions import by_function, function_name
from workbench.operators.layouts import by_name
from workbench.ops.function import HABITS
from workbench_kernels.families import attention

NAMES = list(wb.kernels)


def test_every_operator_has_a_function_of_its_own_name() -> None:
    assert len(by_function(NAMES)) == len(NAMES)
    assert {"precompile", "sdpa", *by_function(NAMES)} == set(dir(ops))
    assert ops.rms_norm.spec is wb.kernels["normalization/rmsnorm"]
    with pytest.raises(AttributeError, match="rmsnorm"):
        ops.rmsnorm  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_docstring_lacks_nothing(name: str) -> None:
    spec = wb.kernels[name]
    function = getattr(ops, function_name(name))
    text, described = function.__doc__, describe(spec)
    assert spec.doc.split()[0] in text
    tensors = dict(by_name(spec.tensors))
    for line in described.arguments:
        parameter = inspect.signature(function).parameters[line.name]
        assert line.text, line.name
        assert parameter.default is not None or "None" in line.text, f"what if {line.name} is None?"
        is_tensor = "Tensor" in str(parameter.annotation)
        assert bool(line.layout) == is_tensor or "this operator has none" in line.text
        assert f"{line.name}: " in text
    for line in described.results:
        assert line.text, line.name
        assert line.layout or line.name not in tensors
    assert described.sizes
    for title in ("Args", "Returns", "Sizes", "Gradients", "Raises", "Source"):
        assert f"\n{title}:\n" in text
    how = spec.backward
    for name in () if how is None else how.by if isinstance(how, Gradient) else (how,):
        assert f"`{function_name(name)}`" in text
    assert all(len(row) <= 120 for row in text.splitlines())


def test_function_and_spec_have_the_same_help() -> None:
    spec = wb.kernels["attention/forward"]
    line = "q: [batch, queries, heads, dim] of bf16 or fp16: queries."
    for asked in (ops.flash_attention, spec):
        assert line in pydoc.render_doc(asked)
        assert line in inspect.getdoc(asked)
    assert inspect.signature(spec) == spec.signature
    assert list(inspect.signature(ops.flash_attention).parameters) == [*spec.signature.parameters, "layout"]
    assert "dim and dim_v: 64 with 64, 80 with 80, 96 with 96, 112 with 112" in spec.__doc__
    assert type(spec).__doc__.startswith("An operator with everything")


def test_a_notebook_shows_it() -> None:
    spec = wb.kernels["attention/decode"]
    html = spec._repr_html_()
    for words in (
        "[blocks, page, heads_kv, dim]",
        "paged_attention",
        "ops.paged_attention(**inputs)",
        "operations",
    ):
        assert words in html


def test_several_results_are_a_named_tuple() -> None:
    x = torch.randn(3, 10)
    result = ops.cross_entropy(x, torch.tensor([1, 2, 3]))
    assert isinstance(result, ops.CrossEntropyResult)
    assert result._fields == ("loss", "lse")
    torch.testing.assert_close(result.lse, x.logsumexp(-1))
    assert pickle.loads(pickle.dumps(result))._fields == result._fields


@pytest.mark.parametrize("operator", ["attention/forward", "rotary/rope"])
def test_either_layout_gives_the_same(operator: str) -> None:
    spec, habits = wb.kernels[operator], HABITS[operator]
    function = getattr(ops, function_name(operator))
    shape = min(spec.shapes, key=lambda each: spec.work(each)["bytes"])
    inputs = spec.make_inputs(shape)
    other = "bhnd" if habits.native == "bnhd" else "bnhd"
    turned = {k: v.transpose(1, 2).contiguous() if k in habits.takes else v for k, v in inputs.items()}
    first, second = function(**inputs), function(**turned, layout=other)
    first, second = (made if isinstance(made, torch.Tensor) else made.out for made in (first, second))
    assert torch.equal(first, second.transpose(1, 2))
    with pytest.raises(UsageError, match="layout is 'nhd'; expected 'bnhd' or 'bhnd'"):
        function(**inputs, layout="nhd")


def test_shapes_of_the_other_layout_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "warned", set())
    q = torch.empty(1, 8, 512, 64, dtype=torch.bfloat16)
    shape_of = wb.kernels["attention/forward"].shape_of
    settings = {"causal": False, "window": 0, "scale": None, "softcap": 0.0, "sinks": None}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            shape_of(q=q.mT.mT, k=q.transpose(1, 2), v=q.transpose(1, 2), **settings)
        assert not seen
        for _ in range(3):
            shape_of(q=q, k=q, v=q, **settings)
        angles = torch.empty(512, 32, dtype=torch.bfloat16)
        turned = q.transpose(1, 2)
        for _ in range(2):
            wb.kernels["rotary/rope"].shape_of(
                x=turned, cos=angles, sin=angles, positions=None, interleaved=False
            )
    of_attention, of_rotary = (str(each.message) for each in seen)
    assert "512 heads of 8 tokens; expected [batch, tokens, heads, dim]" in of_attention
    assert "512 heads of 8 tokens; expected [batch, heads, tokens, dim]" in of_rotary


@pytest.mark.parametrize(("heads_kv", "causal", "scale"), [(4, True, None), (2, False, 0.25)])
def test_sdpa_is_pytorch_s(heads_kv: int, causal: bool, scale: float | None) -> None:
    torch.manual_seed(5)
    q = torch.randn(2, 4, 70, 64).bfloat16().requires_grad_()
    k, v = (torch.randn(2, heads_kv, 70, 64).bfloat16().requires_grad_() for _ in range(2))
    settings = {"is_causal": causal, "scale": scale, "enable_gqa": heads_kv < 4}
    result = ops.sdpa(q, k, v, **settings)
    expected = torch.nn.functional.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), **settings
    )
    torch.testing.assert_close(result.double(), expected, rtol=1.6e-2, atol=1e-2)
    upstream = torch.randn_like(result)
    grads = torch.autograd.grad(result, (q, k, v), upstream)
    for grad, other in zip(grads, torch.autograd.grad(expected, (q, k, v), upstream.double()), strict=True):
        torch.testing.assert_close(grad, other, rtol=1.6e-2, atol=3e-2)


def test_sdpa_refuses_what_the_kernel_lacks() -> None:
    q = torch.randn(1, 2, 8, 64).bfloat16()
    few, short = q[:, :1], q[:, :, :4]
    for arguments, settings, message in (
        ((q, q, q), {"attn_mask": torch.ones(8, 8)}, "attn_mask is given"),
        ((q, q, q), {"dropout_p": 0.1}, "dropout_p is 0.1"),
        ((q, few, few), {}, "2 heads, key has 1"),
        ((q, short, short), {"is_causal": True}, "8 queries and 4 keys"),
    ):
        with pytest.raises(UsageError, match=message):
            ops.sdpa(*arguments, **settings)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_slots_are_of_either_width(dtype: torch.dtype) -> None:
    k, v = (torch.randn(3, 2, 1, 64).bfloat16() for _ in range(2))
    caches = [torch.zeros(4, 2, 8, 64, dtype=torch.bfloat16) for _ in range(2)]
    ops.reshape_and_cache(k, v, *caches, torch.tensor([9, -1, 31], dtype=dtype))
    for rows, cache in zip((k, v), caches, strict=True):
        assert torch.equal(cache[1, :, 1], rows[0, :, 0])
        assert torch.equal(cache[3, :, 7], rows[2, :, 0])
        assert cache.count_nonzero() == rows[::2].count_nonzero()


def test_the_namespace_has_all_operators() -> None:
    names = {name.replace("/", "_") for name in NAMES}
    assert names <= set(dir(torch.ops.hipkittens))
    with pytest.raises(AttributeError):
        torch.ops.hipkittens.nothing_of_the_kind  # noqa: B018


EXPORT = """
import sys, torch
from workbench import ops

class Model(torch.nn.Module):
    def forward(self, x, weight):
        return ops.rms_norm(torch.relu(x), weight)

x, weight = torch.randn(3, 64), torch.rand(64)
torch.export.save(torch.export.export(Model(), (x, weight)), sys.argv[1])
torch.save((x, weight, Model()(x, weight)), sys.argv[1] + ".pt")
"""

LOAD = """
import sys, torch, workbench.ops

x, weight, wanted = torch.load(sys.argv[1] + ".pt")
assert torch.equal(torch.export.load(sys.argv[1]).module()(x, weight), wanted)
"""


def test_a_saved_export_loads_in_a_fresh_process(tmp_path: Path) -> None:
    for script in (EXPORT, LOAD):
        ran = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "model.pt2")], capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", ["gemm/bf16", "gemm/bf16:few_rows", "attention/backward_packed"])
def test_specs_are_copied_and_pickled_by_name(name: str, tmp_path: Path) -> None:
    spec = wb.kernels[name]
    assert pickle.loads(pickle.dumps(spec)) is spec
    assert copy.deepcopy(spec) is spec
    torch.save({"spec": spec}, tmp_path / "spec.pt")
    assert torch.load(tmp_path / "spec.pt", weights_only=False)["spec"] is spec
