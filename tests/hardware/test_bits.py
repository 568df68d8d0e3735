"""Results as bits: which differ, and by how many units in the last place."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from workbench.hardware import bits


def compared(tmp_path: Path, first: torch.Tensor, other: torch.Tensor) -> tuple[int, int, dict]:
    folders = []
    for name, tensor in (("one", first), ("other", other)):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        types = bits.keep(folder, {"d": tensor})
        folders.append(folder)
    return bits.differing(types, *folders)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_neighbours_are_one_unit_apart_also_across_zero(tmp_path: Path, dtype: torch.dtype) -> None:
    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    first = torch.tensor([1.0, -1.0, 0.0, 2.0], dtype=dtype)
    other = (first.view(words) + torch.tensor([1, 1, 1, 0], dtype=words)).view(dtype)
    wrong, total, report = compared(tmp_path, first, other)
    assert (wrong, total) == (3, 4)
    assert report["d"]["ulp"] == {"median": 1, "largest": 1}
    smallest = torch.tensor([1], dtype=words).view(dtype)
    assert compared(tmp_path, smallest, -smallest)[2]["d"]["ulp"]["largest"] == 2


@pytest.mark.parametrize("shape", [(), (0,), (1,), (4, 0), (1, 1)])
def test_few_results_or_none(tmp_path: Path, shape: tuple[int, ...]) -> None:
    first = torch.ones(shape)
    assert compared(tmp_path, first, first) == (0, first.numel(), {})
    assert compared(tmp_path, first, -first)[0] == first.numel()


def test_all_nans_are_equal_and_differ_from_numbers(tmp_path: Path) -> None:
    first = torch.tensor([0x7FC00000, 0x7FC00001, 0x7FC00000, 0x3F800000], dtype=torch.int32).view(
        torch.float32
    )
    other = torch.tensor([0x7FC00000, 0x7FC00000, 0x3F800000, 0x3F800000], dtype=torch.int32).view(
        torch.float32
    )
    wrong, _, report = compared(tmp_path, first, other)
    assert wrong == 1
    assert report["d"]["nan in one alone"] == 1
    assert "1 NaN on one side only" in bits.distance_text(report)


def test_integers_and_small_floats_differ_by_bits(tmp_path: Path) -> None:
    first = torch.tensor([1, 2, 3], dtype=torch.int32)
    assert compared(tmp_path, first, first + torch.tensor([0, 1, 0]).int())[0] == 1
    fp8 = torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn)
    assert (
        compared(tmp_path, fp8, torch.tensor([1.0, 2.25]).to(torch.float8_e4m3fn))[2]["d"]["ulp"]["largest"]
        == 1
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64, torch.float8_e5m2])
def test_infinities_are_written_as_words(tmp_path: Path, dtype: torch.dtype) -> None:
    """Infinities have no distance: in units in the last place it would be 4,278,190,080."""
    infinity = float("inf")
    first = torch.tensor([infinity, -infinity, infinity, 1.0, infinity]).to(dtype)
    other = torch.tensor([infinity, infinity, 2.0, -infinity, float("nan")]).to(dtype)
    wrong, total, report = compared(tmp_path, first, other)
    assert (wrong, total) == (4, 5)
    assert "ulp" not in report["d"]
    assert bits.distance_text(report) == (
        "d: 4 of 5 differ, 1 NaN on one side only, 3 infinite on one side only, "
        "1 infinite on both sides with opposite signs"
    )


def test_a_type_without_infinities_has_distances_alone(tmp_path: Path) -> None:
    first = torch.tensor([0x7E, 0x7E], dtype=torch.uint8).view(torch.float8_e4m3fn)
    other = torch.tensor([0x7E, 0x7D], dtype=torch.uint8).view(torch.float8_e4m3fn)
    assert bits.distance_text(compared(tmp_path, first, other)[2]) == (
        "d: 1 of 2 differ, at most by 1 unit in the last place"
    )


def test_zeros_of_both_signs_differ(tmp_path: Path) -> None:
    assert compared(tmp_path, torch.tensor([0.0]), torch.tensor([-0.0]))[0] == 1


def test_other_sizes_are_reported(tmp_path: Path) -> None:
    assert compared(tmp_path, torch.zeros(3), torch.zeros(2))[2]["d"]["sizes"] == [3, 2]
