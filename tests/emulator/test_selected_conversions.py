"""Conversions that op_sel directs: from builtin by compiler to value, for each byte and half it can name.

On gfx950 OPSEL[1:0] is the number of a byte to read, OPSEL[3:2] that of one to write. LLVM before 22 had the
bits of the first the other way (its pull requests 151286, which turned both round, and 151411, which put the
second back): such a compiler silently gives another byte's numbers. Values are compared with the formats'
definitions, and each compiler's faults with the known ones: additional or missing faults fail.
HIPKITTENS_TEST_CLANGS names folders of further clangs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from clangs import compilers
from tiers import number

import workbench as wb
from workbench.errors import CompilerNotFound
from workbench.runtime import device
from workbench.toolchain import find_compiler

LANES = 64
SCALE = 0.25
"""A power of two with which no result of any format is too small or too large."""

LARGE = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
SMALL = {
    "gfx950": {"fp8": torch.float8_e4m3fn, "bf8": torch.float8_e5m2},
    "gfx942": {"fp8": torch.float8_e4m3fnuz, "bf8": torch.float8_e5m2fnuz},
}
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
"""Values by code (OCP Microscaling Formats, 5.3.3)."""

C_TYPES = {"f32": "float", "f16": "_Float16", "bf16": "__bf16"}
PREAMBLE = """
#include <hip/hip_runtime.h>
template <typename T> using pair = __attribute__((ext_vector_type(2))) T;
template <typename T> __device__ unsigned long long bits(T x) {
    unsigned long long all = 0;
    __builtin_memcpy(&all, &x, sizeof(T));
    return all;
}
"""
ARGUMENTS = "const unsigned *words, const unsigned *olds, const float *values, unsigned long long *out"


@dataclass(frozen=True)
class Conversion:
    """A builtin whose last argument selects part of a word, from small numbers or to them.

    Attributes:
        builtin: without `__builtin_amdgcn_`.
        call: its arguments, where `w` is a word of small numbers, `old` the word that keeps its other parts,
            `x` and `y` numbers, and {i} the selection.
        small, large: formats.
        count: numbers that one call converts.
        packs: whether it makes small numbers.
        halves: whether it selects a half rather than a byte.
        scaled: whether it has a scale.
        top: of a source to a half: whether the result goes to the upper half of `old`.
    """

    builtin: str
    call: str
    small: str
    large: str
    count: int
    packs: bool = False
    halves: bool = False
    scaled: bool = True
    top: bool | None = None

    @property
    def name(self) -> str:
        return self.builtin + {None: "", False: "_low", True: "_high"}[self.top]

    @property
    def selections(self) -> range:
        return range(2 if self.halves else 4)


def conversions(target: str) -> Iterator[Conversion]:
    """Every conversion that a target's op_sel, or select of a sub-dword, directs."""
    for small in ("fp8", "bf8"):
        yield Conversion(f"cvt_f32_{small}", "w, {i}", small, "f32", 1, scaled=False)
        yield Conversion(f"cvt_pk_f32_{small}", "w, {i}", small, "f32", 2, halves=True, scaled=False)
        yield Conversion(f"cvt_pk_{small}_f32", "x, y, old, {i}", small, "f32", 2, True, True, scaled=False)
        yield Conversion(f"cvt_sr_{small}_f32", "x, 0, old, {i}", small, "f32", 1, True, scaled=False)
    if target != "gfx950":
        return
    for large in LARGE:
        pair = f"pair<{C_TYPES[large]}>{{{{x, y}}}}"
        apart = "x, y" if large == "f32" else pair
        for small in ("fp8", "bf8"):
            name = f"cvt_scalef32_pk_{large}_{small}"
            yield Conversion(name, "w, scale, {i}", small, large, 2, halves=True)
            name = f"cvt_scalef32_pk_{small}_{large}"
            yield Conversion(
                name, f"bit<pair<short>>(old), {apart}, scale, {{i}}", small, large, 2, True, True
            )
            name = f"cvt_scalef32_sr_{small}_{large}"
            yield Conversion(name, "old, x, 0, scale, {i}", small, large, 1, True)
        yield Conversion(f"cvt_scalef32_pk_{large}_fp4", "w, scale, {i}", "fp4", large, 2)
        yield Conversion(f"cvt_scalef32_pk_fp4_{large}", f"old, {apart}, scale, {{i}}", "fp4", large, 2, True)
        name = f"cvt_scalef32_sr_pk_fp4_{large}"
        yield Conversion(name, f"old, {pair}, 0, scale, {{i}}", "fp4", large, 2, True)
    for small in ("fp8", "bf8"):
        yield Conversion(f"cvt_scalef32_f32_{small}", "w, scale, {i}", small, "f32", 1)
        for top in (False, True):
            call = f"bit<pair<_Float16>>(old), w, scale, {{i}}, {str(top).lower()}"
            yield Conversion(f"cvt_scalef32_f16_{small}", call, small, "f16", 1, top=top)


def rounded(target: str) -> Iterator[str]:
    """Rounds single numbers to a selected half, which only gfx950 does: large formats."""
    if target == "gfx950":
        yield from ("f16", "bf16")


def source(target: str) -> str:
    """A kernel for each conversion: a word for each lane and selection."""
    kernels = []
    for case in conversions(target):
        kind = C_TYPES[case.large]
        calls = "\n".join(
            f"    out[{i * LANES} + l] = bits(__builtin_amdgcn_{case.builtin}({case.call.format(i=i)}));"
            for i in case.selections
        )
        kernels.append(
            f"#include <hip/hip_runtime.h>\n__global__ void {case.name}({ARGUMENTS}) {{\n"
            "    const unsigned l = threadIdx.x, w = words[l], old = olds[l];\n"
            f"    const {kind} x = ({kind})values[2 * l], y = ({kind})values[2 * l + 1];\n"
            f"    const float scale = {SCALE}f;\n    (void)w, (void)old, (void)x, (void)y, (void)scale;\n"
            f"{calls}\n}}\n"
        )
    for large in rounded(target):
        calls = "\n".join(
            f"    out[{i * LANES} + l] = bits(__builtin_amdgcn_cvt_sr_{large}_f32("
            f"bit<pair<{C_TYPES[large]}>>(olds[l]), values[2 * l], 0, {i}));"
            for i in range(2)
        )
        kernels.append(
            f"#include <hip/hip_runtime.h>\n__global__ void cvt_sr_{large}_f32({ARGUMENTS}) {{\n"
            f"    const unsigned l = threadIdx.x;\n{calls}\n}}\n"
        )
    bit = "template <typename T> __device__ T bit(unsigned x) { return __builtin_bit_cast(T, x); }\n"
    return PREAMBLE + bit + "\n".join(kernels)


def finite_codes(target: str, small: str) -> torch.Tensor:
    """All bytes of a format, or of a pair of fp4, that are numbers."""
    codes = torch.arange(256, dtype=torch.uint8)
    return codes if small == "fp4" else codes[codes.view(SMALL[target][small]).float().isfinite()]


def numbers(target: str, small: str, bytes_: torch.Tensor) -> torch.Tensor:
    """Values of bytes in a format, along a last axis that is twice as long for fp4."""
    if small == "fp4":
        return torch.stack([E2M1[bytes_.long() & 15], E2M1[bytes_.long() >> 4]], -1).flatten(-2)
    return bytes_.view(SMALL[target][small]).float()


def word(bytes_: torch.Tensor) -> torch.Tensor:
    """Little-endian numbers of the bytes along the last axis."""
    shifts = torch.arange(bytes_.shape[-1]) * 8
    return (bytes_.long() << shifts).sum(-1)


def placed(old: torch.Tensor, part: torch.Tensor, at: int, bits: int) -> torch.Tensor:
    """Words in which `bits` bits from bit `at` on are replaced."""
    mask = (1 << bits) - 1
    return old & ~(mask << at) | (part & mask) << at


def drawn(target: str, case: Conversion, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Random arguments: bytes that are numbers everywhere, and numbers that a format has."""
    codes = finite_codes(target, case.small)
    choice = torch.randint(len(codes), (LANES, 4), generator=generator)
    to = torch.randint(len(codes), (LANES, 2), generator=generator)
    scale = SCALE if case.scaled else 1.0
    of = numbers(target, case.small, codes[to])[:, :2] if case.small != "fp4" else None
    values = (of if of is not None else numbers(target, "fp4", codes[to[:, :1]])) * scale
    return {
        "bytes": codes[choice],
        "old": torch.randint(1 << 32, (LANES,), generator=generator),
        "values": values.contiguous(),
        "packed": codes[to] if of is not None else codes[to[:, :1]],
    }


def reference(target: str, case: Conversion, of: dict[str, torch.Tensor]) -> torch.Tensor:
    """The results `[selections, LANES]` by the formats' definitions."""
    rows = []
    for i in case.selections:
        if case.packs:
            size = 8 * (case.count if case.small != "fp4" else 1)
            part = word(of["packed"][:, : size // 8])
            rows.append(placed(of["old"], part, (16 if case.halves else 8) * i, size))
            continue
        size = 2 if case.halves else 1
        taken = of["bytes"][:, size * i : size * (i + 1)].contiguous()
        large = (numbers(target, case.small, taken) * (SCALE if case.scaled else 1.0)).to(LARGE[case.large])
        result = word(large.contiguous().view(torch.uint8).reshape(LANES, -1))
        rows.append(result if case.top is None else placed(of["old"], result, 16 * case.top, 16))
    return torch.stack(rows)


EXCHANGED = frozenset(
    [
        *(f"cvt_scalef32_pk_{large}_fp4" for large in LARGE),
        *(f"cvt_scalef32_f32_{small}" for small in ("fp8", "bf8")),
        *(f"cvt_scalef32_f16_{small}_{top}" for small in ("fp8", "bf8") for top in ("low", "high")),
    ]
)
"""Builtins that give byte 2 for byte 1, and 1 for 2, with clang before 22."""
LOST = frozenset(f"cvt_scalef32_sr_pk_fp4_{large}" for large in LARGE)
"""Builtins that ignore the word whose other bytes they should preserve, up to clang 22 at least: in LLVM's
VOP3Instructions.td a second `Constraints` takes the place of the one that ties the result to it."""


def known_faults(version: int, target: str) -> dict[str, str]:
    """Builtins that a release of clang compiles wrongly, with the fault."""
    if target != "gfx950":
        return {}
    exchanged = dict.fromkeys(EXCHANGED, "exchanged") if version < 22 else {}
    return exchanged | dict.fromkeys(LOST, "lost")


def fault(case: Conversion, out: torch.Tensor, right: torch.Tensor) -> str:
    """Kind of fault in results `[selections, LANES]`; "" if they are right."""
    if torch.equal(out, right):
        return ""
    if torch.equal(out[[0, 2, 1, 3]] if len(out) == 4 else out.flip(0), right):
        return "exchanged"
    bits = 16 if case.halves else 8
    mask = torch.tensor([((1 << bits) - 1) << bits * i for i in case.selections])[:, None]
    return "lost" if case.packs and torch.equal(out & mask, right & mask) else "wrong"


@pytest.mark.parametrize("target", SMALL)
@pytest.mark.parametrize(
    "compiler", compilers(), ids=lambda path: Path(path).parent.parent.name or "compiler"
)
@pytest.mark.filterwarnings("ignore::workbench.errors.UntrustedCompiler")
def test_each_selection(target: str, compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if compiler:
        monkeypatch.setenv("HIPKITTENS_COMPILER", compiler)
    try:
        version = re.search(r"clang (?:version )?(\d+)", find_compiler(target).version)
    except CompilerNotFound as error:
        pytest.skip(str(error))
    assert version is not None
    seed = number("conversions", os.environ["HIPKITTENS_TEST_SEED"])
    module = wb.compile(source(target), arch=target, name="selected.hip", flags=("-w",))
    generator = torch.Generator().manual_seed(seed)
    wrong = {}
    for case in conversions(target):
        of = drawn(target, case, generator)
        out = torch.zeros(len(case.selections), LANES, dtype=torch.int64)
        words, old = (x.to(torch.uint32).view(torch.int32) for x in (word(of["bytes"]), of["old"]))
        arguments = (words, old, of["values"], out)
        module[case.name].launch(wb.Launch(1, LANES), arguments, {}, device=device(f"emulated:{target}"))
        if difference := fault(case, out, reference(target, case, of)):
            wrong[case.name] = difference
    for large in rounded(target):
        x = torch.randn(LANES, 2, generator=generator).to(LARGE[large])
        old = torch.randint(1 << 32, (LANES,), generator=generator)
        out = torch.zeros(2, LANES, dtype=torch.int64)
        arguments = (old.to(torch.uint32).view(torch.int32),) * 2 + (x.float(), out)
        name = f"cvt_sr_{large}_f32"
        module[name].launch(wb.Launch(1, LANES), arguments, {}, device=device(f"emulated:{target}"))
        result = x[:, 0].contiguous().view(torch.int16).long() & 0xFFFF
        if not torch.equal(out, torch.stack([placed(old, result, 16 * i, 16) for i in range(2)])):
            wrong[name] = "wrong"
    expected = known_faults(int(version[1]), target)
    assert wrong == expected, f"clang {version[1]}, HIPKITTENS_TEST_SEED={seed}"


def test_faults_are_distinguished() -> None:
    case = next(of for of in conversions("gfx950") if of.builtin == "cvt_scalef32_pk_fp4_f32")
    right = reference("gfx950", case, drawn("gfx950", case, torch.Generator().manual_seed(1)))
    assert fault(case, right, right) == ""
    assert fault(case, right[[0, 2, 1, 3]], right) == "exchanged"
    assert fault(case, right & (0xFF << 8 * torch.arange(4))[:, None], right) == "lost"
    assert fault(case, right ^ 0x01010101, right) == "wrong"
