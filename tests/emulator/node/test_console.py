"""Output of kernels: formats against C's own printf, the records in order, assertions, a full buffer."""

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
    """The text that the C library prints for it."""
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


def test_formats_are_cs(draw: random.Random) -> None:
    for _ in range(3000):
        kind = draw.choice("diuxXoceEfFgGs")
        flags = "".join(draw.sample("-+ 0", draw.randint(0, 2)))
        if kind in "xXo" and draw.random() < 0.3:
            flags += "#"
        if kind in "cs":
            flags = flags.replace("0", "").replace("+", "").replace(" ", "")
        width = draw.choice(["", "", "1", "7", "20"])
        # An integer zero with a precision of zero has no digits in C, and one here.
        precision = draw.choice(["", "", ".3", ".12", *([".", ".0"] if kind not in "diuxXo" else [])])
        if kind == "c":
            precision = ""
        length = draw.choice(["", "l", "ll", "h", "hh"]) if kind in "diuxXo" else ""
        if "0" in flags and precision and kind in "diuxXo":
            # In C the precision overrides the zero flag; combine only flags that have a meaning.
            flags = flags.replace("0", "")
        if kind in "eEfFgG":
            value: object = draw.choice([0.0, -1.5, draw.uniform(-1e6, 1e6), 1e-12, 123456789.0])
        elif kind == "s":
            value = draw.choice(["", "abc", "longer than the width"])
        elif kind == "c":
            value = draw.randint(33, 126)
        else:
            value = draw.choice([0, 1, 255, 2**31, 2**32 - 1, 2**63 + 5, 2**64 - 1, draw.getrandbits(64)])
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
__global__ void returned(int *x) {
    const int group = blockIdx.x, i = threadIdx.x + blockDim.x * group;
    const int first = threadIdx.x % 3 ? printf("%d|%5.1f|\xc3\xa9%c\n", i, 0.25 * i, 0xe9) : -7;
    x[i] = first;
    const char *nothing = nullptr;
    if (threadIdx.x >= 60) x[i] += 100 * printf("%s%4s%s", i % 2 ? "odd" : "even", "\xc3\xa9", nothing);
}
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


@pytest.mark.parametrize("threads", ["1", "3"])
def test_printf_returns_the_bytes_that_it_prints(
    module: wb.Module, threads: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As C's printf on the host, for divergent lanes and several work-groups."""
    monkeypatch.setenv("HIPKITTENS_THREADS", threads)
    values = x()
    module["returned"][3, 64](values)
    first = {i: f"{i}|{0.25 * i:5.1f}|".encode() + b"\xc3\xa9\xe9\n" for i in range(192)}
    second = {i: (b"odd" if i % 2 else b"even") + b"  \xc3\xa9" for i in range(192) if i % 64 >= 60}
    assert values[:192].tolist() == [
        (len(first[i]) if i % 64 % 3 else -7) + 100 * len(second.get(i, b"")) for i in range(192)
    ]
    first = {i: text for i, text in first.items() if i % 64 % 3}
    printed = b"".join(
        texts[i]
        for g in range(0, 192, 64)
        for texts in (first, second)
        for i in range(g, g + 64)
        if i in texts
    )
    assert capsys.readouterr().out == printed.decode("utf-8", "replace")


BOTH = r"""#include <hip/hip_runtime.h>
#include <cstdio>
__device__ const char *names[] = {"zero", "one", "a longer string of some forty characters or so"};
const char *host_names[] = {"zero", "one", "a longer string of some forty characters or so"};
// Whether host or device: one text, so that both print the same.
#define ALL(names) \
    printf("%d %5d|%-5d|%05d %u %x %#X %o %c %% %i\n", v, v, v, v, 4000000000u, 255, 255, 8, 'Z', -7); \
    printf("%ld %lu %lld %llx %zu %hd %hhd\n", -5000000000l, 5000000000ul, -1ll, ~0ull, sizeof(int), \
           short(-3), (signed char)(-4)); \
    printf("%f %.3f %10.2e %g %a|%+.1f|%-8.2f|\n", d, d, d, d, d, d, d); \
    printf("[%s] [%10s] [%-8s] [%.3s] [%s]\n", names[1], "right", "left", "truncated", names[2]); \
    printf("%*d|%-*d|%.*f\n", 6, v, 6, v, 2, d); \
    int bytes = printf("no arguments \xc3\xa9\n"); \
    bytes += printf("%d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10); \
    printf("returned %d\n", bytes);
__global__ void k(int v, double d) {
    if (threadIdx.x == 0) { ALL(names) }
}
__global__ void later() { printf("t%d.%d ", int(blockIdx.x), int(threadIdx.x)); }
int main() {
    int v = 42;
    double d = 3.14159;
    ALL(host_names)
    puts("---");
    fflush(stdout);
    k<<<1, 64>>>(v, d);
    if (hipDeviceSynchronize()) return 1;
    puts("---");
    fflush(stdout);
    later<<<2, 2>>>();  // at exit at the latest
}
"""


def test_device_and_host_print_alike() -> None:
    """Includes a text in the device's memory, and a kernel that nothing waits for."""
    result = wb.run_program(BOTH, device="emulated:gfx950").check()
    host, device, last = result.stdout.split("---\n")
    assert device == host
    assert "returned 37" in host
    assert last == "t0.0 t0.1 t1.0 t1.1 "


def test_a_result_that_nobody_uses_costs_no_call(module: wb.Module) -> None:
    source = """#include <hip/hip_runtime.h>
    __global__ void k(int *x) { printf("%d %s\\n", x[0], "text"); (void)printf("again"); }
    """
    symbols = wb.compile(source, arch="gfx942").code_object.symbols
    assert "hipkittens_console" in symbols
    assert "hipkittens_hostcalls" not in symbols


def test_a_full_buffer_says_so(module: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    module["flood"][20, 64](x())
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "hipkittens: the kernel printed more than 16 MB; the rest is lost"
    assert len(lines) > 100_000
    # The next launch has the whole buffer again.
    module["everything"][1, 64](x())
    assert capsys.readouterr().out.startswith("a 0 3000000000")


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
def test_a_kernel_may_overwrite_the_buffer(length: int, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_bytes_that_are_not_utf_8_are_printed_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    source = r"""#include <hip/hip_runtime.h>
    #include <cstdio>
    __global__ void k(const char *text) { if (threadIdx.x == 0) printf("<%s>", text); }
    """
    text = torch.tensor([0xFF, 0xC3, 0xA9, 0x61, 0], dtype=torch.uint8)
    wb.compile(source, arch="gfx950")["k"][1, 64](text)
    assert capsys.readouterr().out == "<\N{REPLACEMENT CHARACTER}éa>"


def test_the_heap_of_rocms_device_library_is_named() -> None:
    """hipcc's malloc begins by following a pointer in the hidden arguments."""
    source = """
    __global__ void k(int *x) {
        auto *hidden = (const __attribute__((address_space(4))) char *)__builtin_amdgcn_implicitarg_ptr();
        x[0] = **(int *const __attribute__((address_space(4))) *)(hidden + 96);
    }
    """
    with pytest.raises(errors.AddressFault, match="no heap for kernels"):
        wb.compile(source, arch="gfx950")["k"][1, 64](x())
