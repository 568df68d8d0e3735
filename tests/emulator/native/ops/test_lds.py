"""DS operations against a model in Python, and bank conflicts against measurements on a gfx950."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from workbench.emulator.native.ops.atomics import LDS_ATOMICS
from workbench.emulator.native.ops.lds import READS, WRITES

DATA = Path(__file__).parents[3] / "data"
FULL = (1 << 64) - 1
SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "96": 12, "128": 16}


def bytes_of(kind: str) -> int:
    return SIZES[kind.split("_")[0][1:]]


def loaded(kind: str, data: bytes) -> list[int]:
    if kind.startswith("b"):
        return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    value = int.from_bytes(data, "little", signed=kind.startswith("i"))
    if kind.endswith("hi"):
        return [(value & 0xFFFF) << 16]
    if kind.endswith("d16"):
        return [value & 0xFFFF]
    return [value & 0xFFFFFFFF]


@pytest.fixture
def wave(native, random):
    wave = native.Wave(lds_size=4096)
    wave.lds[:] = random.integers(0, 256, wave.lds.size)
    wave.v[:] = random.integers(0, 1 << 32, wave.v.shape)
    wave.exec = [FULL, 0, 1 << 41, int(random.integers(0, 1 << 63))][int(random.integers(0, 4))]
    return wave


def active(wave, lane: int) -> bool:
    return bool(wave.exec >> lane & 1)


@pytest.mark.parametrize("kind", READS)
def test_read(native, random, wave, kind: str) -> None:
    size = bytes_of(kind)
    wave.v[20] = at = random.integers(0, 4096 - 100 - size + 1, 64)
    for lane in range(64):
        if not active(wave, lane):
            wave.v[20, lane] = 0xFFFFFFF0
    before = wave.v.copy()
    # The result replaces the address.
    read = native.instruction(f"ds_read_{kind}", [native.v(18, 4)], [native.v(20)], offset=100)
    assert not wave.run(read)
    expected = before.copy()
    for lane in range(64):
        if active(wave, lane):
            data = wave.lds[at[lane] + 100 : at[lane] + 100 + size].tobytes()
            registers = loaded(kind, data)
            expected[18 : 18 + len(registers), lane] = registers
    assert np.array_equal(wave.v, expected)


@pytest.mark.parametrize("kind", WRITES)
def test_write(native, random, wave, kind: str) -> None:
    size = bytes_of(kind)
    wave.v[20] = at = random.permutation(64) * (size + 3)
    expected = wave.lds.copy()
    write = native.instruction(f"ds_write_{kind}", [], [native.v(20), native.a(0, 4)], offset=7)
    assert not wave.run(write)
    for lane in range(64):
        if active(wave, lane):
            data = wave.v[256:260, lane].tobytes()
            data = data[2 : 2 + size] if kind.endswith("hi") else data[:size]
            expected[at[lane] + 7 : at[lane] + 7 + size] = list(data)
    assert np.array_equal(wave.lds, expected)


@pytest.mark.parametrize("stride", ["", "st64"])
@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_two_addresses(native, random, wave, stride: str, kind: str) -> None:
    size = bytes_of(kind)
    unit = size * (64 if stride else 1)
    first, second = (1, 3) if stride else (9, 77)
    wave.v[20] = at = random.permutation(64) * size
    expected = wave.lds.copy()
    write = native.instruction(
        f"ds_write2{stride}_{kind}",
        [],
        [native.v(20), native.v(30, 2), native.v(40, 2)],
        offset0=first,
        offset1=second,
    )
    assert not wave.run(write)
    for offset, register in ((first, 30), (second, 40)):
        for lane in range(64):
            if active(wave, lane):
                start = at[lane] + offset * unit
                data = wave.v[register : register + size // 4, lane].tobytes()
                expected[start : start + size] = list(data)
    if stride or kind == "b32":
        assert np.array_equal(wave.lds, expected)
    before = wave.v.copy()
    read = native.instruction(
        f"ds_read2{stride}_{kind}", [native.v(20, 4)], [native.v(20)], offset0=first, offset1=second
    )
    assert not wave.run(read)
    for lane in range(64):
        data = b"".join(wave.lds[at[lane] + o * unit :][:size].tobytes() for o in (first, second))
        stored = wave.v[20 : 20 + size // 2, lane].tobytes()
        assert stored == (data if active(wave, lane) else before[20 : 20 + size // 2, lane].tobytes())


@pytest.mark.parametrize("stride", ["", "st64"])
def test_two_addresses_below_zero(native, wave, stride: str) -> None:
    """Address and offset are added in 32 bits, separately for each offset."""
    unit = 256 if stride else 4
    first, second = 4, 5
    wave.exec = (1 << 64) - 1
    # The first offset takes lanes to bytes 0 to 252.
    wave.v[20] = (4 * np.arange(64) - first * unit) & 0xFFFFFFFF
    memory = wave.lds.view(np.uint32).copy()
    read = native.instruction(
        f"ds_read2{stride}_b32", [native.v(22, 2)], [native.v(20)], offset0=first, offset1=second
    )
    assert not wave.run(read)
    assert np.array_equal(wave.v[22], memory[:64])
    assert np.array_equal(wave.v[23], memory[unit // 4 :][:64])
    write = native.instruction(
        f"ds_write2{stride}_b32",
        [],
        [native.v(20), native.v(23), native.v(22)],
        offset0=first,
        offset1=second,
    )
    assert not wave.run(write)
    expected = memory.copy()
    expected[:64] = memory[unit // 4 :][:64]
    expected[unit // 4 :][:64] = memory[:64]
    assert np.array_equal(wave.lds.view(np.uint32), expected)


@pytest.mark.parametrize(
    ("opcode", "bits"),
    [
        ("ds_read_b64_tr_b16", 16),
        ("ds_read_b64_tr_b8", 8),
        ("ds_read_b64_tr_b4", 4),
        ("ds_read_b96_tr_b6", 6),
    ],
)
def test_transposing_read(native, random, opcode: str, bits: int) -> None:
    """Each 16 lanes read rows of 16 elements; a lane's result is a column, zeros where no lane reads."""
    wave = native.Wave(lds_size=8192)
    wave.lds[:] = random.integers(0, 256, wave.lds.size)
    size = 12 if bits == 6 else 8
    for wave.exec in (FULL, int(random.integers(0, 1 << 63))):
        wave.v[20] = at = random.permutation(64) * 16
        before = wave.v[20:23].copy()
        assert not wave.run(native.instruction(opcode, [native.v(20, 3)], [native.v(20)], offset=32))
        count = size * 8 // bits
        for group in range(0, 64, 16):
            elements: list[int] = []
            for lane in range(group, group + 16):
                stored = wave.lds[at[lane] + 32 :][:size].tobytes() if active(wave, lane) else bytes(size)
                piece = int.from_bytes(stored, "little")
                elements += [piece >> (bits * e) & (1 << bits) - 1 for e in range(count)]
            rows = np.array(elements).reshape(count, 16)
            for lane in range(group, group + 16):
                words = wave.v[20 : 20 + size // 4, lane]
                if not active(wave, lane):
                    assert np.array_equal(words, before[: size // 4, lane])
                    continue
                value = int.from_bytes(words.tobytes(), "little")
                got = [value >> (bits * e) & (1 << bits) - 1 for e in range(count)]
                assert got == list(rows[:, lane - group])


@pytest.mark.parametrize("opcode", ["ds_read_b128", "ds_write_b64", "ds_read2_b32", "ds_add_u32"])
def test_fault_names_the_lane(native, opcode: str) -> None:
    wave = native.Wave(lds_size=1024)
    wave.v[20] = 0
    wave.v[20, 9] = 1020 if opcode in ("ds_read_b128", "ds_write_b64") else 1024
    sources = [native.v(20), native.v(30, 4)]
    run = native.instruction(opcode, [native.v(40, 4)] if "read" in opcode else [], sources)
    assert wave.run(run)
    fault = wave.wave.fault
    assert (fault.kind, fault.lane) == (native.abi.FAULT_LDS, 9)
    wave.exec = FULL ^ 1 << 9
    assert not wave.run(run)


GIVEN = 512
"""Bytes that hardware allocates for a request of 100."""

_AT, _DATA, _RESULT = 20, 24, 40


def beyond_cases(native) -> dict[str, tuple]:
    """Instructions of every kind with an address in LDS: results, sources, modifiers, bytes of a lane."""
    at, data, result = native.v(_AT), native.v(_DATA, 4), native.v(_RESULT, 4)
    cases: dict[str, tuple] = {f"ds_read_{kind}": ([result], [at], {}, bytes_of(kind)) for kind in READS}
    cases |= {f"ds_write_{kind}": ([], [at, data], {}, bytes_of(kind)) for kind in WRITES}
    for bits in (32, 64):
        pair = {"offset0": 1, "offset1": 0}
        cases[f"ds_read2_b{bits}"] = ([result], [at], pair, bits // 8)
        two = [native.v(_DATA, bits // 32), native.v(_DATA + 2, bits // 32)]
        cases[f"ds_write2_b{bits}"] = ([], [at, *two], pair, bits // 8)
        cases[f"ds_wrxchg2_rtn_b{bits}"] = ([result], [at, *two], pair, bits // 8)
        suffix = "" if bits == 32 else "_x2"
        cases[f"ds_add_rtn_u{bits}"] = ([result], [at, data], {}, bits // 8)
        cases[f"ds_cmpst_b{bits}"] = ([], [at, *two], {}, bits // 8)
        cases[f"flat_load_dword{'' if bits == 32 else 'x2'}"] = ([result], [at], {}, bits // 8)
        cases[f"flat_store_dword{'' if bits == 32 else 'x2'}"] = ([], [at, data], {}, bits // 8)
        cases[f"flat_atomic_add{suffix}"] = ([result], [at, data], {"sc0": 1}, bits // 8)
    return cases


def test_beyond_the_share_hardware_continues(native, random) -> None:
    """Lanes inside LDS are not affected by the others, which read 0 and write nothing."""
    for opcode, (results, sources, modifiers, size) in beyond_cases(native).items():
        wave, model = native.Wave(lds_size=100, lds_end=GIVEN), native.Wave(lds_size=GIVEN)
        wave.lds[:] = model.lds[:] = random.integers(0, 256, wave.lds.size)
        # Both addresses of an instruction with two are on one side.
        addresses = 2 if "offset0" in modifiers else 1
        places = 16 * random.integers(0, 2 * GIVEN // 16, 64)
        places[[3, 4, 5]] = GIVEN - 16, GIVEN, 1 << 20
        wave.v[:] = random.integers(0, 1 << 32, wave.v.shape)
        wave.v[_AT] = places
        wave.v[_AT + 1] = native.abi.SHARED_APERTURE >> 32
        model.v[:] = old = wave.v.copy()
        there, missing = places < GIVEN, places + addresses * size > 100
        model.exec = sum(1 << lane for lane in range(64) if there[lane])
        run = native.instruction(opcode, results, sources, **modifiers)
        assert not wave.run(run), opcode
        assert not model.run(run), opcode
        assert np.array_equal(wave.lds, model.lds), opcode
        assert np.array_equal(wave.v[:, there], model.v[:, there]), opcode
        if results:
            rows = [r for r in range(_RESULT, _RESULT + 4) if (model.v[r] != old[r]).any()]
            assert rows, opcode
            assert not wave.v[rows][:, ~there].any(), opcode
        assert missing.sum() <= wave.overrun.count <= addresses * missing.sum(), opcode
        first = wave.overrun.first
        assert first.kind == native.abi.FAULT_LDS
        assert missing[first.lane]
        assert bool(first.is_write) == ("read" not in opcode and "load" not in opcode)


def test_transposed_reads_beyond_the_share(native, random) -> None:
    """A lane that finds no LDS contributes zeros."""
    for opcode, size in (("b64_tr_b16", 8), ("b64_tr_b8", 8), ("b64_tr_b4", 8), ("b96_tr_b6", 12)):
        wave, model = native.Wave(lds_size=100, lds_end=GIVEN), native.Wave(lds_size=GIVEN + 64)
        wave.lds[:GIVEN] = model.lds[:GIVEN] = random.integers(0, 256, GIVEN)
        places = 4 * random.integers(0, GIVEN // 4, 64)
        wave.v[_AT] = places
        # Zeros where the model's lanes read instead.
        model.lds[GIVEN:] = 0
        model.v[_AT] = np.where(places + size > GIVEN, GIVEN, places)
        run = native.instruction(f"ds_read_{opcode}", [native.v(_RESULT, size // 4)], [native.v(_AT)])
        assert not wave.run(run)
        assert not model.run(run)
        rows = slice(_RESULT, _RESULT + size // 4)
        assert np.array_equal(wave.v[rows], model.v[rows]), opcode
        assert wave.overrun.count == (places + size > 100).sum()


def test_append_and_addtid_beyond_the_share(native) -> None:
    wave = native.Wave(lds_size=100, lds_end=GIVEN)
    wave.lds[:] = 1
    wave.v[3:5] = 7
    for offset, old in ((GIVEN - 4, 0x01010101), (GIVEN, 0)):
        wave.wave.s[native.abi.M0] = offset << 16
        assert not wave.run(native.instruction("ds_append", [native.v(3)], []))
        assert set(wave.v[3]) == {old}
    assert wave.lds[GIVEN:].all()
    wave.wave.s[native.abi.M0] = GIVEN - 128
    assert not wave.run(native.instruction("ds_read_addtid_b32", [native.v(4)], []))
    assert wave.v[4, :32].all()
    assert not wave.v[4, 32:].any()
    assert not wave.run(native.instruction("ds_write_addtid_b32", [], [native.v(9)]))
    assert (wave.lds[GIVEN:] == 1).all()


def test_addtid(native, wave) -> None:
    wave.wave.s[native.abi.M0] = 0xABC0100
    before = wave.v[4].copy()
    assert not wave.run(native.instruction("ds_read_addtid_b32", [native.v(4)], [], offset=20))
    words = wave.lds[0x114 : 0x114 + 256].view(np.uint32)
    mask = np.array([active(wave, lane) for lane in range(64)])
    assert np.array_equal(wave.v[4], np.where(mask, words, before))
    assert not wave.run(native.instruction("ds_write_addtid_b32", [], [native.v(9)], offset=1024))
    words = wave.lds[0x500 : 0x500 + 256].view(np.uint32)
    assert np.array_equal(words[mask], wave.v[9][mask])


def as_signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def float_of(value: int, bits: int) -> float:
    dtype = {16: np.float16, 32: np.float32, 64: np.float64}[bits]
    return float(np.array([value], {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]).view(dtype)[0])


def bits_of(value: float, bits: int) -> int:
    dtype = {16: np.float16, 32: np.float32, 64: np.float64}[bits]
    with np.errstate(over="ignore"):
        return int(np.array([value], dtype).view({16: np.uint16, 32: np.uint32, 64: np.uint64}[bits])[0])


def updated(name: str, old: int, data: int, second: int, bits: int) -> int:
    """Memory after a DS atomic (numbers only: no NaN)."""
    top = (1 << bits) - 1
    kind, _, type_ = name.replace("_rtn", "").rpartition("_")
    if type_[0] == "f" and kind in ("min", "max", "add", "cmpst"):
        a, b = float_of(old, bits), float_of(data, bits)
        if kind == "add":
            dtype = np.float32 if bits == 32 else np.float64
            with np.errstate(over="ignore"):
                return bits_of(float(dtype(a) + dtype(b)), bits)
        if kind == "cmpst":
            return second if a == b else old
        return old if (a <= b if kind == "min" else a >= b) else data
    if kind == "pk_add":
        result = 0
        for half in (0, 16):
            a, b = old >> half & 0xFFFF, data >> half & 0xFFFF
            if type_ == "f16":
                sum_ = bits_of(float_of(a, 16) + float_of(b, 16), 16)
            else:
                wide = float_of(a << 16, 32) + float_of(b << 16, 32)
                single = bits_of(wide, 32)
                sum_ = single + 0x7FFF + (single >> 16 & 1) >> 16 & 0xFFFF
            result |= sum_ << half
        return result
    signed = type_[0] == "i"
    a = as_signed(old, bits) if signed else old
    b = as_signed(data, bits) if signed else data
    return {
        "add": lambda: old + data,
        "sub": lambda: old - data,
        "rsub": lambda: data - old,
        "inc": lambda: 0 if old >= data else old + 1,
        "dec": lambda: data if old == 0 or old > data else old - 1,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "and": lambda: old & data,
        "or": lambda: old | data,
        "xor": lambda: old ^ data,
        "mskor": lambda: old & ~data | second,
        "cmpst": lambda: second if old == data else old,
        "wrxchg": lambda: data,
        "wrap": lambda: old - data if old >= data else old + second,
        "condxchg32": lambda: sum(
            (data >> s & 0x7FFFFFFF if data >> s + 31 & 1 else old >> s & 0xFFFFFFFF) << s for s in (0, 32)
        ),
    }[kind]() & top


@pytest.mark.parametrize("name", LDS_ATOMICS)
def test_atomic(native, random, name: str) -> None:
    wave = native.Wave(lds_size=2048)
    bits = 64 if name.endswith("64") else 32
    size = bits // 8
    wave.wave.mode = 0xF0
    wave.exec = exec_mask = int(random.integers(0, 1 << 63))
    is_float = name.rsplit("_", 1)[1][0] in "f" or name.endswith("bf16")
    if is_float and "pk" not in name:
        dtype = np.float32 if bits == 32 else np.float64
        numbers = random.standard_normal((3, 256)).astype(dtype)
        numbers[:, ::9] = numbers[0, 0]
        raw = numbers.view(np.uint32 if bits == 32 else np.uint64)
    elif "pk" in name:
        halves = random.standard_normal((3, 512)).astype(np.float16).view(np.uint16)
        if "bf16" in name:
            halves = (random.standard_normal((3, 512)).astype(np.float32).view(np.uint32) >> 16).astype(
                np.uint16
            )
        raw = np.ascontiguousarray(halves).view(np.uint32)
    else:
        raw = random.integers(0, 1 << bits, (3, 256), dtype=np.uint64)
        raw[:, ::5] >>= np.uint64(bits - 2)
        raw[1:, ::7] = raw[0, ::7]
    memory = [int(x) for x in raw[0]]
    data, second = [int(x) for x in raw[1, :64]], [int(x) for x in raw[2, :64]]
    where = random.integers(0, 40, 64)
    for lane in range(0, 64, 3):
        data[lane] = memory[where[lane]]
    wave.lds[: 256 * size].view(np.uint32 if bits == 32 else np.uint64)[:] = memory
    wave.v[20] = where * size
    for register, values in ((30, data), (40, second)):
        wave.v[register] = [x & 0xFFFFFFFF for x in values]
        wave.v[register + 1] = [x >> 32 for x in values]
    two = any(word in name for word in ("cmpst", "mskor", "wrap"))
    sources = [native.v(20), native.v(30, size // 4), *([native.v(40, size // 4)] if two else [])]
    returns = "rtn" in name
    before = wave.v.copy()
    # The previous value replaces the data.
    run = native.instruction(f"ds_{name}", [native.v(30, 2)] if returns else [], sources, offset=8 * size)
    assert not wave.run(run)
    expected = before.copy()
    for lane in range(64):
        if exec_mask >> lane & 1:
            old = memory[where[lane] + 8]
            memory[where[lane] + 8] = updated(name, old, data[lane], second[lane], bits)
            if returns:
                expected[30, lane] = old & 0xFFFFFFFF
                if bits == 64:
                    expected[31, lane] = old >> 32
    contents = wave.lds[: 256 * size].view(np.uint32 if bits == 32 else np.uint64)
    assert [int(x) for x in contents] == memory
    assert np.array_equal(wave.v, expected)


def test_float_atomics_follow_the_denormal_mode(native) -> None:
    tiny = bits_of(1e-40, 32)
    for mode, expected in ((0xF0, 2 * tiny), (0x00, 0)):
        wave = native.Wave(lds_size=256)
        wave.wave.mode, wave.exec = mode, 1
        wave.lds.view(np.uint32)[0] = tiny
        wave.v[2], wave.v[3] = 0, tiny
        wave.run(native.instruction("ds_add_f32", [], [native.v(2), native.v(3)]))
        assert wave.lds.view(np.uint32)[0] == expected


def test_minimum_of_zeros_and_nans(native) -> None:
    cases = [  # (memory, data, min, max)
        (0x00000000, 0x80000000, 0x80000000, 0x00000000),
        (0x80000000, 0x00000000, 0x80000000, 0x00000000),
        (0x7FC00001, 0x3F800000, 0x3F800000, 0x3F800000),
        (0x3F800000, 0x7FC00001, 0x3F800000, 0x3F800000),
        (0x3F800000, 0x7F800001, 0x7FC00001, 0x7FC00001),
    ]
    for name, column in (("min", 2), ("max", 3)):
        wave = native.Wave(lds_size=256)
        wave.wave.mode = 0xF0
        wave.exec = (1 << len(cases)) - 1
        wave.lds.view(np.uint32)[: len(cases)] = [c[0] for c in cases]
        wave.v[2] = 4 * np.arange(64)
        wave.v[3, : len(cases)] = [c[1] for c in cases]
        wave.run(native.instruction(f"ds_{name}_f32", [], [native.v(2), native.v(3)]))
        assert list(wave.lds.view(np.uint32)[: len(cases)]) == [c[column] for c in cases]


def test_append_and_consume(native) -> None:
    wave = native.Wave(lds_size=256)
    wave.wave.s[native.abi.M0] = 16 << 16
    wave.exec = 0xFF0
    wave.lds.view(np.uint32)[6] = 100
    wave.run(native.instruction("ds_append", [native.v(3)], [], offset=8))
    assert wave.lds.view(np.uint32)[6] == 108
    assert list(wave.v[3, 3:13]) == [0] + 8 * [100] + [0]
    wave.run(native.instruction("ds_consume", [native.v(3)], [], offset=8))
    assert wave.lds.view(np.uint32)[6] == 100
    assert wave.v[3, 4] == 108


# Bank conflicts


def conflicts(wave, native, opcode: str, addresses: np.ndarray, exec_mask: int = FULL) -> int:
    wave.exec = exec_mask
    wave.v[20] = addresses
    before = wave.counters.lds_bank_conflict
    data = native.v(30, int(opcode.rpartition("b")[2]) // 32)
    sources = [native.v(20)] if "read" in opcode else [native.v(20), data]
    assert not wave.run(native.instruction(opcode, [data] if "read" in opcode else [], sources))
    return int(wave.counters.lds_bank_conflict - before)


MEASURED = pytest.mark.parametrize(
    ("opcode", "banks"),
    [("ds_read_b128", 64), ("ds_read_b96", 32), ("ds_read_b64", 64), ("ds_write_b64", 32)],
)


@MEASURED
def test_measured_conflicts_of_two_lanes(native, opcode: str, banks: int) -> None:
    """Two lanes on one bank conflict exactly where the hardware's counter says."""
    with open(DATA / f"lds_conflict_matrix_{opcode}.csv", newline="") as file:
        rows = list(csv.reader(line for line in file if not line.startswith("#")))[1:]
    measured = np.array([[int(x) for x in row[1:]] for row in rows])
    wave = native.Wave(lds_size=4096, profile=True)
    for lane in range(64):
        for two in range(64):
            if lane == two:
                continue
            addresses = np.zeros(64, int)
            addresses[two] = 4 * banks
            assert conflicts(wave, native, opcode, addresses, 1 << lane | 1 << two) == measured[lane, two]


@MEASURED
def test_lanes_whose_dwords_overlap_in_part(native, opcode: str, banks: int) -> None:
    """Lane 1 moved by single banks: the hardware's counter rose at whole rows of banks, and only there."""
    wave = native.Wave(lds_size=4096, profile=True)
    for bank in range(1, 128):
        addresses = np.zeros(64, int)
        addresses[1] = 4 * bank
        assert conflicts(wave, native, opcode, addresses, 0b11) == (bank % banks == 0), bank


@pytest.mark.parametrize(
    ("target", "opcode", "confirmed"),
    [
        ("gfx950", "ds_read_b128", True),
        ("gfx950", "ds_read_b96", True),
        ("gfx950", "ds_read_b32", False),
        ("gfx950", "ds_write_b128", False),
        ("gfx942", "ds_read_b128", False),
    ],
)
def test_unconfirmed_behaviour_is_stated(native, target: str, opcode: str, confirmed: bool) -> None:
    wave = native.Wave(target=target, lds_size=4096, profile=True)
    conflicts(wave, native, opcode, 16 * np.arange(64))
    assert wave.counters.lds_unconfirmed == (not confirmed)


def test_calibration_of_the_counter(native) -> None:
    """ds_write_b64, lane t at byte t * 256: SQ_LDS_BANK_CONFLICT was 60 on the hardware."""
    wave = native.Wave(lds_size=65536, profile=True)
    assert conflicts(wave, native, "ds_write_b64", 256 * np.arange(64)) == 60


@pytest.mark.parametrize(
    ("target", "opcode", "stride", "expected"),
    [
        ("gfx950", "ds_read_b128", 16, 0),
        ("gfx950", "ds_read_b64", 8, 0),
        ("gfx950", "ds_write_b64", 8, 0),
        ("gfx950", "ds_read_b32", 4, 0),
        ("gfx942", "ds_read_b128", 16, 0),
        ("gfx942", "ds_read_b32", 128, 62),
        ("gfx950", "ds_read_b64", 256, 62),
        ("gfx950", "ds_read_b128", 0, 0),
    ],
)
def test_conflicts_of_strides(native, target: str, opcode: str, stride: int, expected: int) -> None:
    wave = native.Wave(target, lds_size=65536, profile=True)
    assert conflicts(wave, native, opcode, stride * np.arange(64)) == expected
    assert wave.counters.lds_bytes_read + wave.counters.lds_bytes_written == 64 * bytes_of(
        opcode.split("_")[-1]
    )


def test_nothing_is_counted_without_profiling(native) -> None:
    wave = native.Wave(lds_size=65536)
    assert conflicts(wave, native, "ds_write_b64", 256 * np.arange(64)) == 0
