"""The library's kernels are correct: nothing is reported, and sanitizing changes no results.

tests/kernels/test_operators.py sanitizes every operator; the tile library's tests do the same with
HIPKITTENS_TEST_SANITIZE=1 (tests/conftest.py).
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.runtime import LaunchOptions, device  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

SHAPES = [
    ("normalization/rmsnorm", {"rows": 64, "cols": 1024}),
    ("normalization/rmsnorm", {"rows": 33, "cols": 4096}),
    ("activations/softmax", {"rows": 64, "cols": 1024}),
    ("activations/softmax", {"rows": 17, "cols": 256}),
    ("gemm/bf16", {"m": 256, "n": 256, "k": 256}),
    ("gemm/bf16", {"m": 512, "n": 256, "k": 192}),
]


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_nothing_is_reported(name: str, shape: dict[str, int], arch: str) -> None:
    result = wb.sanitize(name, shape=shape, device=f"emulated:{arch}")
    assert result.passed, str(result)
    assert "nothing found" in result._repr_html_()


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
