"""GEMMs over their settings: implementations, layouts, epilogues, formats, ragged and extreme sizes."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import pytest
import torch

import workbench as wb
import workbench.operators
from workbench.errors import ShapeError
from workbench.runtime import LaunchOptions, device
from workbench_kernels.families import gemm_tiles
from workbench_kernels.references.gemm import dequantized

FINISH = {"alpha": 1, "bias": 1, "activation": "gelu", "gate": 1, "residual": 1}
SCALED_FINISH = {name: value for name, value in FINISH.items() if name != "alpha"}

THIN: list[tuple[str, dict[str, Any]]] = [
    ("gemm/bf16:few_rows", {"m": 1, "n": 1, "k": 8}),
    ("gemm/bf16:few_rows", {"m": 13, "n": 200, "k": 1544, "batch": 2}),
    ("gemm/bf16:split_k", {"m": 70, "n": 131, "k": 1032, **FINISH}),
    ("gemm/grouped:ping_pong", {"m": 700, "n": 264, "k": 136, "groups": 3}),
    ("gemm/fp8:few_rows", {"m": 33, "n": 136, "k": 656}),
    ("gemm/mx", {"m": 1, "n": 1, "k": 128, "format": "e3m2"}),
    # Parts of K whose last is short, and fewer steps than shared memory holds.
    ("gemm/fp8:split_k", {"m": 50, "n": 136, "k": 2064, "gate": 1}),
    (
        "gemm/fp8_block:split_k",
        {"m": 70, "n": 301, "k": 1360, "a": "int8", "b": "int8", "scale_b": "columns"},
    ),
    ("gemm/a8wfp4:split_k", {"m": 70, "n": 131, "k": 1152}),
    ("gemm/a16wfp4:split_k", {"m": 70, "n": 131, "k": 1152}),
]


def test_scales_as_many_as_rows() -> None:
    """Scales of B, stored by its columns, look like those of A if it has as many rows as blocks."""
    scales = torch.rand(5, 5)
    numbers = torch.ones(5, 640)
    assert torch.equal(dequantized(numbers, scales, torch.float32)[:, ::128], scales)
    assert torch.equal(dequantized(numbers, scales, torch.float32, turned=True)[:, ::128], scales.mT)


FAST = ("ping_pong", "interleave")
FULL: list[tuple[str, dict[str, Any]]] = [
    *(
        (f"gemm/bf16:{variant}", {"m": 72, "n": 136, "k": 104, "layout": layout, "dtype": dtype, **finish})
        for variant in ("double_buffer", "split_k")
        for layout, dtype in itertools.product(("nt", "nn", "tn"), ("bf16", "fp16"))
        for finish in ({}, FINISH)
    ),
    *(
        (f"gemm/bf16:{variant}", {"m": 300, "n": 264, "k": 200, "batch": 2, "dtype": dtype, **finish})
        for variant, dtype in itertools.product(FAST, ("bf16", "fp16"))
        for finish in ({}, FINISH)
    ),
    *(
        ("gemm/bf16:double_buffer", {"m": 40, "n": 50, "k": 64, "activation": activation})
        for activation in ("relu", "gelu", "gelu_tanh", "silu")
    ),
    *(("gemm/bf16:few_rows", {"m": m, "n": 100, "k": 600, **FINISH}) for m in (16, 17, 32, 33, 64)),
    *(
        (f"gemm/fp8:{variant}", {"m": 300, "n": 264, "k": 400, "batch": 2, **SCALED_FINISH})
        for variant in (*FAST, "double_buffer")
    ),
    *(("gemm/fp8:few_rows", {"m": m, "n": 104, "k": 592}) for m in (1, 16, 17, 64)),
    *(
        (f"gemm/int8:{variant}", {"m": 50, "n": 264, "k": 400, "batch": 2, **SCALED_FINISH})
        for variant in ("few_rows", "ping_pong", "double_buffer")
    ),
    ("gemm/fp8_block", {"m": 200, "n": 300, "k": 1040, "batch": 2, **SCALED_FINISH}),
    *(
        ("gemm/mx", {"m": 200, "n": 300, "k": 384, "format": format, "batch": batch, **finish})
        for format in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
        for batch, finish in ((1, {}), (2, SCALED_FINISH))
    ),
    *(
        ("gemm/grouped", {"m": m, "n": 136, "k": 72, "groups": groups, "layout": layout, "dtype": dtype})
        for m, groups in ((1, 1), (40, 64), (900, 3))
        for layout, dtype in itertools.product(("nt", "nn"), ("bf16", "fp16"))
    ),
]
"""The product of the settings, which HIPKITTENS_TEST_ALL=1 verifies."""


def verify(name: str, shape: dict[str, Any], arch: str) -> None:
    result = wb.verify(name, shape=shape, device=f"emulated:{arch}", seed=random.randrange(1000))
    assert result.passed, f"{name} {shape}: {result}"


@pytest.mark.parametrize(("name", "shape"), THIN)
def test_settings(arch: str, name: str, shape: dict[str, Any]) -> None:
    verify(name, shape, arch)


@pytest.mark.skipif(os.environ.get("HIPKITTENS_TEST_ALL") != "1", reason="HIPKITTENS_TEST_ALL=1 verifies it")
@pytest.mark.parametrize(("name", "shape"), FULL)
def test_every_setting(arch: str, name: str, shape: dict[str, Any]) -> None:
    verify(name, shape, arch)


@pytest.mark.parametrize("name", ["gemm/bf16", "gemm/fp8", "gemm/fp8_block", "gemm/mx"])
def test_parts_of_k_give_the_same_bits_again(arch: str, name: str) -> None:
    """Sums of parts are added in order, whichever work-group is first."""
    spec, where = wb.kernels[f"{name}:split_k"], device(f"emulated:{arch}")
    inputs = spec.make_inputs({"m": 33, "n": 72, "k": 2176}, device=where, seed=3)
    first, records = spec.run(inputs, device=where)
    assert len(records) == 2
    again, _ = spec.run(inputs, device=where)
    assert torch.equal(first["c"], again["c"])
    assert wb.verify(spec, inputs=inputs, device=f"emulated:{arch}").passed


@pytest.mark.parametrize("variant", ["double_buffer", "split_k", "few_rows", "ping_pong"])
def test_a_scale_that_is_no_number_stays_in_its_row(variant: str) -> None:
    """Where K ends within a step of fp4, rows' scales for its second half are of no row but their own."""
    spec, where = wb.kernels[f"gemm/mx:{variant}"], device("emulated:gfx950")
    inputs = spec.make_inputs({"m": 40, "n": 72, "k": 1152, "format": "e2m1"}, device=where)
    inputs["scale_a"][5, 0] = inputs["scale_b"][9, -1] = 255
    outputs, _ = spec.run(inputs, device=where)
    finite = torch.ones(40, 72, dtype=torch.bool)
    finite[5] = finite[:, 9] = False
    assert torch.equal(outputs["c"].isfinite(), finite)


@pytest.mark.parametrize(("high", "wide"), [(32, 32), (32, 128), (128, 32), (64, 128)])
def test_tiles_of_every_shape(arch: str, high: int, wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one step, fewer than shared memory holds, and more."""
    monkeypatch.setattr(gemm_tiles, "best", lambda *sizes, **more: gemm_tiles.Tile(high, wide))
    for name, k in (("gemm/bf16", 8), ("gemm/mx", 384), ("gemm/fp8_block", 1296)):
        spec = wb.kernels[f"{name}:double_buffer"]
        shape = {"m": 70, "n": 136, "k": k}
        result = wb.verify(spec, shape=shape, device=f"emulated:{arch}", seed=high + wide)
        assert result.passed, str(result)


@pytest.mark.parametrize("name", ["gemm/bf16", "gemm/fp8", "gemm/fp8_block", "gemm/mx", "gemm/a16wfp4"])
def test_the_rule_fits_the_machine(arch: str, name: str) -> None:
    """At any size a work-group's steps fit shared memory, and parts of K are whole steps of all of it."""
    room = int(wb.targets.target(arch).lds_bytes)
    for _ in range(60):
        m, n, k = (128 * 2 ** random.randint(0, most) + 16 * random.randint(0, 8) for most in (5, 7, 7))
        shape = {"m": m, "n": n, "k": -(-k // 128) * 128}
        for variant in ("double_buffer", "split_k"):
            spec = wb.kernels[f"{name}:{variant}"]
            full = spec.shape(shape, arch=arch)
            launches = [step.launch for step in spec.active_steps(full, arch)]
            for launch in launches:
                geometry = launch(full, arch)
                assert geometry.dynamic_shared <= room, f"{name}:{variant} {shape}"


def test_few_tiles_take_parts_of_k_and_many_do_not() -> None:
    """The more tiles C has, the fewer parts; one part if every compute unit has a tile."""
    parts = [gemm_tiles.best(128, n, 14336).parts for n in (128, 512, 2048, 8192, 1 << 16)]
    assert parts == sorted(parts, reverse=True)
    assert parts[0] >= 8
    assert parts[-1] == 1


def test_ragged_sizes(arch: str) -> None:
    """Sizes drawn from the ranges, of instances that are compiled already."""
    for _ in range(4):
        m, n, k = random.randint(65, 400), random.randint(65, 400), 8 * random.randint(1, 60)
        verify("gemm/bf16:double_buffer", {"m": m, "n": n, "k": k}, arch)
        verify("gemm/fp8_block", {"m": m, "n": n, "k": 2 * k}, arch)


@pytest.mark.parametrize("name", ["gemm/bf16", "gemm/fp8", "gemm/fp8_block", "gemm/int8", "gemm/mx"])
def test_hard_inputs(arch: str, name: str) -> None:
    spec, where = wb.kernels[name], device(f"emulated:{arch}")
    for hard in spec.hard_inputs:
        inputs = spec.make_inputs({**spec.shapes[0], "m": 130, "n": 136, "k": 256}, device=where, hard=hard)
        result = wb.verify(spec, inputs=inputs, device=f"emulated:{arch}")
        assert result.passed, f"{hard}: {result}"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("gemm/bf16", {"m": 128, "n": 136, "k": 128, "layout": "nn"}),
        ("gemm/bf16", {"m": 136, "n": 128, "k": 128, "layout": "tn", "dtype": "fp16"}),
        ("gemm/bf16:few_rows", {"m": 16, "n": 200, "k": 256}),
        ("gemm/fp8_block", {"m": 128, "n": 128, "k": 256}),
        ("gemm/mx", {"m": 128, "n": 128, "k": 256, "format": "e2m1"}),
    ],
)
def test_no_bank_conflicts_and_the_same_bits_again(arch: str, name: str, shape: dict[str, Any]) -> None:
    spec, where = wb.kernels[name], device(f"emulated:{arch}")
    inputs = spec.make_inputs(shape, device=where)
    first, records = spec.run(inputs, device=where, options=LaunchOptions(profile=True))
    again, _ = spec.run(inputs, device=where)
    assert [r.counters and r.counters["lds_bank_conflict"] for r in records] == [0]
    assert torch.equal(first["c"], again["c"])


@pytest.mark.parametrize("name", ["gemm/bf16", "gemm/fp8", "gemm/int8", "gemm/grouped"])
def test_each_implementation_takes_its_own_shapes(arch: str, name: str) -> None:
    for variant in wb.kernels[name].variants:
        spec = wb.kernels[f"{name}:{variant}"]
        for shape in spec.shapes:
            spec.shape(shape, arch=arch)


@pytest.mark.parametrize(
    ("m", "n", "k", "chosen"),
    [
        (16, 4096, 4096, "few_rows"),
        (32, 128, 6144, "split_k"),
        (512, 512, 8192, "split_k"),
        (128, 2304, 1536, "split_k"),
        (128, 1 << 17, 128, "double_buffer"),
        (4096, 4096, 4096, "ping_pong"),
        (4096, 4096, 56, "double_buffer"),
        (512, 512, 512, "double_buffer"),
    ],
)
def test_which_implementation_takes_a_shape(arch: str, m: int, n: int, k: int, chosen: str) -> None:
    assert wb.kernels["gemm/bf16"].variant_name({"m": m, "n": n, "k": k}, arch=arch) == chosen


def zeros(*dims: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.zeros(dims).to(dtype)


FP8, BYTES = torch.float8_e4m3fn, torch.uint8


@pytest.mark.parametrize(
    ("name", "inputs", "says"),
    [
        (
            "gemm/bf16",
            {"a": zeros(8, 60), "b": zeros(8, 60)},
            "k is 60; expected a multiple of 8 in layout 'nt'",
        ),
        (
            "gemm/bf16",
            {"a": zeros(64, 60), "b": zeros(64, 63), "layout": "tn"},
            "m is 60; expected a multiple of 8 in layout 'tn'",
        ),
        (
            "gemm/bf16",
            {"a": zeros(8, 64), "b": zeros(8, 64), "layout": "tt"},
            "layout is 'tt'; expected one of nt, nn, tn",
        ),
        ("gemm/bf16", {"a": zeros(8, 64), "b": zeros(64, 8)}, "with the same K"),
        ("gemm/bf16", {"a": zeros(8, 64), "b": zeros(8, 64).half()}, "b is torch.float16; expected the same"),
        ("gemm/bf16", {"a": zeros(8, 64).float(), "b": zeros(8, 64).float()}, "a is torch.float32; expected"),
        ("gemm/bf16", {"a": zeros(2, 8, 64), "b": zeros(3, 8, 64)}, "as many matrices in b as in a, or one"),
        (
            "gemm/bf16",
            {"a": zeros(8, 64), "b": zeros(16, 64), "bias": zeros(8)},
            r"bias is \(8,\) torch.bfloat16; expected \(16,\)",
        ),
        (
            "gemm/bf16",
            {"a": zeros(8, 64), "b": zeros(8, 64), "activation": "tanh"},
            "activation is 'tanh'; expected one of none, relu",
        ),
        (
            "gemm/grouped",
            {"a": zeros(8, 64), "b": zeros(2, 8, 64), "offsets": torch.zeros(2, dtype=torch.int32)},
            r"offsets is \(2,\) torch.int32; expected \(3,\)",
        ),
        (
            "gemm/fp8_block",
            {
                "a": zeros(8, 256, dtype=FP8),
                "b": zeros(8, 256, dtype=FP8),
                "scale_a": torch.ones(8, 1),
                "scale_b": torch.ones(1, 2),
            },
            r"scale_a is \(8, 1\).*expected \(8, 2\)",
        ),
        (
            "gemm/mx",
            {
                "a": zeros(8, 64, dtype=BYTES),
                "b": zeros(8, 64, dtype=BYTES),
                "scale_a": zeros(8, 4, dtype=BYTES),
                "scale_b": zeros(8, 2, dtype=BYTES),
            },
            r"scale_b is \(8, 2\) torch.uint8; expected \(8, 4\) torch.uint8, one for each 32 of 128 columns",
        ),
        (
            "gemm/mx",
            {
                "a": zeros(8, 32, dtype=BYTES),
                "b": zeros(8, 32, dtype=BYTES),
                "scale_a": zeros(8, 2, dtype=BYTES),
                "scale_b": zeros(8, 2, dtype=BYTES),
            },
            "k is 64; supported is 128 to 1048576 in steps of 128",
        ),
        (
            "gemm/mx",
            {
                "a": zeros(128, 64, dtype=BYTES),
                "b": zeros(64, 128, dtype=BYTES),
                "scale_a": zeros(128, 4, dtype=BYTES),
                "scale_b": zeros(128, 4, dtype=BYTES),
                "layout": "nn",
            },
            "layout is 'nn', format is 'e2m1'; expected layout 'nt', or elements of a byte: e4m3 or e5m2",
        ),
        (
            "gemm/fp8_block",
            {
                "a": zeros(128, 16, dtype=torch.bfloat16),
                "b": zeros(16, 128, dtype=torch.bfloat16),
                "scale_a": torch.ones(16, 1),
                "scale_b": torch.ones(1, 1),
                "layout": "tt",
            },
            "layout is 'tt', a is bf16, b is bf16; expected layout 'nt', or both of fp8 or both of int8",
        ),
    ],
)
def test_refused(name: str, inputs: dict[str, Any], says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        wb.kernels[name](**inputs)


@pytest.mark.parametrize(("variant", "m"), [("few_rows", 65), ("ping_pong", 64)])
def test_an_implementation_refuses_what_it_does_not_take(variant: str, m: int) -> None:
    with pytest.raises(ShapeError, match="this implementation supports"):
        wb.kernels[f"gemm/bf16:{variant}"](zeros(m, 56), zeros(8, 56))
