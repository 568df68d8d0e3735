"""Results as bits: stored by one process, compared by another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench import dtypes

if TYPE_CHECKING:
    import torch

_WORDS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def keep(folder: Path, tensors: Mapping[str, torch.Tensor]) -> dict[str, str]:
    """Writes tensors' bytes; returns their types by name."""
    import torch

    types = {}
    for name, tensor in tensors.items():
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        np.save(folder / f"{name}.npy", flat.view(torch.uint8).numpy())
        types[name] = str(tensor.dtype).removeprefix("torch.")
    return types


def differing(
    types: Mapping[str, str], subject: Path, reference: Path
) -> tuple[int, int, dict[str, dict[str, Any]]]:
    """Elements that differ, all elements, and the size of the differences in each tensor that has some.

    NaNs are equal, whatever their payload. A distance is in units in the last place of the larger number;
    infinities have no distance, and are counted.
    """
    wrong, total, distances = 0, 0, {}
    for name, kind in types.items():
        difference = _compare(np.load(subject / f"{name}.npy"), np.load(reference / f"{name}.npy"), kind)
        wrong += difference["elements"]
        total += difference["of"]
        if difference["elements"]:
            distances[name] = difference
    return wrong, total, distances


def _compare(subject: np.ndarray, reference: np.ndarray, kind: str) -> dict[str, Any]:
    data_type = dtypes.of_torch(kind)
    bits = data_type.bits if data_type is not None and data_type.bits in _WORDS else 8
    a, b = subject.view(_WORDS[bits]), reference.view(_WORDS[bits])
    if len(a) != len(b):
        return {"elements": max(len(a), len(b)), "of": max(len(a), len(b)), "sizes": [len(a), len(b)]}
    if data_type is None or not data_type.exponent or data_type.bits != bits:
        differ = a != b
        return {"elements": int(differ.sum()), "of": len(a)}
    (nan_a, infinite_a), (nan_b, infinite_b) = (_special(words, data_type) for words in (a, b))
    differ = (a != b) & ~(nan_a & nan_b)
    difference: dict[str, Any] = {"elements": int(differ.sum()), "of": len(a)}
    finite = differ & ~(nan_a | nan_b | infinite_a | infinite_b)
    if finite.any():
        steps = _steps(a[finite], b[finite], bits)
        difference["ulp"] = {"median": float(np.median(steps)), "largest": float(steps.max())}
    difference["nan in one alone"] = int((nan_a != nan_b).sum())
    difference["infinite in one alone"] = int((infinite_a != infinite_b).sum())
    difference["infinities of opposite sign"] = int((differ & infinite_a & infinite_b).sum())
    return difference


def _special(words: np.ndarray, data_type: dtypes.DataType) -> tuple[np.ndarray, np.ndarray]:
    """Masks of the NaN and of the infinite values."""
    import torch

    if not len(words):
        return np.zeros(0, bool), np.zeros(0, bool)
    values = torch.frombuffer(bytearray(words.tobytes()), dtype=data_type.dtype)
    # PyTorch does not compare types of eight bits.
    wide = values.float() if data_type.bits < 64 else values
    return torch.isnan(wide).numpy(), torch.isinf(wide).numpy()


def _steps(first: np.ndarray, second: np.ndarray, bits: int) -> np.ndarray:
    """Number of floats from one number to the other; both are in sign and magnitude."""
    sign = np.array(1 << bits - 1, first.dtype)
    a, b = ((words & ~sign).astype(np.uint64) for words in (first, second))
    across = (first ^ second) & sign != 0
    steps: np.ndarray = np.where(across, a + b, np.maximum(a, b) - np.minimum(a, b)).astype(np.float64)
    return steps


def distance_text(distances: Mapping[str, Mapping[str, Any]]) -> str:
    """Distances in words: "out: 12 of 4,096 differ, at most by 1 unit in the last place"."""
    return "; ".join(_distance(name, distance) for name, distance in distances.items())


def _distance(name: str, distance: Mapping[str, Any]) -> str:
    text = f"{name}: {distance['elements']:,} of {distance['of']:,} differ"
    if "ulp" in distance:
        most = distance["ulp"]["largest"]
        text += f", at most by {most:,.0f} unit{'s' if most > 1 else ''} in the last place"
    for key, words in _SPECIAL.items():
        if distance.get(key):
            text += f", {distance[key]:,} {words}"
    return text


_SPECIAL = {
    "nan in one alone": "NaN on one side only",
    "infinite in one alone": "infinite on one side only",
    "infinities of opposite sign": "infinite on both sides with opposite signs",
}
"""Categories of unequal elements without a distance, in words."""


def random_words(count: int, seed: int) -> np.ndarray:
    """Dwords of random bits; the same for a seed everywhere."""
    return np.random.Generator(np.random.PCG64(seed)).integers(0, 1 << 32, count, dtype=np.uint32)
