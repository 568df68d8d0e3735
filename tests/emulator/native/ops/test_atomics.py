"""Atomics on memory: every operation, returning and not, through global, flat and buffer addresses."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from workbench.emulator.native.ops.atomics import MEMORY_ATOMICS

FULL = (1 << 64) - 1


def as_signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def real(value: int, bits: int) -> float:
    if bits == 64:
        return float(np.array([value], np.uint64).view(np.float64)[0])
    return float(np.array([value], np.uint32).view(np.float32)[0])


def updated(name: str, old: int, data: int, compare: int, bits: int) -> int:
    """Memory after one lane; integers of Python, floats by NumPy's additions."""
    kind = name.removesuffix("_x2")
    if kind == "add_f32":
        return int((np.float32(real(old, 32)) + np.float32(real(data, 32))).view(np.uint32))
    if kind == "add_f64":
        return int((np.float64(real(old, 64)) + np.float64(real(data, 64))).view(np.uint64))
    if kind in ("min_f64", "max_f64"):
        pick = min if kind == "min_f64" else max
        return pick(old, data, key=lambda bits: real(bits, 64))
    if kind == "pk_add_f16":
        halves = np.array([old, data], np.uint32).view(np.float16).reshape(2, 2)
        return int((halves[0] + halves[1]).view(np.uint32)[0])
    if kind == "pk_add_bf16":
        result = 0
        for shift in (0, 16):
            total = np.float32(real((old >> shift & 0xFFFF) << 16, 32)) + np.float32(
                real((data >> shift & 0xFFFF) << 16, 32)
            )
            single = int(total.view(np.uint32))
            result |= (single + 0x7FFF + (single >> 16 & 1) >> 16 & 0xFFFF) << shift
        return result
    return {
        "swap": lambda: data,
        "cmpswap": lambda: data if old == compare else old,
        "add": lambda: old + data,
        "sub": lambda: old - data,
        "smin": lambda: min(old, data, key=lambda x: as_signed(x, bits)),
        "smax": lambda: max(old, data, key=lambda x: as_signed(x, bits)),
        "umin": lambda: min(old, data),
        "umax": lambda: max(old, data),
        "and": lambda: old & data,
        "or": lambda: old | data,
        "xor": lambda: old ^ data,
        "inc": lambda: 0 if old >= data else old + 1,
        "dec": lambda: data if old == 0 or old > data else old - 1,
    }[kind]() & ((1 << bits) - 1)


def operands(random: np.random.Generator, name: str, bits: int, shape: tuple[int, ...]) -> np.ndarray:
    if name.startswith("pk_add_f16"):
        return (
            random.standard_normal((*shape, 2)).astype(np.float16).view(np.uint32)[..., 0].astype(np.uint64)
        )
    if name.startswith("pk_add_bf16"):
        high = random.standard_normal(shape).astype(np.float32).view(np.uint32) & 0xFFFF0000
        low = random.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16
        return (high | low).astype(np.uint64)
    if "f32" in name:
        return random.standard_normal(shape).astype(np.float32).view(np.uint32).astype(np.uint64)
    if "f64" in name:
        return random.standard_normal(shape).view(np.uint64)
    values = random.integers(0, 1 << bits, shape, dtype=np.uint64)
    return np.where(random.random(shape) < 0.3, values % np.uint64(5), values)


@pytest.mark.parametrize("space", ["global", "global saddr", "flat", "buffer"])
@pytest.mark.parametrize("returns", [True, False])
@pytest.mark.parametrize("name", MEMORY_ATOMICS)
def test_atomic(native, random, space: str, returns: bool, name: str) -> None:
    bits = 64 if name.endswith(("_x2", "f64")) else 32
    dtype = np.uint64 if bits == 64 else np.uint32
    memory = native.aligned((64,), dtype)
    memory[:] = operands(random, name, bits, (64,))
    expected = [int(x) for x in memory]
    wave = native.Wave(memory=[memory])
    wave.exec = mask = int(random.integers(0, 1 << 63))
    where = random.integers(0, 40, 64)
    data, compare = operands(random, name, bits, (2, 64))
    compare = np.where(random.random(64) < 0.5, memory[where], compare)
    rows = bits // 32
    for first, values in ((30, data), (30 + rows, compare)):
        wave.v[first] = values & np.uint64(0xFFFFFFFF)
        if bits == 64:
            wave.v[first + 1] = values >> np.uint64(32)
    at = where * (bits // 8)
    limit = 64
    if space == "global saddr":
        wave.set_s64(10, memory.ctypes.data - 16)
        wave.v[20] = at + 16
        sources = [native.v(20), native.v(30, 4), native.s(10, 2)]
    elif space == "buffer":
        limit = 32
        wave.wave.s[8] = memory.ctypes.data & 0xFFFFFFFF
        wave.wave.s[9] = memory.ctypes.data >> 32
        wave.wave.s[10] = limit * bits // 8
        wave.wave.s[11] = 7 << 15
        wave.v[20] = at
        sources = [native.v(20), native.s(8, 4), native.imm(0)]
    else:
        wave.set_v64(20, memory.ctypes.data + at)
        sources = [native.v(20, 2), native.v(30, 4), native.off]
    destination = native.v(30, 2) if space == "buffer" else native.v(50, 2)
    modifiers = {"sc0": 1} if returns else {}
    if space == "buffer":
        modifiers["offen"] = 1
        dst = [destination]
    else:
        dst = [destination] if returns else []
    before = wave.v.copy()
    opcode = f"{space.split()[0]}_atomic_{name}"
    assert not wave.run(native.instruction(opcode, dst, sources, **modifiers))
    registers = before.copy()
    for lane in range(64):
        if not mask >> lane & 1:
            continue
        inside = where[lane] < limit
        old = expected[where[lane]] if inside else 0
        if inside:
            expected[where[lane]] = updated(name, old, int(data[lane]), int(compare[lane]), bits)
        if returns:
            registers[destination.index, lane] = old & 0xFFFFFFFF
            if bits == 64:
                registers[destination.index + 1, lane] = old >> 32
    assert [int(x) for x in memory] == expected
    assert np.array_equal(wave.v, registers)


def test_misaligned_address_faults(native) -> None:
    memory = native.aligned((64,), np.uint32)
    wave = native.Wave(memory=[memory])
    wave.set_v64(2, np.where(np.arange(64) == 5, memory.ctypes.data + 2, memory.ctypes.data))
    assert wave.run(native.instruction("global_atomic_add", [], [native.v(2, 2), native.v(4), native.off]))
    assert (wave.wave.fault.kind, wave.wave.fault.lane) == (native.abi.FAULT_ALIGNMENT, 5)
    assert not memory.any()


def test_flat_atomics_reach_lds_and_scratch(native) -> None:
    memory = native.aligned((64,), np.uint32)
    wave = native.Wave(memory=[memory], lds_size=256, scratch_size=16)
    lanes = np.arange(64)
    at = np.choose(
        lanes % 3,
        [
            np.full(64, memory.ctypes.data),
            np.full(64, native.abi.SHARED_APERTURE + 8),
            np.full(64, native.abi.PRIVATE_APERTURE + 4),
        ],
    )
    wave.set_v64(2, at)
    wave.v[4] = lanes + 1
    assert not wave.run(native.instruction("flat_atomic_add", [], [native.v(2, 2), native.v(4)]))
    assert memory[0] == sum(lane + 1 for lane in range(0, 64, 3))
    assert wave.lds.view(np.uint32)[2] == sum(lane + 1 for lane in range(1, 64, 3))
    private = wave.scratch.view(np.uint32).reshape(-1, 64)[1]
    assert np.array_equal(private, np.where(lanes % 3 == 2, lanes + 1, 0))


def test_two_threads_lose_no_update(native) -> None:
    memory = native.aligned((4,), np.uint32)

    def work() -> None:
        wave = native.Wave(memory=[memory])
        wave.set_v64(2, np.full(64, memory.ctypes.data))
        wave.v[4] = 1
        wave.v[5] = np.float32(1.0).view(np.uint32)
        add, op = wave.prepare(
            native.instruction("global_atomic_add", [], [native.v(2, 2), native.v(4), native.off])
        )
        at_4 = native.instruction(
            "global_atomic_add_f32", [], [native.v(2, 2), native.v(5), native.off], offset=4
        )
        add_float, op_float = wave.prepare(at_4)
        for _ in range(500):
            add(native.abi.address(wave.wave), native.abi.address(op))
            add_float(native.abi.address(wave.wave), native.abi.address(op_float))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory[0] == 2 * 500 * 64
    assert memory[1:2].view(np.float32)[0] == 2 * 500 * 64
