"""Results as bits: kept by one process, compared by another."""

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
    """Writes tensors' bytes; gives their types by name."""
    import torch

    told = {}
    for name, tensor in tensors.items():
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        np.save(folder / f"{name}.npy", flat.view(torch.uint8).numpy())
        told[name] = str(tensor.dtype).removeprefix("torch.")
    return told


def differing(types: Mapping[str, str], one: Path, other: Path) -> tuple[int, int, dict[str, dict[str, Any]]]:
    """Elements that differ, elements in all, and of each tensor with differences how large they are.

    NaNs are equal, whatever their payload. A distance is in units in the last place of the larger number;
    infinities have none, and are counted.
    """
    wrong, total, told = 0, 0, {}
    for name, kind in types.items():
        found = _compare(np.load(one / f"{name}.npy"), np.load(other / f"{name}.npy"), kind)
        wrong += found["elements"]
        total += found["of"]
        if found["elements"]:
            told[name] = found
    return wrong, total, told


def _compare(one: np.ndarray, other: np.ndarray, kind: str) -> dict[str, Any]:
    known = dtypes.of_torch(kind)
    bits = known.bits if known is not None and known.bits in _WORDS else 8
    a, b = one.view(_WORDS[bits]), other.view(_WORDS[bits])
    if len(a) != len(b):
        return {"elements": max(len(a), len(b)), "of": max(len(a), len(b)), "sizes": [len(a), len(b)]}
    if known is None or not known.exponent or known.bits != bits:
        differ = a != b
        return {"elements": int(differ.sum()), "of": len(a)}
    (nan_a, infinite_a), (nan_b, infinite_b) = (_special(each, known) for each in (a, b))
    differ = (a != b) & ~(nan_a & nan_b)
    found: dict[str, Any] = {"elements": int(differ.sum()), "of": len(a)}
    finite = differ & ~(nan_a | nan_b | infinite_a | infinite_b)
    if finite.any():
        steps = _steps(a[finite], b[finite], bits)
        found["ulp"] = {"median": float(np.median(steps)), "largest": float(steps.max())}
    found["nan in one alone"] = int((nan_a != nan_b).sum())
    found["infinite in one alone"] = int((infinite_a != infinite_b).sum())
    found["infinities of opposite sign"] = int((differ & infinite_a & infinite_b).sum())
    return found


def _special(words: np.ndarray, known: dtypes.DataType) -> tuple[np.ndarray, np.ndarray]:
    """Which are NaN, and which infinite."""
    import torch

    if not len(words):
        return np.zeros(0, bool), np.zeros(0, bool)
    values = torch.frombuffer(bytearray(words.tobytes()), dtype=known.dtype)
    # Eight bits have no comparison of their own.
    wide = values.float() if known.bits < 64 else values
    return torch.isnan(wide).numpy(), torch.isinf(wide).numpy()


def _steps(one: np.ndarray, other: np.ndarray, bits: int) -> np.ndarray:
    """Floats from one number to the other: both are sign and magnitude."""
    sign = np.array(1 << bits - 1, one.dtype)
    a, b = ((words & ~sign).astype(np.uint64) for words in (one, other))
    across = (one ^ other) & sign != 0
    found: np.ndarray = np.where(across, a + b, np.maximum(a, b) - np.minimum(a, b)).astype(np.float64)
    return found


def distance_text(told: Mapping[str, Mapping[str, Any]]) -> str:
    """How far apart, for people: "out: 12 of 4,096 differ, at most by 1 unit in the last place"."""
    return "; ".join(_distance(name, each) for name, each in told.items())


def _distance(name: str, each: Mapping[str, Any]) -> str:
    text = f"{name}: {each['elements']:,} of {each['of']:,} differ"
    if "ulp" in each:
        most = each["ulp"]["largest"]
        text += f", at most by {most:,.0f} unit{'s' if most > 1 else ''} in the last place"
    for what, words in _SPECIAL.items():
        if each.get(what):
            text += f", {each[what]:,} {words}"
    return text


_SPECIAL = {
    "nan in one alone": "NaN on one side alone",
    "infinite in one alone": "infinite on one side alone",
    "infinities of opposite sign": "infinite on both sides with opposite signs",
}
"""Of what is counted beside distances: in words."""


def random_words(count: int, seed: int) -> np.ndarray:
    """Dwords with every bit by chance; the same for a seed everywhere."""
    return np.random.Generator(np.random.PCG64(seed)).integers(0, 1 << 32, count, dtype=np.uint32)
