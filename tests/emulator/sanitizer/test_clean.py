"""The library's own kernels are right: nothing is reported, for every one of them and on both targets.

The tile library's tests do the same with HIPKITTENS_TEST_SANITIZE=1 (tests/conftest.py).
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.errors import ShapeError  # noqa: E402
from workbench.runtime import LaunchOptions, device  # noqa: E402
from workbench.spec import KernelSpec, Range  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

SHAPES = [
    ("normalization/rmsnorm", {"rows": 64, "cols": 1024}),
    ("normalization/rmsnorm", {"rows": 33, "cols": 4096}),
    ("activations/softmax", {"rows": 64, "cols": 1024}),
    ("activations/softmax", {"rows": 17, "cols": 256}),
    ("gemm/bf16", {"m": 256, "n": 256, "k": 256}),
    ("gemm/bf16", {"m": 512, "n": 256, "k": 192}),
]

SMALL = 256
"""What every dimension of a problem is brought down to, as far as a kernel takes it: a few tiles each way."""


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_nothing_is_reported(name: str, shape: dict[str, int], arch: str) -> None:
    result = wb.sanitize(name, shape=shape, device=f"emulated:{arch}")
    assert result.passed, str(result)
    assert "nothing found" in result._repr_html_()


def small_shape(spec: KernelSpec, arch: str) -> dict[str, Any]:
    """A small problem that a kernel takes: its first shape with every dimension brought down."""
    shape = dict(spec.shape(dict(spec.shapes[0])))
    for name, parameter in spec.parameters.items():
        if not isinstance(parameter, Range) or shape[name] <= SMALL:
            continue
        steps = -(-max(SMALL - parameter.low, 0) // parameter.step)
        smaller = {**shape, name: parameter.low + steps * parameter.step}
        with contextlib.suppress(ShapeError):
            shape = spec.shape(smaller, arch=arch)
    return shape


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", sorted(wb.kernels))
def test_nothing_is_reported_of_any_kernel(name: str, arch: str) -> None:
    spec = wb.kernels[name]
    if arch not in spec.targets:
        pytest.skip(f"{name} is not for {arch}")
    result = wb.sanitize(name, shape=small_shape(spec, arch), device=f"emulated:{arch}")
    assert result.passed, str(result)


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize(("name", "shape"), SHAPES[::2])
def test_results_and_counters_are_those_of_a_plain_launch(
    name: str, shape: dict[str, int], arch: str
) -> None:
    spec = wb.kernels[name]
    where = device(f"emulated:{arch}")
    full = spec.shape(shape, arch=arch)
    inputs = spec.make_inputs(full, seed=3, device=where)
    outputs = spec.make_outputs(full, inputs)
    seen = []
    for sanitized in (False, True):
        for tensor in outputs.values():
            tensor.zero_()
        options = LaunchOptions(count=True, profile=True, sanitize=sanitized)
        kernel = spec.kernel(full, arch=arch)
        _, (record,) = spec.run(inputs, outputs, shape=full, code=kernel, device=where, options=options)
        content = [tensor.view(torch.uint8).clone() for tensor in outputs.values()]
        seen.append((content, record.counts, record.counters))
    (plain, counts, counters), (followed, followed_counts, followed_counters) = seen
    assert counts
    assert counts == followed_counts
    assert counters == followed_counters
    assert all(torch.equal(a, b) for a, b in zip(plain, followed, strict=True))
