"""What kernels print: formats against C's own printf, the records in order, assertions, a full buffer."""

from __future__ import annotations

import ctypes
import random

import pytest
import torch

import workbench as wb
from workbench import errors
from workbench.emulator.node import console
from workbench.targets import TILE_TARGETS


def c_printf(text: str, *values: object) -> str:
    """What the C library makes of it."""
    libc = ctypes.CDLL(None)
    buffer = ctypes.create_string_buffer(8192)
    passed = [
        ctypes.c_double(v)
        if isinstance(v, float)
        else v.encode()
        if isinstance(v, str)
        else ctypes.c_uint64(v)
        for v in values
    ]
    libc.snprintf(buffer, ctypes.c_size_t(8192), text.encode(), *passed)
    return buffer.value.decode("latin-1")


def test_formats_are_cs() -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(3000):
        kind = rng.choice("diuxXoceEfFgGs")
        flags = "".join(rng.sample("-+ 0", rng.randint(0, 2)))
        if kind in "xXo" and rng.random() < 0.3:
            flags += "#"
        if kind in "cs":
            flags = flags.replace("0", "").replace("+", "").replace(" ", "")
        width = rng.choice(["", "", "1", "7", "20"])
        # An integer zero with a precision of zero has no digits in C, and one here.
        precision = rng.choice(["", "", ".3", ".12", *([".", ".0"] if kind not in "diuxXo" else [])])
        if kind == "c":
            precision = ""
        length = rng.choice(["", "l", "ll", "h", "hh"]) if kind in "diuxXo" else ""
        if "0" in flags and precision and kind in "diuxXo":
            # C lets the precision win over the zero flag, which nobody combines; keep to what has a meaning.
            flags = flags.replace("0", "")
        if kind in "eEfFgG":
            value: object = rng.choice([0.0, -1.5, rng.uniform(-1e6, 1e6), 1e-12, 123456789.0])
        elif kind == "s":
            value = rng.choice(["", "abc", "longer than the width"])
        elif kind == "c":
            value = rng.randint(33, 126)
        else:
            value = rng.choice([0, 1, 255, 2**31, 2**32 - 1, 2**63 + 5, 2**64 - 1, rng.getrandbits(64)])
        text = f"<%{flags}{width}{precision}{length}{kind}>"
        assert console.format_text(text, [value]) == c_printf(text, value), (text, value)


def test_other_conversions() -> None:
    assert console.format_text("100%% %p %p", [0x7F00, 0]) == "100% 0x7f00 (nil)"
    assert console.format_text("%*d|%-*d|%.*f", [5, 42, 2**32 - 4, 7, 1, 2.55]) == "   42|7   |2.5"
    assert console.format_text("%s %s", [None, "x"]) == "(null) x"
    assert console.format_text("%d %d", [1]) == "1 %d"
    assert console.format_text("%zu %lld", [2**64 - 1, 2**64 - 1]) == f"{2**64 - 1} -1"


KERNELS = r"""#include <hip/hip_runtime.h>
#include <cassert>
#include <cstdio>
__global__ void everything(int *x) {
    char local[4] = {'a', 0};
    local[0] += threadIdx.x;
    if (threadIdx.x < 2 && blockIdx.x < 2)
        printf("%s %d %u %lld %g %c %s|\n", local, -int(threadIdx.x), 3000000000u, -(1LL << 40), 0.1f, 'q',
               blockIdx.x ? "a longer text than a word" : "");
}
__global__ void returned(int *x) { x[threadIdx.x] = printf("%d%d", 1, 2) + 10 * printf(""); }
__global__ void flood(int *x) {
    const char *text = "0123456789012345678901234567890123456789012345678901234567890123";
    for (int i = 0; i < 200; i++) printf("%s\n", text);
}
__global__ void check(int *x) { assert(x[threadIdx.x + blockDim.x * blockIdx.x] < 100 && "too large"); }
"""


@pytest.fixture(scope="module", params=TILE_TARGETS)
def module(request: pytest.FixtureRequest) -> wb.Module:
    return wb.compile(KERNELS, arch=request.param, name="console.hip")


def x() -> torch.Tensor:
    return torch.zeros(256, dtype=torch.int32)


def test_arguments_of_every_kind(module: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    module["everything"][3, 64](x())
    lines = [
        f"{chr(97 + t)} {-t} 3000000000 {-(1 << 40)} 0.1 q {'a longer text than a word' if b else ''}|"
        for b in range(2)
        for t in range(2)
    ]
    assert capsys.readouterr().out.splitlines() == lines


def test_printf_counts_its_arguments(module: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    values = x()
    module["returned"][1, 64](values)
    assert (values[:64] == 2).all()
    assert capsys.readouterr().out == "12" * 64


def test_a_full_buffer_says_so(module: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    module["flood"][20, 64](x())
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "hipkittens: the kernel printed more than 16 MB; the rest is lost"
    assert len(lines) > 100_000
    # And the next launch has all of it again.
    module["returned"][1, 64](x())
    assert capsys.readouterr().out == "12" * 64


def test_an_assertion_names_itself_and_the_thread(module: wb.Module) -> None:
    values = x()
    module["check"][4, 64](values)
    values[64 * 2 + 33] = 100
    values[64 * 2 + 40] = 100
    with pytest.raises(errors.AssertionFault) as caught:
        module["check"][4, 64](values)
    fault = caught.value
    assert '`x[threadIdx.x + blockDim.x * blockIdx.x] < 100 && "too large"` failed' in str(fault)
    assert "thread (33, 0, 0) of block (2, 0, 0) (and of 1 more in this block)" in str(fault)
    assert (fault.workgroup, fault.wave, fault.lane) == ((2, 0, 0), 0, 33)
    assert fault.source is not None
    line = next(n for n, text in enumerate(KERNELS.splitlines(), 1) if "assert(" in text)
    assert fault.source[:2] == ("console.hip", line)


@pytest.mark.parametrize("length", [1 << 40, (1 << 64) - 8, 7])
def test_a_kernel_that_overwrites_the_buffer_is_no_trouble(
    length: int, capsys: pytest.CaptureFixture[str]
) -> None:
    source = f"""#include <hip/hip_runtime.h>
    #include <cstdio>
    __global__ void wild(int *x) {{
        if (threadIdx.x == 70) printf("not reached");
        if (threadIdx.x) return;
        hipkittens_console[0] = hipkittens_console[1] = ~0ull;
        hipkittens_console[2] = 1ull << 32 | 5;  // a record of printf of five words
        hipkittens_console[5] = {length}ull;  // whose text is that long
        x[0] = 1;
    }}
    __global__ void fine(int *x) {{ if (threadIdx.x == 0) printf("fine"); }}
    """
    module = wb.compile(source, arch="gfx950")
    values = x()
    module["wild"][1, 64](values)
    assert values[0] == 1
    printed = capsys.readouterr().out
    assert ("a record of printf was overwritten" in printed) == (length != 7)
    assert printed.endswith("printed more than 16 MB; the rest is lost\n")
    module["fine"][1, 64](values)
    assert capsys.readouterr().out == "fine"


def test_bytes_that_are_no_utf_8_are_shown_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    source = r"""#include <hip/hip_runtime.h>
    #include <cstdio>
    __global__ void k(const char *text) { if (threadIdx.x == 0) printf("<%s>", text); }
    """
    text = torch.tensor([0xFF, 0xC3, 0xA9, 0x61, 0], dtype=torch.uint8)
    wb.compile(source, arch="gfx950")["k"][1, 64](text)
    assert capsys.readouterr().out == "<\N{REPLACEMENT CHARACTER}éa>"


def test_the_heap_of_rocms_device_library_is_named() -> None:
    """What hipcc's malloc begins with: it follows a pointer in the hidden arguments."""
    source = """
    __global__ void k(int *x) {
        auto *hidden = (const __attribute__((address_space(4))) char *)__builtin_amdgcn_implicitarg_ptr();
        x[0] = **(int *const __attribute__((address_space(4))) *)(hidden + 96);
    }
    """
    with pytest.raises(errors.AddressFault, match="no heap for kernels"):
        wb.compile(source, arch="gfx950")["k"][1, 64](x())
