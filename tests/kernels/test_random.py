"""Philox and dropout: known answers, and PyTorch's masks."""

from __future__ import annotations

import pytest
import torch
from tile_cases import Batch

from workbench.operators import kernels
from workbench.runtime import device
from workbench_kernels.references.philox import keep_mask, philox

KNOWN = {
    ((0, 0, 0, 0), (0, 0)): (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2): (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)): (
        *(0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
}
"""Words by counter and key (low, high): the test vectors of the Random123 library."""


def test_philox_has_the_known_words(arch: str) -> None:
    body = "".join(
        f"{{ const auto w = philox(u32x4{{{', '.join(f'{c}u' for c in counter)}}}, "
        f"{key[1] << 32 | key[0]}ull); "
        f"for (int i = 0; i < 4; i++) g.out[4 * {number} + i] = static_cast<int>(w[i]); }}"
        for number, (counter, key) in enumerate(KNOWN)
    )
    batch = Batch()
    expected = torch.tensor(list(KNOWN.values())).flatten().to(torch.int32)
    batch.add("philox", body, expected={"out": expected})
    batch.run(arch)


def test_philox_in_pytorch_has_the_known_words() -> None:
    for (counter, key), words in KNOWN.items():
        assert philox(torch.tensor(counter), key[1] << 32 | key[0]).tolist() == list(words)


@pytest.mark.parametrize("p", [0.0, 0.01, 0.5])
def test_dropout_keeps_what_the_mask_says(arch: str, p: float) -> None:
    """In every layout, for a tile that begins somewhere in its matrix."""
    seed, row, col, scale = 0xFEDCBA9876543210, 40, 24, 1 / (1 - torch.tensor(p))
    batch = Batch()
    for layout in ("row_l", "col_l"):
        for shape, rows, cols in (("rt_16x16_s", 32, 16), ("rt_16x32_s", 16, 64), ("rt_32x32_s", 32, 32)):
            x = torch.randn(rows, cols, generator=torch.Generator().manual_seed(1))
            keep = keep_mask(row + rows, col + cols, p, seed)[row:, col:]
            batch.add(
                f"{layout} {shape}",
                f"rt_fl<{rows}, {cols}, {layout}, {shape}> r; load(r, g.x, {{0, 0, 0, 0}});"
                f"dropout(r, r, {p}f, {seed}ull, {row}, {col}); store(g.out, r, {{0, 0, 0, 0}});",
                x=x,
                expected={"out": torch.where(keep, x * scale, 0)},
            )
    batch.run(arch)


def test_the_mask_drops_with_its_probability() -> None:
    keep = keep_mask(1000, 999, 0.25, 7)
    # Five standard deviations of a million draws.
    assert abs(keep.double().mean() - 0.75) < 5 * (0.25 * 0.75 / keep.numel()) ** 0.5
    assert not torch.equal(keep, keep_mask(1000, 999, 0.25, 8))


def test_layernorm_drops_by_the_mask(arch: str) -> None:
    """The operator adds x to the residual by the mask that PyTorch makes, element for element."""
    spec = kernels["normalization/fused_add_layernorm"]
    x = torch.rand(5, 300, generator=torch.Generator().manual_seed(1)) + 1
    inputs = {"x": x, "residual": torch.zeros(5, 300), "p": 0.3, "seed": 1 << 40 | 5}
    result = spec.run(spec.bind(**inputs), device=device(f"emulated:{arch}"))[0]
    assert torch.equal(result["residual_out"] != 0, keep_mask(5, 300, 0.3, 1 << 40 | 5))
