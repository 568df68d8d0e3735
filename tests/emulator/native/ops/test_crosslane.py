"""Moves between lanes, each against its definition in one line of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

LANES = np.arange(64)


@pytest.fixture
def wave(native, random):
    wave = native.Wave()
    wave.v[:] = random.integers(0, 1 << 32, wave.v.shape)
    wave.exec = [(1 << 64) - 1, int(random.integers(0, 1 << 63))][int(random.integers(0, 2))]
    return wave


def mask(wave) -> np.ndarray:
    return np.array([wave.exec >> lane & 1 for lane in range(64)], bool)


def test_bpermute(native, random, wave) -> None:
    wave.v[1] = random.integers(0, 1 << 32, 64)
    address, data, old = wave.v[1].copy(), np.where(mask(wave), wave.v[2], 0), wave.v[2].copy()
    run = native.instruction("ds_bpermute_b32", [native.v(2)], [native.v(1), native.v(2)], offset=12)
    assert not wave.run(run)
    source = (address.astype(np.uint64) + 12) // 4 % 64
    assert np.array_equal(wave.v[2], np.where(mask(wave), data[source.astype(int)], old))


def test_permute(native, random, wave) -> None:
    wave.v[1] = 4 * random.integers(0, 64, 64)
    sent = np.zeros(64, np.uint32)
    for lane in LANES[mask(wave)]:
        sent[wave.v[1, lane] // 4] = wave.v[2, lane]
    expected = np.where(mask(wave), sent, wave.v[3])
    assert not wave.run(native.instruction("ds_permute_b32", [native.v(3)], [native.v(1), native.v(2)]))
    assert np.array_equal(wave.v[3], expected)


def swizzled(pattern: int, lane: int) -> int:
    """Source lane by the ISA guide's description of DS_SWIZZLE_B32."""
    group, low = lane & 32, lane & 31
    if pattern >= 0xE000:
        keep = pattern & 31
        turned = int(f"{low:05b}"[::-1], 2) >> bin(keep).count("1")
        return group | turned | low & keep
    if pattern >= 0xC000:
        turn, keep = pattern >> 5 & 31, pattern & 31
        turn = -turn if pattern & 0x400 else turn
        return group | low & keep | (low + turn) % 32 & ~keep
    if pattern & 0x8000:
        return lane & ~3 | pattern >> 2 * (lane & 3) & 3
    return group | (low & pattern & 31 | pattern >> 5 & 31) ^ pattern >> 10 & 31


@pytest.mark.parametrize(
    "pattern",
    [0x041F, 0x7C1F, 0x0000, 0x03E0, 0x801B, 0x80E4, 0xC020, 0xC7E3, 0xC464, 0xE000, 0xE00F, 0xE01F],
)
def test_swizzle(native, wave, pattern: int) -> None:
    source = np.array([swizzled(pattern, lane) for lane in range(64)])
    values = np.where(mask(wave), wave.v[2], 0)
    expected = np.where(mask(wave), values[source], wave.v[3])
    assert not wave.run(native.instruction("ds_swizzle_b32", [native.v(3)], [native.v(2)], offset=pattern))
    assert np.array_equal(wave.v[3], expected)


@pytest.mark.parametrize("group", [16, 32])
def test_permlane_swap(native, random, group: int) -> None:
    """Odd groups of the first register change places with the preceding even groups of the second."""
    wave = native.Wave()
    wave.v[:] = random.integers(0, 1 << 32, wave.v.shape)
    first, second = (wave.v[r].reshape(-1, 2, group).copy() for r in (4, 5))
    first[:, 1], second[:, 0] = second[:, 0].copy(), first[:, 1].copy()
    assert not wave.run(native.instruction(f"v_permlane{group}_swap_b32", [native.v(4)], [native.v(5)]))
    assert np.array_equal(wave.v[4], first.reshape(-1))
    assert np.array_equal(wave.v[5], second.reshape(-1))
