"""Rotary position embeddings: cases that the tests of all operators omit."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import workbench as wb
from workbench.errors import ArgumentError, ShapeError


def test_tokens_too_far_apart_are_refused() -> None:
    apart = 1 << 27
    x = torch.empty(1, 1, 2, 128, dtype=torch.bfloat16, device="meta").as_strided(
        (1, 1, 2, 128), (1, 1, apart, 1)
    )
    angles = torch.empty(2, 64, dtype=torch.bfloat16, device="meta")
    with pytest.raises(ShapeError, match=f"tokens less than {apart} elements apart"):
        wb.kernels["rotary/rope"].shape_of(x=x, cos=angles, sin=angles)


def test_tables_beyond_offsets_of_32_bits_are_refused() -> None:
    x = torch.empty(1, 1, 2, 128, dtype=torch.bfloat16, device="meta")
    angles = torch.empty(1 << 24, 64, device="meta")
    with pytest.raises(ShapeError, match=r"4294967296 bytes; expected less than 4294967040"):
        wb.kernels["rotary/rope"].shape_of(x=x, cos=angles, sin=angles)


def test_one_token_for_all_places_and_places_without_angles() -> None:
    generator = torch.Generator().manual_seed(3)
    where = wb.device("emulated:gfx950")
    token = torch.randn(1, 3, 1, 128, generator=generator).bfloat16()
    angles = torch.randn(5, 64, generator=generator).bfloat16()
    positions = torch.tensor([4, -1, 0, 5, 2, 1 << 40, 1, 3, -(1 << 40)])
    cos, sin = (torch.cat((table, torch.zeros(1, 64))).bfloat16() for table in (angles.cos(), angles.sin()))
    rope = wb.kernels["rotary/rope"]
    inputs = {"x": token.expand(1, 3, 9, 128), "cos": cos[:5], "sin": sin[:5], "positions": positions}
    with pytest.raises(ArgumentError, match=r"positions\[1\] is -1; expected an index from 0 to 4"):
        rope.run(inputs, device=where)
    # The kernel itself reads nothing outside of its tables.
    got, _ = dataclasses.replace(rope, indexes={}).run(inputs, device=where)
    inside = torch.where((positions >= 0) & (positions < 5), positions, 5)
    expected = rope.reference(token.expand(1, 3, 9, 128), cos, sin, inside)
    torch.testing.assert_close(got["out"], expected, rtol=1e-2, atol=1e-2)
