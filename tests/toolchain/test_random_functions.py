"""rocRAND's device functions of the portable headers against the published algorithms."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

SOURCE = """
#include <hiprand_kernel.h>
#include <rocrand_kernel.h>
using Seed = unsigned long long;
template <typename State> State started(const Seed *how) {
    State state;
    rocrand_init(how[0], how[1], how[2], &state);
    skipahead_subsequence(how[3], &state);
    for (int i = 4; i < 8; i++) skipahead(how[i], &state);
    return state;
}
extern "C" void philox(const Seed *how, unsigned *out, long n) {
    auto state = started<rocrand_state_philox4x32_10>(how);
    for (long i = 0; i < n; i++) out[i] = rocrand(&state);
}
extern "C" void xorwow(const Seed *how, unsigned *out, long n) {
    auto state = started<rocrand_state_xorwow>(how);
    for (long i = 0; i < n; i++) out[i] = rocrand(&state);
}
extern "C" void uniform(const Seed *how, float *out, long n) {
    auto state = started<hiprandStatePhilox4_32_10_t>(how);
    for (long i = 0; i < n; i++) out[i] = hiprand_uniform(&state);
}
extern "C" void uniform_double(const Seed *how, double *out, long n) {
    auto state = started<hiprandState>(how);
    for (long i = 0; i < n; i++) out[i] = hiprand_uniform_double(&state);
}
extern "C" void normal(const Seed *how, float *out, long n) {
    auto state = started<rocrand_state_philox4x32_10>(how);
    for (long i = 0; i < n; i++) out[i] = rocrand_normal(&state);
}
extern "C" void normal_double(const Seed *how, double *out, long n) {
    auto state = started<rocrand_state_xorwow>(how);
    for (long i = 0; i < n; i++) out[i] = rocrand_normal_double(&state);
}
"""
MASK = 0xFFFFFFFF


@pytest.fixture(scope="module")
def draw(host_library: Callable[[str], Any]) -> Callable[..., np.ndarray]:
    """`draw(name, seed, subsequence, offset, more subsequences, *more offsets)`: numbers from there."""
    library = host_library(SOURCE)

    def numbers(name: str, *start: int, count: int = 23, dtype: Any = np.uint32) -> np.ndarray:
        how = np.array([*start, *[0] * (8 - len(start))], np.uint64)
        out = np.empty(count, dtype)
        getattr(library.functions, name)(
            ctypes.c_void_p(how.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_long(count)
        )
        return out

    return numbers


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        (0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((1 << 128) - 1, (1 << 64) - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            0x03707344_13198A2E_85A308D3_243F6A88,
            0x299F31D0_A4093822,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_known_answers(draw: Any, counter: int, key: int, expected: tuple[int, ...]) -> None:
    """Random123's table for philox4x32-10. An offset counts numbers, four per counter."""
    quarter, rest = divmod(counter & (1 << 64) - 1, 4)
    offsets = (*[4 * quarter] * 3, 4 * quarter)
    got = draw("philox", key, 0, 4 * rest, counter >> 64, *offsets, count=4)
    assert tuple(got) == expected


def philox(counter: int, key: int) -> list[int]:
    c = [counter >> 32 * i & MASK for i in range(4)]
    k = [key & MASK, key >> 32]
    for _ in range(10):
        even, odd = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [odd >> 32 ^ c[1] ^ k[0], odd & MASK, even >> 32 ^ c[3] ^ k[1], even & MASK]
        k = [k[0] + 0x9E3779B9 & MASK, k[1] + 0xBB67AE85 & MASK]
    return c


@pytest.fixture
def draws() -> random.Random:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    return random.Random(seed)


@pytest.mark.parametrize("carry", [False, True])
def test_philox_goes_through_its_counter(draw: Any, draws: random.Random, carry: bool) -> None:
    seed, subsequence = draws.getrandbits(64), draws.getrandbits(63)
    offset = (1 << 64) - 5 if carry else draws.getrandbits(40)
    more = (*[(1 << 64) - 4] * 3, 15) if carry else (draws.getrandbits(20),)
    got = draw("philox", seed, subsequence, offset, 0, *more)
    first = offset + sum(more)
    stream = [
        number
        for block in range(first // 4, first // 4 + 7)
        for number in philox((subsequence << 64) + block, seed)
    ]
    assert got.tolist() == stream[first % 4 :][: len(got)]


def xorwow_state(seed: int) -> tuple[list[int], int]:
    """Marsaglia's first state, changed by the seed as rocRAND does."""
    low = 1228688033 * ((seed & MASK) ^ 0x2C7F967F) & MASK
    high = 2073658381 * ((seed >> 32) ^ 0xA03697CB) & MASK
    x = [123456789 + low, 362436069 ^ low, 521288629 + high, 88675123 ^ high, 5783321 + low]
    return [word & MASK for word in x], 6615241 + low + high & MASK


def step(x: list[int]) -> list[int]:
    t = x[0] ^ x[0] >> 2
    return [*x[1:], (x[4] ^ x[4] << 4 ^ t ^ t << 1) & MASK]


def xorwow(x: list[int], d: int, count: int) -> list[int]:
    numbers = []
    for _ in range(count):
        x, d = step(x), d + 362437 & MASK
        numbers.append(x[4] + d & MASK)
    return numbers


def packed(x: list[int]) -> int:
    return sum(word << 32 * i for i, word in enumerate(x))


def unpacked(bits: int) -> list[int]:
    return [bits >> 32 * i & MASK for i in range(5)]


def apply(columns: list[int], vector: int) -> int:
    result = 0
    for i, column in enumerate(columns):
        if vector >> i & 1:
            result ^= column
    return result


def test_xorwow_from_marsaglias_state(draw: Any) -> None:
    # The seed without effect: the state printed in the paper.
    seed = 0xA03697CB_2C7F967F
    assert xorwow_state(seed) == ([123456789, 362436069, 521288629, 88675123, 5783321], 6615241)
    assert draw("xorwow", seed).tolist() == xorwow(*xorwow_state(seed), 23)


def test_xorwow_skips_numbers(draw: Any, draws: random.Random) -> None:
    seed, offset, more = draws.getrandbits(64), draws.randrange(3000), draws.randrange(400)
    expected = xorwow(*xorwow_state(seed), offset + more + 23)[offset + more :]
    assert draw("xorwow", seed, 0, offset, 0, more).tolist() == expected


def test_xorwow_skips_subsequences(draw: Any, draws: random.Random) -> None:
    """2**67 steps by squaring the step's matrix 67 times, which uses no polynomial."""
    columns = [packed(step(unpacked(1 << i))) for i in range(160)]
    for _ in range(67):
        columns = [apply(columns, column) for column in columns]
    seed, count = draws.getrandbits(64), draws.randrange(1, 8)
    x, d = xorwow_state(seed)
    vector = packed(x)
    for _ in range(count):
        vector = apply(columns, vector)
    assert draw("xorwow", seed, count).tolist() == xorwow(unpacked(vector), d, 23)


def test_uniform_numbers(draw: Any, draws: random.Random) -> None:
    seed = draws.getrandbits(64)
    bits = draw("philox", seed, 5, 3, count=100)
    expected = (bits.astype(np.float32).astype(np.float64) + 1) * 2.0**-32
    np.testing.assert_array_equal(
        draw("uniform", seed, 5, 3, count=100, dtype=np.float32), expected.astype(np.float32)
    )
    pairs = draw("xorwow", seed, 5, 3, count=100).astype(np.uint64).reshape(-1, 2)
    whole = (pairs[:, 0] | pairs[:, 1] >> np.uint64(11) << np.uint64(32)).astype(np.float64)
    got = draw("uniform_double", seed, 5, 3, count=50, dtype=np.float64)
    np.testing.assert_array_equal(got, (whole + 1) * 2.0**-53)


def test_normal_numbers(draw: Any, draws: random.Random) -> None:
    """Box and Muller's transform of the uniform numbers, sine first."""
    seed = draws.getrandbits(64)
    u = ((draw("philox", seed, count=200).astype(np.float64) + 1) * 2.0**-32).reshape(-1, 2)
    radius, angle = np.sqrt(-2 * np.log(u[:, 0])), 2 * np.pi * u[:, 1]
    expected = np.stack([radius * np.sin(angle), radius * np.cos(angle)], 1).ravel()
    np.testing.assert_allclose(
        draw("normal", seed, count=200, dtype=np.float32), expected, rtol=1e-5, atol=3e-6
    )
    words = draw("xorwow", seed, count=200).astype(np.uint64).reshape(-1, 4)
    a, b = ((words[:, i] ^ words[:, i + 1] << np.uint64(21)).astype(np.float64) for i in (0, 2))
    radius, angle = np.sqrt(-2 * np.log((a + 1) * 2.0**-53)), 2 * np.pi * (b + 1) * 2.0**-53
    expected = np.stack([radius * np.sin(angle), radius * np.cos(angle)], 1).ravel()
    got = draw("normal_double", seed, count=100, dtype=np.float64)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
