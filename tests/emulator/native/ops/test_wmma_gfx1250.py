"""gfx1250's sparse matrix instructions, and those of 8, 6 and 4 bits with scales, against exact integers.

Every number is a multiple of a power of two, and small enough for every sum to be exact. Elements are placed
by other equations than the device's: for sparse instructions those of AMD's FPSan (ROCm/rocm-systems).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import workbench as wb
from workbench import errors
from workbench.kernel import Module

torch = pytest.importorskip("torch")

SIDE, LANES, K = 16, 32, 128
ARCH = "gfx1250"

EIGHTS = [f"{a}_{b}" for a, b in itertools.product(("fp8", "bf8"), repeat=2)]
SPARSE = [
    *(f"{d}_16x16x64_{a}" for d, a in (("f32", "f16"), ("f32", "bf16"), ("f16", "f16"), ("bf16", "bf16"))),
    "bf16f32_16x16x64_bf16",
    *(f"{d}_16x16x128_{factors}" for d in ("f32", "f16") for factors in EIGHTS),
    "i32_16x16x128_iu8",
]
DTYPES = {
    **{"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32},
    **{"fp8": torch.float8_e4m3fn, "bf8": torch.float8_e5m2, "iu8": torch.int8},
}

# Name, bits, bits of the mantissa, bias.
FORMATS = {"fp8": (8, 3, 7), "bf8": (8, 2, 15), "fp6": (6, 3, 1), "bf6": (6, 2, 3), "fp4": (4, 1, 1)}
SCALES = {"E8": (8, 0, 127), "E5M3": (8, 3, 15), "E4M3": (8, 3, 7)}
FP4_SCALES = ("E5M3", "E4M3")
PREFIX = "#include <hip/hip_runtime.h>\n#define R(n) __attribute__((ext_vector_type(n)))\n"


def decode(pattern: int, bits: int, mantissa: int, bias: int, signed: bool = True) -> float:
    """The number with this pattern, which is no infinity and no NaN."""
    magnitude = pattern & (1 << bits - 1) - 1 if signed else pattern
    exponent, fraction = magnitude >> mantissa, magnitude & (1 << mantissa) - 1
    if exponent == 0 and mantissa > 0:
        value = fraction * 2.0 ** (1 - bias - mantissa)
    else:
        value = (1 + fraction / (1 << mantissa)) * 2.0 ** (exponent - bias)
    return -value if signed and pattern >> bits - 1 else value


@cache
def patterns(name: str) -> dict[float, int]:
    """Patterns of the numbers that every format has: fp4's."""
    numbers = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0}
    bits = FORMATS[name][0]
    codes = {decode(code, *FORMATS[name]): code for code in reversed(range(1 << bits))}
    return {sign * value: codes[sign * value] for value in numbers for sign in (1, -1)}


def scatter(rows: int, elements: dict[tuple[int, int], int]) -> torch.Tensor:
    """Registers, each lane's adjacent in memory, from patterns by lane and first bit."""
    registers = [0] * LANES
    for (lane, bit), value in elements.items():
        registers[lane] |= value << bit
    words = [[lane >> 32 * row & 0xFFFFFFFF for row in range(rows)] for lane in registers]
    return torch.from_numpy(np.array(words, np.uint32).view(np.int32))


def by_lane(c: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """Sums as registers: lane 16 g + n has column n of rows 8 g to 8 g + 7, of each sixteen rows."""
    halves = torch.from_numpy(c).to(dtype).reshape(-1, 2, 8, SIDE)
    return halves.permute(1, 3, 0, 2).reshape(LANES, -1).contiguous()


def of_lanes(registers: torch.Tensor, dtype: torch.dtype, rows: int = SIDE) -> torch.Tensor:
    halves = registers.view(dtype).reshape(2, SIDE, rows // SIDE, 8).double()
    return halves.permute(2, 0, 3, 1).reshape(rows, SIDE)


class Sparse:
    """Types and sizes of a sparse instruction, by its name."""

    def __init__(self, name: str) -> None:
        d, size, a, *b = name.split("_")
        self.name, self.k = name, int(size.split("x")[2])
        # C is D, in the registers of C's type.
        self.type_d = "f32" if d == "bf16f32" else d
        self.type_a, self.type_b = a, b[0] if b else a
        self.bits = 16 if a in ("f16", "bf16") else 8
        self.rows_d = 4 if self.type_d in ("f16", "bf16") else 8
        self.rows_k = 1 if self.k == 64 else 2

    def kernel(self) -> str:
        signs = " neg_lo:[1,1,0]" if self.type_a == "iu8" else ""
        index = f"int R({self.rows_k})" if self.rows_k > 1 else "int"
        return f"""
extern "C" __global__ void swmmac_{self.name}(const int R(8) *a, const int R(16) *b, const {index} *k,
                                              int R({self.rows_d}) *d) {{
    const int i = threadIdx.x;
    int R({self.rows_d}) sums = d[i];
    asm("v_swmmac_{self.name} %0, %1, %2, %3{signs}" : "+v"(sums) : "v"(a[i]), "v"(b[i]), "v"(k[i]));
    d[i] = sums;
}}
"""

    def index_place(self, i: int, n: int) -> tuple[int, int]:
        """Lane and first bit of the index of stored element n of row i."""
        if self.k == 64:
            return i + 16 * (n >> 4), 16 * (n >> 1 & 1) + 4 * (n >> 2 & 3) + 2 * (n & 1)
        return i + 16 * (n // 32), 32 * (n // 2 & 1) + 4 * (n // 4 % 8) + 2 * (n & 1)


def name_of(a: str, b: str) -> str:
    return f"blocks_{a}_{b}"


def block_kernel(name: str, opcode: str, sizes: tuple[int, int, int], texts: dict[str, str]) -> str:
    """A kernel with the instruction as often as there are texts of modifiers, by its kinds of scales."""
    a, b, c = sizes
    body = ""
    for number, (kind, text) in enumerate(texts.items()):
        count = {"": 0, "scale": 1, "scale16": 2}[kind.partition(":")[0]]
        scale = {0: "", 1: ", %4, %5", 2: ", %4, %5"}[count]
        inputs = {0: "", 1: ', "v"(sa[i].x), "v"(sb[i].x)', 2: ', "v"(sa[i]), "v"(sb[i])'}[count]
        prefix = f"v_wmma_{kind.partition(':')[0]}_" if count else "v_wmma_"
        body += f"""
    asm volatile("{prefix}{opcode} %0, %1, %2, %3{scale} {text}"
                 : "=&v"(w) : "v"(a[i]), "v"(b[i]), "v"(c[i]){inputs});
    d[{LANES * number} + i] = w;"""
    return f"""
extern "C" __global__ void {name}(const int R({a}) *a, const int R({b}) *b, const float R({c}) *c,
                                  const int2 *sa, const int2 *sb, float R({c}) *d) {{
    const int i = threadIdx.x;
    float R({c}) w;{body}
}}
"""


def rows_of(name: str) -> int:
    return K * FORMATS[name][0] // 64


PAIRS = list(itertools.product(FORMATS, repeat=2))
MODIFIED = "neg_lo:[0,0,1] neg_hi:[0,0,1]"
UPPER = "matrix_a_scale:MATRIX_SCALE_ROW1 matrix_b_scale:MATRIX_SCALE_ROW1"


def block_kernels() -> str:
    kernels = []
    for a, b in PAIRS:
        text = f"matrix_a_fmt:MATRIX_FMT_{a.upper()} matrix_b_fmt:MATRIX_FMT_{b.upper()}"
        texts = {"": f"{text} {MODIFIED}", "scale": text, "scale16": f"{text} {UPPER}"}
        sizes = rows_of(a), rows_of(b), 8
        kernels.append(block_kernel(name_of(a, b), "f32_16x16x128_f8f6f4", sizes, texts))
    tall = {"": MODIFIED, "scale": UPPER, "scale16": ""}
    kernels.append(block_kernel("tall", "f32_32x16x128_f4", (16, 8, 16), tall))
    for kind in FP4_SCALES:
        text = f"matrix_a_scale_fmt:MATRIX_SCALE_FMT_{kind} matrix_b_scale_fmt:MATRIX_SCALE_FMT_{kind}"
        kernels.append(block_kernel(f"tall_{kind}", "f32_32x16x128_f4", (16, 8, 16), {"scale16": text}))
    return "".join(kernels)


@pytest.fixture(scope="module")
def module() -> Module:
    return wb.compile(PREFIX + "".join(Sparse(name).kernel() for name in SPARSE) + block_kernels(), arch=ARCH)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_products(module: Module, random: np.random.Generator, name: str) -> None:
    s = Sparse(name)
    most = 2 if s.type_d in ("f16", "bf16") else 6
    a, b = (random.integers(-most, most + 1, (SIDE, k)) for k in (s.k // 2, s.k))
    if s.type_d == "bf16":  # sums of at most 8 bits
        b[:, 16:] = 0
    c = random.integers(-9, 10, (SIDE, SIDE))
    codes = [
        torch.from_numpy(x).to(DTYPES[kind]).view(torch.uint8 if s.bits == 8 else torch.uint16).tolist()
        for x, kind in ((a, s.type_a), (b, s.type_b))
    ]
    place_a, place_b, indices = {}, {}, {}
    dense = np.zeros((SIDE, s.k), np.int64)
    for i in range(SIDE):
        for k in range(s.k):
            place_b[i + 16 * (k >> 2 & 1), s.bits * (4 * (k >> 3) + (k & 3))] = codes[1][i][k]
        for group in range(s.k // 4):
            selected = sorted(random.choice(4, 2, replace=False).tolist())
            for n, place in zip((2 * group, 2 * group + 1), selected, strict=True):
                place_a[i + 16 * (n >> 1 & 1), s.bits * (2 * (n >> 2) + (n & 1))] = codes[0][i][n]
                indices[s.index_place(i, n)] = place
                dense[i, 4 * group + place] = a[i, n]
    d = by_lane(c, DTYPES[s.type_d]).view(torch.int32)
    module[f"swmmac_{name}"][1, LANES](
        scatter(8, place_a), scatter(16, place_b), scatter(s.rows_k, indices), d
    )
    expected = dense @ b.T + c
    if name.startswith("bf16f32"):
        # D has 16 bits in the first half of the registers that C has.
        halves = d.reshape(LANES, 8)[:, :4].contiguous()
        actual = of_lanes(halves, torch.bfloat16)
        expected = torch.from_numpy(expected).to(torch.bfloat16).double().numpy()
    else:
        actual = of_lanes(d, DTYPES[s.type_d])
    assert np.array_equal(actual.numpy(), expected)


def place(name: str, i: int, k: int) -> tuple[int, int]:
    """Lane and first bit of an element: runs of 16 bytes or of 32 smaller elements in each half of a wave."""
    bits, run = FORMATS[name][0], 16 if name in ("fp8", "bf8") else 32
    half, element = k // run % 2, k % run + k // (2 * run) * run
    return i + SIDE * half, bits * element


def factors(random: np.random.Generator, name: str, rows: int) -> tuple[np.ndarray, torch.Tensor]:
    """Numbers [rows, K] and registers with them; each further sixteen rows have registers of their own."""
    numbers = random.choice(list(patterns(name)), (rows, K))
    places = {}
    for i, k in itertools.product(range(rows), range(K)):
        lane, bit = place(name, i % SIDE, k)
        places[lane, bit + i // SIDE * 32 * rows_of(name)] = patterns(name)[numbers[i, k]]
    # In memory, a vector of 12 takes as much room as one of 16.
    return numbers, scatter(16 if rows_of(name) == 12 else rows_of(name) * rows // SIDE, places)


def scale_bytes(random: np.random.Generator, kind: str) -> np.ndarray:
    """Scales of all lanes, eight bytes each, of numbers of at least 1/2 and below 4."""
    _, mantissa, bias = SCALES[kind]
    return random.integers((bias - 1) << mantissa, (bias + 2) << mantissa, (LANES, 8)).astype(np.uint8)


def multiplied(
    numbers: np.ndarray, scales: np.ndarray, kind: str, count: int, lane: Callable[[int], int]
) -> np.ndarray:
    """Numbers times their scales, `count` of a row, in lane `lane(row)`."""
    values = np.vectorize(lambda code: decode(int(code), *SCALES[kind], signed=False))(scales)
    rows = [np.repeat(values[lane(i), :count], K // count) for i in range(len(numbers))]
    return numbers * np.array(rows)


def check_blocks(
    module: Module,
    random: np.random.Generator,
    kernel: str,
    names: tuple[str, str],
    rows: int,
    texts: dict[str, str],
    kind: str = "E8",
) -> None:
    (a, registers_a), (b, registers_b) = factors(random, names[0], rows), factors(random, names[1], SIDE)
    c = random.integers(-99, 100, (rows, SIDE)).astype(np.float32)
    scales = [scale_bytes(random, kind) for _ in range(2)]
    out = torch.zeros(len(texts), LANES, rows // 2)
    inputs = [torch.from_numpy(value.view(np.int32)) for value in scales]
    module[kernel][1, LANES](registers_a, registers_b, by_lane(c, torch.float32), *inputs, out)
    for number, (scaled, text) in enumerate(texts.items()):
        x, y, addend = a, b, c.astype(float)
        if scaled:
            count, first = 8 if scaled == "scale16" else 4, 16 if "ROW1" in text else 0
            lane_a = (lambda i: i) if rows > SIDE else (lambda i, first=first: i + first)
            x = multiplied(a, scales[0], kind, count, lane_a)
            y = multiplied(b, scales[1], kind, count, lambda i, first=first: i + first)
        else:
            addend = -abs(addend)
        actual = of_lanes(out[number], torch.float32, rows)
        assert np.array_equal(actual.numpy(), x @ y.T + addend), scaled or "no scales"


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_formats_and_scales(module: Module, random: np.random.Generator, a: str, b: str) -> None:
    texts = {"": MODIFIED, "scale": "", "scale16": UPPER}
    check_blocks(module, random, name_of(a, b), (a, b), SIDE, texts)


def test_32_rows(module: Module, random: np.random.Generator) -> None:
    texts = {"": MODIFIED, "scale": UPPER, "scale16": ""}
    check_blocks(module, random, "tall", ("fp4", "fp4"), 2 * SIDE, texts)
    for kind in FP4_SCALES:
        check_blocks(module, random, f"tall_{kind}", ("fp4", "fp4"), 2 * SIDE, {"scale16": ""}, kind)


def test_large_scales_and_specials(module: Module) -> None:
    """A product that needs more than a float's range between its factors; NaN and infinity."""
    ones = {("fp8", i, k): 0x38 for i in range(SIDE) for k in range(K)}
    a = scatter(16, {place(name, i, k): code for (name, i, k), code in ones.items()})
    scales = [np.full((LANES, 8), code, np.uint8) for code in (254, 0)]
    scales[0][3, :], scales[1][5, :] = 255, 254
    out = torch.zeros(3, LANES, 8)
    inputs = [torch.from_numpy(value.view(np.int32)) for value in scales]
    module[name_of("fp8", "fp8")][1, LANES](a, a, torch.zeros(LANES, 8), *inputs, out)
    expected = np.full((SIDE, SIDE), 128.0)
    expected[:, 5] = np.inf
    expected[3, :] = np.nan
    assert np.array_equal(of_lanes(out[1], torch.float32).numpy(), expected, equal_nan=True)


REFUSED = {
    "v_wmma_scale_f32_16x16x128_f8f6f4 %0, %1, %1, %0, %2, %2 matrix_a_scale_fmt:MATRIX_SCALE_FMT_E4M3": (
        "Scales of fp8 are E8M0; those of A are E4M3"
    ),
    "v_wmma_scale_f32_16x16x128_f8f6f4 %0, %1, %1, %0, 1.0, %2": "Which scales a constant stands for",
    "v_swmmac_f32_16x16x64_f16 %0, %0, %1, %2 index_key:1": "One set of indices fills its registers",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_forms(text: str) -> None:
    source = f"""{PREFIX}
extern "C" __global__ void refused(int R(8) *d, const int R(16) *a) {{
    int R(8) sums = d[threadIdx.x];
    asm volatile("{text}" : "+v"(sums) : "v"(a[threadIdx.x]), "v"((int)threadIdx.x));
    d[threadIdx.x] = sums;
}}
"""
    numbers = torch.zeros(512, dtype=torch.int32)
    with pytest.raises(errors.UnsupportedInstruction, match=REFUSED[text]):
        wb.compile(source, arch=ARCH)["refused"][1, LANES](numbers, numbers)
