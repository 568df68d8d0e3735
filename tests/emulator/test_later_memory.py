"""Loads, stores and atomics of later targets, in every space, width and type, against NumPy.

Each instruction is assembly in a kernel of one wave, and each lane has a place of 32 bytes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from assembler import assembled

import workbench as wb
from workbench.targets import target as target_record

torch = pytest.importorskip("torch")

LANES, DWORDS = 32, 8
"""Lanes of the wave, and dwords of a lane's place."""

Array = npt.NDArray[np.generic]

GFX12 = "s_wait_loadcnt_dscnt 0\\n s_wait_storecnt_dscnt 0"
WAITS = {
    "gfx1100": "s_waitcnt vmcnt(0) lgkmcnt(0)\\n s_waitcnt_vscnt null, 0",
    "gfx1201": GFX12,
    "gfx1250": GFX12,
}

SOURCE = r"""
#include <hip/hip_runtime.h>
typedef unsigned W1;
typedef unsigned W2 __attribute__((ext_vector_type(2)));
typedef unsigned W3 __attribute__((ext_vector_type(3)));
typedef unsigned W4 __attribute__((ext_vector_type(4)));

// x: [lane][8], what each place holds first; y: [lane][8], data and what the result holds first.
// places and results: [row][lane][8], what both hold last.
extern "C" __global__ void memory(const unsigned *x, const unsigned *y, unsigned *places, unsigned *results) {
    __shared__ unsigned shared[32 * 8];
    volatile unsigned local[8];
    const int lane = threadIdx.x;
    const unsigned lds = (unsigned)(size_t)(__attribute__((address_space(3))) unsigned *)&shared[8 * lane];
    const unsigned scratch = (unsigned)(size_t)(__attribute__((address_space(5))) unsigned *)&local[0];
    const size_t base = (size_t)places;
#ifdef __gfx1250__
    const W4 resource = {(unsigned)base, ((unsigned)(base >> 32) & 0x1ffffff) | 1u << 31, 1u << 18, 0};
#else
    const W4 resource = {(unsigned)base, (unsigned)(base >> 32), 1u << 25, 0x31027000};
#endif
#define ROW(n, in, data_words, result_words, from, text) { \
    unsigned *own = places + (n * 32 + lane) * 8; \
    const unsigned offset = (n * 32 + lane) * 32; \
    for (int i = 0; i < 8; i++) own[i] = shared[8 * lane + i] = local[i] = x[i + 8 * lane]; \
    W##data_words data; \
    W##result_words result; \
    __builtin_memcpy(&data, y + 8 * lane, sizeof data); \
    __builtin_memcpy(&result, y + 8 * lane + 4, sizeof result); \
    asm volatile(WAIT "\n " text "\n " WAIT : [result] "+v"(result), [data] "+v"(data) \
                 : [at] "v"(own), [offset] "v"(offset), [resource] "s"(resource), \
                   [scratch] "v"(scratch), [lds] "v"(lds) : "memory"); \
    __builtin_memcpy(results + (n * 32 + lane) * 8, &from, sizeof result); \
    for (int i = 0; i < 8; i++) \
        own[i] = in == 3 ? ((volatile unsigned *)shared)[8 * lane + i] : in == 5 ? local[i] : own[i]; }
ROWS
}
"""


@dataclass(frozen=True)
class Space:
    """A space and how its instructions name an address: before their data and after it."""

    prefix: str
    before: str = ""
    after: str = ""
    number: int = 1

    def operands(self, data: str) -> str:
        return f"{self.before}{data}{self.after}"


def spaces(target: str) -> tuple[Space, ...]:
    zero = "0" if target == "gfx1100" else "null"
    return (
        Space("global", "%[at], ", ", off"),
        Space("flat", "%[at], "),
        Space("buffer", "", f", %[offset], %[resource], {zero} offen"),
        Space("scratch", "%[scratch], ", ", off", number=5),
        Space("ds", "%[lds], ", number=3),
    )


@dataclass(frozen=True)
class Row:
    """An instruction.

    Attributes:
        text: with the operands of `SOURCE`.
        data, result: their dwords.
        meaning: from what place, data and result hold [lane][8 or 4] to what place and result hold then.
    """

    text: str
    space: Space
    data: int
    result: int
    meaning: Callable[[Array, Array, Array], tuple[Array, Array]]

    @property
    def returned(self) -> str:
        """Where a result is: an atomic of a buffer returns it in the data's registers."""
        in_data = self.text.startswith("buffer_atomic") and self.text.endswith(("glc", "RETURN"))
        return "data" if in_data else "result"


def read(
    count: int, dtype: str, half: int | None = None, keep: bool = True
) -> Callable[..., tuple[Array, Array]]:
    """A load of `count` numbers: of 32 bits, or widened to that, or to a half of the register.

    Args:
        keep: whether the other half stays as it was; otherwise it is zero.
    """

    def meaning(place: Array, data: Array, result: Array) -> tuple[Array, Array]:
        values, result = place.view(dtype)[:, :count], result.copy()
        if half is None:
            result[:, :count] = values.astype(np.int64)
        else:
            if not keep:
                result[:, 0] = 0
            result.view(np.uint16)[:, half] = values[:, 0].astype(np.int64)
        return place, result

    return meaning


def written(count: int, dtype: str, first: int = 0) -> Callable[..., tuple[Array, Array]]:
    """A store of `count` numbers, from number `first` of the data on."""

    def meaning(place: Array, data: Array, result: Array) -> tuple[Array, Array]:
        place = place.copy()
        place.view(dtype)[:, :count] = data.view(dtype)[:, first : first + count]
        return place, result

    return meaning


def atomic(
    dtype: str, function: Callable[[Array, Array], Array], returns: bool, count: int = 1, operands: int = 1
) -> Callable[..., tuple[Array, Array]]:
    """An atomic of `count` numbers, whose function gets these and as many of the data for each operand."""

    def meaning(place: Array, data: Array, result: Array) -> tuple[Array, Array]:
        place, result = place.copy(), result.copy()
        old = place.view(dtype)[:, :count].copy()
        place.view(dtype)[:, :count] = function(old, data.view(dtype)[:, : count * operands])
        if returns:
            result.view(dtype)[:, :count] = old
        return place, result

    return meaning


def compared(dtype: str, returns: bool, swapped: int) -> Callable[..., tuple[Array, Array]]:
    """Compare and swap; number `swapped` of the data is the new one, the other the expected one."""

    def function(old: Array, data: Array) -> Array:
        new, expected = data[:, swapped, None], data[:, 1 - swapped, None]
        return np.where(old == expected, new, old)

    return atomic(dtype, function, returns, operands=2)


LOADS = {
    **{f"b{32 * count}": (count, read(count, "u4")) for count in (1, 2, 3, 4)},
    **{"u8": (1, read(1, "u1")), "i8": (1, read(1, "i1")), "u16": (1, read(1, "u2"))},
    "i16": (1, read(1, "i2")),
}
HALVES = {"u8": "u1", "i8": "i1", "b16": "u2"}
STORES = {
    **{f"b{32 * count}": written(count, "u4") for count in (1, 2, 3, 4)},
    **{"b8": written(1, "u1"), "b16": written(1, "u2")},
    **{"d16_hi_b8": written(1, "u1", 2), "d16_hi_b16": written(1, "u2", 1)},
}


def plain(target: str) -> Iterator[Row]:
    """Loads and stores."""
    keep = target_record(target).keeps_halves
    for space in spaces(target):
        loaded = f"%[result], {space.before}{space.after}".replace(", , ", ", ").removesuffix(", ")
        for name, (count, meaning) in LOADS.items():
            yield Row(f"{space.prefix}_load_{name} {loaded}", space, 1, count, meaning)
        for name, dtype in HALVES.items():
            for half in (0, 1):
                high = "_hi" if half else ""
                text = f"{space.prefix}_load_d16{high}_{name}"
                if space.prefix == "ds":
                    text = f"ds_load_{name.replace('b16', 'u16')}_d16{high}"
                yield Row(f"{text} {loaded}", space, 1, 1, read(1, dtype, half, keep))
        for name, meaning in STORES.items():
            count = int(name[1:]) // 32 if name[0] == "b" and int(name[1:]) >= 32 else 1
            text = f"{space.prefix}_store_{name}"
            if space.prefix == "ds" and name.startswith("d16"):
                text = f"ds_store_{name[7:]}_d16_hi"
            yield Row(f"{text} {space.operands('%[data]')}", space, count, 1, meaning)


def functions(bits: int) -> Iterator[tuple[str, str, Callable[[Array, Array], Array]]]:
    """Integer atomics of a width: name, type and meaning."""
    u, i, b = f"u{bits}", f"i{bits}", f"b{bits}"
    unsigned, signed = f"u{bits // 8}", f"i{bits // 8}"
    yield f"add_{u}", unsigned, np.add
    yield f"sub_{u}", unsigned, np.subtract
    yield f"rsub_{u}", unsigned, lambda old, data: data - old
    yield f"min_{i}", signed, np.minimum
    yield f"max_{i}", signed, np.maximum
    yield f"min_{u}", unsigned, np.minimum
    yield f"max_{u}", unsigned, np.maximum
    yield f"and_{b}", unsigned, np.bitwise_and
    yield f"or_{b}", unsigned, np.bitwise_or
    yield f"xor_{b}", unsigned, np.bitwise_xor
    yield f"swap_{b}", unsigned, lambda old, data: data
    yield f"storexchg_{b}", unsigned, lambda old, data: data
    yield f"inc_{u}", unsigned, lambda old, data: np.where(old >= data, 0, old + 1)
    yield (
        f"dec_{u}",
        unsigned,
        lambda old, data: np.where((old == 0) | (old > data), data, old - 1),
    )
    # LLVM's csub of gfx11 and sub_clamp stop at zero; cond_sub leaves what it cannot subtract from.
    clamped = lambda old, data: np.where(old >= data, old - data, 0)  # noqa: E731
    yield f"csub_{u}", unsigned, clamped
    yield f"sub_clamp_{u}", unsigned, clamped
    yield f"cond_sub_{u}", unsigned, lambda old, data: np.where(old >= data, old - data, old)


def atomics(target: str) -> Iterator[Row]:
    returning = " glc" if target == "gfx1100" else " th:TH_ATOMIC_RETURN"
    for space in (space for space in spaces(target) if space.prefix != "scratch"):
        for bits in (32, 64):
            words = bits // 32
            for name, dtype, function in functions(bits):
                for returns in (False, True):
                    meaning = atomic(dtype, function, returns)
                    yield Row(named(space, name, returns, returning), space, words, words, meaning)
            for returns in (False, True):
                meaning = compared(f"u{bits // 8}", returns, 0)
                if space.prefix != "ds":
                    text = named(space, f"cmpswap_b{bits}", returns, returning)
                    yield Row(text, space, 2 * words, words, meaning)
        for name, dtype, function in (
            ("add_f32", "f4", np.add),
            ("add_f64", "f8", np.add),
            *((f"min{n}_f{bits}", f"f{bits // 8}", np.minimum) for n in ("", "_num") for bits in (32, 64)),
            *((f"max{n}_f{bits}", f"f{bits // 8}", np.maximum) for n in ("", "_num") for bits in (32, 64)),
        ):
            words = int(dtype[1]) // 4
            for returns in (False, True):
                meaning = atomic(dtype, function, returns)
                yield Row(named(space, name, returns, returning), space, words, words, meaning)
        for returns in (False, True):
            meaning = atomic("f2", np.add, returns, count=2)
            yield Row(named(space, "pk_add_f16", returns, returning), space, 1, 1, meaning)


def named(space: Space, name: str, returns: bool, returning: str) -> str:
    """The text of an atomic."""
    if space.prefix == "ds":
        opcode, _, kind = name.rpartition("_")
        middle = "_rtn" if returns else ""
        return f"ds_{opcode}{middle}_{kind} {'%[result], ' if returns else ''}{space.operands('%[data]')}"
    result = "%[result], " if returns and space.prefix != "buffer" else ""
    data = "%[data]"
    return f"{space.prefix}_atomic_{name} {result}{space.operands(data)}{returning if returns else ''}"


def there(rows: list[Row], target: str) -> list[Row]:
    """The rows that the target has."""
    texts = []
    for row in rows:
        text = row.text
        for operand, register in (("[data]", 10), ("[result]", 20)):
            words = row.data if operand == "[data]" else row.result
            text = text.replace(
                f"%{operand}", f"v[{register}:{register + words - 1}]" if words > 1 else f"v{register}"
            )
        for operand, register in (("at", "v[2:3]"), ("offset", "v2"), ("scratch", "v2"), ("lds", "v2")):
            text = text.replace(f"%[{operand}]", register)
        texts.append(text.replace("%[resource]", "s[4:7]"))
    return [row for row, code in zip(rows, assembled(texts, target), strict=True) if code]


def check(rows: list[Row], target: str, x: npt.NDArray[np.uint32], y: npt.NDArray[np.uint32]) -> None:
    lines = [
        f'    ROW({number}, {row.space.number}, {row.data}, {row.result}, {row.returned}, "{row.text}")'
        for number, row in enumerate(rows)
    ]
    source = SOURCE.replace("ROWS\n", "\n".join(lines) + "\n").replace("WAIT", f'"{WAITS[target]}"')
    module = wb.compile(source, arch=target, name="memory.hip")
    shape = len(rows), LANES, DWORDS
    places, results = torch.zeros(shape, dtype=torch.int32), torch.zeros(shape, dtype=torch.int32)
    tensors = [torch.from_numpy(values.view(np.int32).copy()) for values in (x, y)]
    module["memory"][1, LANES](*tensors, places, results)
    wrong = []
    for number, row in enumerate(rows):
        data, result = y[:, :4].copy(), y[:, 4:].copy()
        place, expected = row.meaning(x.copy(), data, result)
        got = results[number].numpy().view(np.uint32)[:, : row.result]
        if not np.array_equal(places[number].numpy().view(np.uint32), place):
            wrong.append(f"{row.text}: memory")
        if not np.array_equal(got, expected[:, : row.result]):
            wrong.append(f"{row.text}: result")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", WAITS)
def test_loads_and_stores(target: str, random: np.random.Generator) -> None:
    x, y = random.integers(0, 1 << 32, (2, LANES, DWORDS), dtype=np.uint32)
    rows = there([*plain(target)], target)
    assert len(rows) > 100
    check(rows, target, x, y)


@pytest.mark.parametrize("target", WAITS)
def test_atomics(target: str, random: np.random.Generator) -> None:
    x, y = random.integers(0, 1 << 32, (2, LANES, DWORDS), dtype=np.uint32)
    # Small differences, equal numbers and zeros occur; halves and words are finite floats.
    x &= 0x3FFF3FFF
    y &= 0x3FFF3FFF
    y[::3, :2] = x[::3, :2]
    y[::3, 2:4] = x[::3, :2]
    x[1::5] = 0
    rows = there([*atomics(target)], target)
    print(" ".join(sorted({row.text.split()[0] for row in rows})))
    assert len(rows) > 150
    check(rows, target, x, y)
