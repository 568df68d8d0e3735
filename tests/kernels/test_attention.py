"""Attention over its settings: masks, ragged lengths, head counts and dimensions, extreme logits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest
import torch

import workbench as wb
import workbench.operators
from workbench.errors import ShapeError
from workbench.targets import TILE_TARGETS
from workbench_kernels.families import attention_backward as backward_family
from workbench_kernels.families import attention_forward as forward_family
from workbench_kernels.references.attention import attention

FORWARD: list[dict[str, Any]] = [
    # One query, and queries without visible keys, with and without sinks.
    {"queries": 1, "keys": 1, "heads": 1, "heads_kv": 1},
    {"queries": 1, "keys": 300, "heads": 4, "heads_kv": 4, "causal": 1},
    {"queries": 300, "keys": 100, "heads": 4, "heads_kv": 2, "causal": 1},
    {"queries": 300, "keys": 100, "heads": 4, "heads_kv": 2, "causal": 1, "sinks": 1},
    {"queries": 100, "keys": 333, "heads": 4, "heads_kv": 1, "causal": 1, "window": 50},
    {"queries": 200, "keys": 133, "heads": 8, "heads_kv": 2, "window": 50, "sinks": 1},
    {"queries": 50, "keys": 100, "heads": 2, "heads_kv": 2, "causal": 1, "capped": 1},
    {"queries": 50, "keys": 100, "heads": 2, "heads_kv": 1, "causal": 1, "dim": 192},
    {"queries": 50, "keys": 100, "heads": 2, "heads_kv": 1, "causal": 1, "dim": 256, "dim_v": 256},
]
PACKED: list[dict[str, Any]] = [
    {"batch": 1, "queries": 70, "keys": 50, "heads": 1, "heads_kv": 1},
    {"batch": 7, "queries": 200, "keys": 300, "heads": 2, "heads_kv": 1, "causal": 1},
    {"batch": 5, "queries": 300, "keys": 200, "heads": 2, "heads_kv": 2, "window": 20},
]
BACKWARD: list[dict[str, Any]] = [
    {"queries": 1, "keys": 1, "heads": 1, "heads_kv": 1},
    {"queries": 150, "keys": 70, "heads": 4, "heads_kv": 2, "causal": 1},
    {"queries": 70, "keys": 150, "heads": 4, "heads_kv": 1, "causal": 1, "window": 20, "sinks": 1},
]
DECODE: list[dict[str, Any]] = [
    {"batch": 1, "queries": 1, "pages": 1, "page": 16, "heads": 1, "heads_kv": 1},
    {"batch": 5, "queries": 5, "pages": 30, "page": 16, "heads": 6, "heads_kv": 2, "dim": 64, "dim_v": 64}
    | {"dtype": "fp16"},
    {"batch": 2, "queries": 2, "pages": 2, "page": 256, "heads": 24, "heads_kv": 1, "dtype": "fp16"}
    | {"cache": "fp8"},
    {"batch": 2, "queries": 2, "pages": 9, "page": 16, "heads": 20, "heads_kv": 1, "dim": 576, "dim_v": 512}
    | {"cache": "fp8", "values": "keys"},
    {"batch": 2, "queries": 2, "pages": 3, "page": 16, "heads": 5, "heads_kv": 1, "dim": 576, "dim_v": 512},
    # Several queries: more than keys, in rows of several work-groups, with a soft cap.
    {"batch": 4, "queries": 70, "longest": 40, "pages": 1, "page": 16, "heads": 6, "heads_kv": 2},
    {"batch": 2, "queries": 9, "longest": 6, "pages": 4, "page": 48, "heads": 4, "heads_kv": 2, "capped": 1},
]
SETTINGS = {
    "attention/forward": FORWARD,
    "attention/forward_packed": PACKED,
    "attention/backward": BACKWARD,
    "attention/decode": DECODE,
}
SMALL: dict[str, dict[str, Any]] = {
    # Blocks that masks cut, and complete blocks.
    "attention/forward": {"queries": 70, "keys": 300, "heads": 2, "heads_kv": 1, "causal": 1},
    "attention/backward": {"queries": 130, "keys": 300, "heads": 2, "heads_kv": 1, "causal": 1},
    "attention/decode": {"batch": 2, "queries": 2, "pages": 9, "page": 16, "heads": 4, "heads_kv": 2},
}


@pytest.mark.parametrize(("name", "shapes"), SETTINGS.items())
def test_settings(arch: str, name: str, shapes: list[dict[str, Any]]) -> None:
    """Separate instances, which take seconds to compile: one target each, or both in `make test-product`."""
    everything = int(os.environ.get("HIPKITTENS_TEST_ALL", "0"))
    for i, shape in enumerate(shapes):
        instance = [shape.get(key) for key in ("dim", "capped", "dtype", "cache")]
        if any(instance) and not everything and i % 2 != TILE_TARGETS.index(arch) % 2:
            continue
        result = wb.verify(name, shape=shape, device=f"emulated:{arch}", seed=5)
        assert result.passed, f"{shape}: {result}"


@pytest.mark.parametrize(("name", "shape"), [*SMALL.items(), ("attention/decode", DECODE[2])])
def test_no_bank_conflicts(arch: str, name: str, shape: dict[str, Any]) -> None:
    profile = wb.profile(name, shape=shape, device=f"emulated:{arch}")
    assert profile.counters["SQ_LDS_BANK_CONFLICT"].value == 0


@pytest.mark.parametrize(("name", "shape"), SMALL.items())
def test_sanitizer_finds_nothing(arch: str, name: str, shape: dict[str, Any]) -> None:
    result = wb.sanitize(name, shape=shape, device=f"emulated:{arch}")
    assert result.passed, str(result)


PING_PONG: list[dict[str, Any]] = [
    # Odd and even numbers of blocks, one block, none; queries of one work-group and of two; blocks that masks
    # do not cut between two edges of the band; a band that ends before the queries that do not exist.
    {"queries": 300, "keys": 333, "heads": 2, "heads_kv": 1, "causal": 1},
    {"queries": 257, "keys": 449, "heads": 1, "heads_kv": 1, "window": 150, "sinks": 1},
    {"queries": 270, "keys": 20, "heads": 1, "heads_kv": 1, "causal": 1},
]


def test_eight_waves_where_they_fill_the_device() -> None:
    spec = wb.kernels["attention/forward"]
    large: dict[str, Any] = {"batch": 4, "heads": 16, "heads_kv": 16, "queries": 1024, "keys": 1024}

    def fits(arch: str, **given: Any) -> bool:
        shape = spec.shape({**large, **given}, arch=arch)
        return forward_family.takes_ping_pong(shape, arch)

    assert fits("gfx950")
    assert fits("gfx950", dim=64, dim_v=64)
    assert not fits("gfx942")
    for fewer in ({"batch": 3}, {"queries": 100}, {"causal": 1}, {"window": 128}, {"capped": 1}):
        assert not fits("gfx950", **fewer), fewer


@pytest.mark.parametrize("dim", [128, 64] if int(os.environ.get("HIPKITTENS_TEST_ALL", "0")) else [128])
def test_eight_waves_that_take_turns(dim: int) -> None:
    spec = wb.kernels["attention/forward"].variant("ping_pong")
    four = wb.kernels["attention/forward"].variant("four_waves")
    for shape in PING_PONG:
        sizes = {**shape, "dim": dim, "dim_v": dim}
        result = wb.verify(spec, shape=sizes, device="emulated:gfx950", seed=5)
        assert result.passed, f"{sizes}: {result}"
    result = wb.sanitize(spec, shape={**PING_PONG[1], "dim": dim, "dim_v": dim}, device="emulated:gfx950")
    assert result.passed, str(result)
    if dim == 64:
        kernel = spec.kernel(spec.shape(dim=dim, dim_v=dim), arch="gfx950")
        assert kernel.resources_at(512, 8 * 64 * dim).scratch == 0

    def instructions(of: Any, keys: int) -> list[float]:
        shape = {"queries": 256, "keys": keys, "heads": 1, "heads_kv": 1, "dim": dim, "dim_v": dim}
        counters = wb.profile(of, shape=shape, device="emulated:gfx950").counters
        return [counters[name].value or 0 for name in ("SQ_INSTS", "SQ_INSTS_MFMA")]

    def of_each_mfma(of: Any) -> float:
        """Instructions of the main loop for each matrix instruction, by the effect of more keys."""
        (few, few_mfma), (many, many_mfma) = instructions(of, 512), instructions(of, 1024)
        return (many - few) / (many_mfma - few_mfma)

    assert of_each_mfma(spec) < of_each_mfma(four)


EVERYTHING = int(os.environ.get("HIPKITTENS_TEST_ALL", "0"))
BY_ATOMICS = [("gfx942", "atomics", 64), ("gfx950", "pinned", 128)]


@pytest.mark.parametrize(
    ("arch", "form", "dim"),
    [*BY_ATOMICS, ("gfx950", "atomics", 64), ("gfx950", "pinned", 64)] if EVERYTHING else BY_ATOMICS,
)
def test_dq_by_atomics(arch: str, form: str, dim: int) -> None:
    """Heads that share keys, keys hidden from some queries; bits may differ, as the operator states."""
    spec = wb.kernels["attention/backward"].variant(form)
    shape = {**BACKWARD[2], "dim": dim, "dim_v": dim}
    assert "atomics" in spec.nondeterministic
    assert not wb.kernels["attention/backward"].implementation(shape, arch=arch).spec.nondeterministic
    result = wb.verify(spec, shape=shape, device=f"emulated:{arch}", seed=5)
    assert result.passed, str(result)
    result = wb.sanitize(spec, shape=shape, device=f"emulated:{arch}")
    assert result.passed, str(result)
    whole = {"queries": 40, "keys": 90, "heads": 1, "heads_kv": 1, "dim": dim, "dim_v": dim}
    hard = spec.make_inputs(whole, device=f"emulated:{arch}", hard="logits far below zero")
    result = wb.verify(spec, shape=whole, inputs=hard, device=f"emulated:{arch}")
    assert result.passed, str(result)
    if arch == "gfx950":
        profile = wb.profile(spec, shape=shape, device=f"emulated:{arch}")
        assert profile.counters["SQ_LDS_BANK_CONFLICT"].value == 0


@pytest.mark.parametrize("shape", [*BACKWARD[1:], {**BACKWARD[0], "queries": 100, "keys": 300}])
def test_backward_in_pinned_registers(shape: dict[str, Any]) -> None:
    """Small enough for every run: no other operator has this kernel, and most faults in it show here."""
    spec = wb.kernels["attention/backward"].variant("pinned")
    result = wb.verify(spec, shape={**shape, "dim": 64, "dim_v": 64}, device="emulated:gfx950", seed=5)
    assert result.passed, str(result)


def test_pinned_registers_take_what_they_are_for() -> None:
    spec = wb.kernels["attention/backward"].variant("pinned")
    for setting in ({"capped": 1}, {"dtype": "fp16"}):
        with pytest.raises(ShapeError, match="use the variant 'atomics'"):
            spec.implementation({**spec.shapes[0], **setting}, arch="gfx950")


def test_gradients_go_through_the_backward_operator(arch: str) -> None:
    forward = wb.kernels["attention/forward"]
    inputs = forward.make_inputs(
        {"queries": 60, "keys": 90, "heads": 2, "heads_kv": 1, "sinks": 1, "causal": 1}
    )
    names = ("q", "k", "v", "sinks")
    leaves = {name: inputs[name].requires_grad_() for name in names}
    results = forward(**inputs, device=f"emulated:{arch}")
    got = torch.autograd.grad(
        results["out"].float().square().sum() + results["lse"].sum(), tuple(leaves.values())
    )
    wide = {name: inputs[name].detach().double().requires_grad_() for name in names}
    out, lse = forward.reference(**{**inputs, **wide})
    expected = torch.autograd.grad(out.square().sum() + lse.sum(), tuple(wide.values()))
    for gradient, truth in zip(got, expected, strict=True):
        torch.testing.assert_close(gradient.double(), truth, rtol=2e-2, atol=2e-2)


def test_views_of_a_fused_tensor(arch: str) -> None:
    """q, k and v adjacent in one tensor, tokens before or after heads, and the same for gradients."""
    where = f"emulated:{arch}"
    forward, backward = wb.kernels["attention/forward"], wb.kernels["attention/backward"]
    generator = torch.Generator().manual_seed(4)

    def strided(dims: tuple[int, ...], by_token: bool) -> torch.Tensor:
        tensor = torch.randn(dims, generator=generator).bfloat16()
        return tensor if by_token else tensor.transpose(1, 2).contiguous().transpose(1, 2)

    for by_token in (True, False):
        qkv = strided((2, 70, 8, 128), by_token)
        views = dict(zip("qkv", qkv.split((4, 2, 2), dim=2), strict=True))
        copies = {name: view.contiguous() for name, view in views.items()}
        assert not any(view.is_contiguous() for view in views.values())
        results = [forward(**inputs, causal=True, device=where) for inputs in (views, copies)]
        assert torch.equal(results[0]["out"], results[1]["out"])
        dout = strided((2, 70, 4, 128), not by_token)
        gradients = [
            backward(**inputs, **of, dout=d, causal=True, device=where)
            for inputs, of, d in ((views, results[0], dout), (copies, results[1], dout.contiguous()))
        ]
        for name, gradient in gradients[0].items():
            assert torch.equal(gradient, gradients[1][name]), f"{name}, by token: {by_token}"
    for axis in (0, 2):
        dims = [1 if i == axis else size for i, size in enumerate((2, 70, 4, 128))]
        q, dout = (torch.randn(dims, generator=generator).bfloat16().expand(2, 70, 4, 128) for _ in range(2))
        inputs = {**copies, "q": q, **forward(**(copies | {"q": q.contiguous()}), device=where)}
        assert torch.equal(forward(**(copies | {"q": q}), device=where)["out"], inputs["out"]), f"axis {axis}"
        gradients = [backward(**inputs, dout=d, device=where) for d in (dout, dout.contiguous())]
        assert all(torch.equal(gradients[0][n], gradients[1][n]) for n in gradients[0]), f"axis {axis}"
    # An expanded token axis, which the kernels cannot read, is copied.
    one_token = copies["q"][:, :1].expand(2, 70, 4, 128)
    results = [
        forward(**(copies | {"q": q}), device=where)["out"] for q in (one_token, one_token.contiguous())
    ]
    assert torch.equal(*results)


def test_decode_of_views(arch: str) -> None:
    """q of a fused tensor over a cache whose keys and values alternate by page."""
    spec = wb.kernels["attention/decode"]
    inputs = spec.make_inputs(
        {"batch": 2, "queries": 2, "pages": 3, "page": 32, "heads": 4, "heads_kv": 2}, seed=3
    )
    fused = torch.cat((inputs["q"], inputs["q"][:, :2]), dim=1)
    both = torch.stack((inputs["k_cache"], inputs["v_cache"]), dim=1)
    views = {"q": fused[:, :4], "k_cache": both[:, 0], "v_cache": both[:, 1]}
    assert not any(view.is_contiguous() for view in views.values())
    device = f"emulated:{arch}"
    result, expected = spec(**{**inputs, **views}, device=device), spec(**inputs, device=device)
    assert torch.equal(result["out"], expected["out"])


def test_large_logits(arch: str) -> None:
    """Logits of 1e35: each query takes the value of its largest key, and no exponential overflows."""
    spec = wb.kernels["attention/forward"]
    inputs = spec.make_inputs({"queries": 40, "keys": 90, "heads": 1, "heads_kv": 1}, seed=3)
    inputs["q"], inputs["k"] = inputs["q"] * 1e17, inputs["k"] * 1e17
    result = wb.verify(spec, inputs=inputs, device=f"emulated:{arch}")
    assert result.passed, str(result)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"k": torch.zeros(1, 8, 2, 64)}, "k is torch.float32; expected torch.bfloat16 or torch.float16"),
        (
            {"k": torch.zeros(1, 8, 3, 64).bfloat16(), "v": torch.zeros(1, 8, 3, 64).bfloat16()},
            "4 heads of q and 3",
        ),
        ({"k": torch.zeros(1, 9, 2, 64).bfloat16()}, r"expected \(B, N_q, H, D\)"),
        (
            {"v": torch.zeros(1, 8, 2, 128).bfloat16()},
            "head dimensions are 64 and 128; supported are 64 and 64",
        ),
        ({"scale": -1.0}, "scale is -1.0; expected a positive number"),
        ({"window": -3}, "window is -3"),
        ({"sinks": torch.zeros(2)}, r"sinks is \(2,\) torch.float32; expected \(4,\)"),
    ],
)
def test_refused(change: Mapping[str, Any], says: str) -> None:
    q, k = torch.zeros(1, 8, 4, 64).bfloat16(), torch.zeros(1, 8, 2, 64).bfloat16()
    with pytest.raises(ShapeError, match=says):
        wb.kernels["attention/forward"](**{"q": q, "k": k, "v": k, **change})


def test_inputs_of_backward_are_made_head_by_head() -> None:
    shape = wb.kernels["attention/backward"].shape(
        {"batch": 2, "queries": 20, "keys": 33, "sinks": 1, "causal": 1}
    )
    inputs = forward_family.inputs({**shape, "heads": 4, "heads_kv": 2}, torch.Generator().manual_seed(1))
    wide = {name: x.double() if isinstance(x, torch.Tensor) else x for name, x in inputs.items()}
    for got, expected in zip(backward_family.head_by_head(wide), attention(**wide), strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
@pytest.mark.parametrize(("keys", "causal"), [(1, 0), (40, 0), (40, 1)])
def test_a_sinks_bound_holds_the_rounding_of_out_in_many_heads(dtype: str, keys: int, causal: int) -> None:
    """With few keys a thousand sums over 300 queries went past a constant bound, one head of a thousand."""
    torch.manual_seed(1)
    heads, queries, dim = 1000, 40 if causal else 300, 64
    shape = {"batch": 1, "queries": queries, "keys": keys, "dim_v": dim, "window": 0, "causal": causal}
    logits = torch.randn(heads, queries, keys)
    if causal:
        logits = logits.masked_fill(~torch.ones(queries, keys, dtype=torch.bool).tril(), float("-inf"))
    parts = torch.cat([torch.randn(heads, 1, 1).expand(-1, queries, 1), logits], -1).softmax(-1)
    out = parts[..., 1:] @ torch.randn(heads, keys, dim)
    error = out - out.to({"bf16": torch.bfloat16, "fp16": torch.float16}[dtype]).float()
    errors = (parts[..., :1] * torch.randn_like(out) * error).sum((1, 2)).abs()
    bounds = backward_family.summed_for_sinks({**shape, "dtype": dtype})
    assert errors.max() < bounds.atol
    if (keys, dtype) == (1, "bf16"):
        assert bounds.atol < 20 * errors.square().mean().sqrt()
