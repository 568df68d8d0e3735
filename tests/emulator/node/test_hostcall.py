"""printf and assert as hipcc compiles them: ROCm's hostcall protocol and its buffer of printf.

The device's side is hostcall.h of this folder, so that these tests run everywhere; where ROCm's device
libraries are installed, the same kernels run on those.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench import errors
from workbench.emulator.node import hostcall
from workbench.targets import NAMES

HEADER = Path(__file__).with_name("hostcall.h")

KERNELS = r"""#include <hip/hip_runtime.h>
extern "C" __global__ void everything(int *results) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 50 == 7)
        results[i] = printf("%d %s %u %lld %g %c|%5.2f|%-8s|%p %x %% %s\n", -i, i % 2 ? "odd" : "",
                            3000000000u, -(1LL << 40), 0.5, 'q', 3.14159, "left", (void *)0x7f00, 255,
                            "a text that takes more than the fifty-six bytes of a packet, and then more");
}
extern "C" __global__ void nested(int *x) {
    // Lanes that take different ways, and a barrier between.
    if (threadIdx.x < 2) {
        if (threadIdx.x == 0)
            printf("first of group %d\n", int(blockIdx.x));
        else
            printf("second of group %d: %*d\n", int(blockIdx.x), 6, x[0]);
    }
    __syncthreads();
    if (threadIdx.x == 64) printf("wave 1 of group %d\n", int(blockIdx.x));
}
extern "C" __global__ void many(int *x) { printf("%d\n", int(blockIdx.x * blockDim.x + threadIdx.x)); }
"""
OWN = r"""#include <hip/hip_runtime.h>
// clang turns this into calls of its own; the workbench's printf is another function.
#define printf __builtin_printf
__device__ void fail(const char *condition, const char *file, u32 line, const char *function) {
    const auto length = [](const char *s) { u64 n = 0; while (s[n]) n++; return n + 1; };
    const char *format = "%s:%u: %s: Device-side assertion `%s' failed.\n";
    u64 message = hostcall(2, message_begins | 1ul << 5, 1);
    message = send_text(message, format, length(format), 0);
    message = send_text(message, file, length(file), 0);
    message = send_words(message, 1, line, 0, 0, 0, 0, 0, 0, 0);
    message = send_text(message, function, length(function), 0);
    send_text(message, condition, length(condition), 1);
}
extern "C" __global__ void check(int *x) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] >= 100) {
        fail("x < 100", "own.hip", 7, "check");
        __builtin_trap();
    }
}
extern "C" __global__ void complain(int *x) {
    if (threadIdx.x == 3) fail("x < 100", "own.hip", 7, "complain");
}
extern "C" __global__ void complain_and_fault(int *x) {
    if (threadIdx.x == 3) fail("x < 100", "own.hip", 7, "complain_and_fault");
    x[1 << 30] = 1;
}
extern "C" __global__ void overwrite(int *x) {
    auto *buffer = hidden_pointer<hostcall_buffer>(80);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 6; i++) ((u64 *)buffer->headers)[i] = 0xdeadbeefdeadbeef;
        for (int i = 0; i < 6; i++) ((u64 *)buffer)[i] = 0xdeadbeefdeadbeef;
    }
}
extern "C" __global__ void send(int *x, u64 message) { hostcall(2, message, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul); }
extern "C" __global__ void ask(int *x, int service) {
    if (threadIdx.x == 5) x[0] = hostcall(service, 0, 4096);
}
"""


def zeros() -> torch.Tensor:
    return torch.zeros(512, dtype=torch.int32)


def lines_of_everything(groups: int, block: int) -> list[str]:
    return [
        f"{-i} {'odd' if i % 2 else ''} 3000000000 {-(1 << 40)} 0.5 q| 3.14|left    |0x7f00 ff % "
        "a text that takes more than the fifty-six bytes of a packet, and then more"
        for i in range(groups * block)
        if i % 50 == 7
    ]


def check_nested(printed: str, groups: int, value: int) -> None:
    """Work-groups in order, wave 1 after the barrier; the compiler chooses which of two branches is first."""
    lines = printed.splitlines()
    assert len(lines) == 3 * groups
    for g in range(groups):
        first, second, last = lines[3 * g : 3 * g + 3]
        assert {first, second} == {f"first of group {g}", f"second of group {g}: {value:6d}"}
        assert last == f"wave 1 of group {g}"


@pytest.fixture(scope="module", params=NAMES)
def module(request: pytest.FixtureRequest) -> wb.Module:
    source = f'#include "{HEADER}"\n' + OWN + KERNELS
    return wb.compile(source, arch=request.param, name="own.hip", flags=["-mprintf-kind=hostcall"])


@pytest.mark.parametrize("threads", ["1", "3"])
def test_printf_of_every_kind(
    module: wb.Module,
    threads: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HIPKITTENS_THREADS", threads)
    results = zeros()
    module["everything"][4, 128](results)
    printed = capsys.readouterr().out.splitlines()
    assert printed == lines_of_everything(4, 128)
    expected = torch.zeros_like(results)
    for i, line in zip(range(7, 512, 50), printed, strict=True):
        expected[i] = len(line) + 1
    assert torch.equal(results, expected)
    module["nested"][8, 128](zeros() + 42)
    check_nested(capsys.readouterr().out, 8, 42)


def test_every_lane_of_many_waves(module: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    module["many"][3, 1000](zeros())
    assert [int(line) for line in capsys.readouterr().out.splitlines()] == list(range(3000))


@pytest.mark.parametrize("slice_nanoseconds", [0, 30_000_000])
def test_the_order_does_not_depend_on_time(
    module: wb.Module,
    slice_nanoseconds: int,
    capsys: pytest.CaptureFixture[str],
    set_pace: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One thread makes all hostcalls: two would contend for the stacks of packets."""
    monkeypatch.setenv("HIPKITTENS_THREADS", "4")
    set_pace(first_slice=0, slice=slice_nanoseconds)
    threads = set()
    receive = hostcall.Listener._receive

    def noted(*arguments: Any) -> int:
        threads.add(threading.get_ident())
        return receive(*arguments)

    monkeypatch.setattr(hostcall.Listener, "_receive", noted)
    module["many"][6, 200](zeros())
    assert [int(line) for line in capsys.readouterr().out.splitlines()] == list(range(1200))
    assert len(threads) == 1


def test_an_assertion_names_itself_and_the_thread(
    module: wb.Module, capsys: pytest.CaptureFixture[str]
) -> None:
    values = zeros()
    values[128 + 70] = 100
    for _ in range(3):
        with pytest.raises(errors.AssertionFault) as caught:
            module["check"][4, 128](values)
    assert "own.hip:7: assertion `x < 100` failed in check for thread (70, 0, 0)" in str(caught.value)
    assert (caught.value.workgroup, caught.value.wave, caught.value.lane) == ((1, 0, 0), 1, 6)
    # The exception has the message; nothing is printed too.
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")
    # The state of a stopped launch does not disturb the next one.
    module["many"][1, 64](zeros())
    assert capsys.readouterr().out.splitlines() == [str(i) for i in range(64)]


def test_the_other_stream(module: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    module["complain"][1, 64](zeros())
    printed = capsys.readouterr()
    assert printed.err == "own.hip:7: complain: Device-side assertion `x < 100' failed.\n"
    assert printed.out == ""
    # It is also shown for a launch that ends with another error.
    with pytest.raises(errors.AddressFault):
        module["complain_and_fault"][1, 64](zeros())
    assert "complain_and_fault: Device-side assertion" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("service", "words"),
    [
        (1, "called a function of the host .*call it after the launch"),
        (3, "no heap for kernels: allocate with hipMalloc"),
        (4, "address sanitizer .*wb.sanitize"),
        (9, "a hostcall of service 9, which ROCm does not define"),
    ],
)
def test_other_services_are_refused(module: wb.Module, service: int, words: str) -> None:
    with pytest.raises(errors.TrapFault, match=words) as caught:
        module["ask"][2, 64](zeros(), service)
    assert caught.value.workgroup == (0, 0, 0)


def test_more_than_there_is_room_for(
    module: wb.Module, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three words per line and the size of a message: two waves and a half.
    monkeypatch.setattr(hostcall, "BYTES", (24 + 64) * 160)
    monkeypatch.setenv("HIPKITTENS_THREADS", "1")
    module["many"][4, 64](zeros())
    lines = capsys.readouterr().out.splitlines()
    assert lines[:-1] == [str(i) for i in range(128)]
    assert lines[-1].startswith("hipkittens: the kernel printed more than")


def test_the_sanitizer_has_nothing_to_say(module: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    with wb.sanitizing() as report:
        module["nested"][3, 128](zeros() + 1)
    assert not report.findings
    check_nested(capsys.readouterr().out, 3, 1)


def test_a_kernel_may_overwrite_the_buffer(module: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    module["overwrite"][1, 64](zeros())
    module["many"][2, 64](zeros())
    assert capsys.readouterr().out.splitlines() == [str(i) for i in range(128)]
    # Messages without a beginning, and parts that claim to begin one again.
    for message in (0, 2, 5 << 8, 5 << 8 | 2, 7 << 5 | 1, 2**64 - 1):
        module["send"][1, 64](zeros(), message)
    capsys.readouterr()
    module["many"][1, 64](zeros())
    assert capsys.readouterr().out.splitlines() == [str(i) for i in range(64)]


BUFFERED = r"""#include <hip/hip_runtime.h>
#define printf __builtin_printf
extern "C" __global__ void known(int *x) {
    const int i = threadIdx.x;
    if (i < 3) x[i] = printf("%d %s|%*d|%g %lld\n", i, i % 2 ? "odd" : "even", 5, x[0], 0.25, -1LL << 40);
}
extern "C" __global__ void unknown(const char *format, const char *text) {
    if (threadIdx.x == 0) printf(format, 12, text);
}
extern "C" __global__ void many(int *x) {
    printf("%d a line that is long enough to fill the buffer\n", int(blockIdx.x * blockDim.x + threadIdx.x));
}
"""


@pytest.fixture(scope="module")
def buffered() -> wb.Module:
    source = f'#include "{HEADER}"\n' + BUFFERED
    return wb.compile(source, arch="gfx950", flags=["-mprintf-kind=buffered"])


def test_printf_through_a_buffer(buffered: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    values = zeros() + 7
    buffered["known"][1, 64](values)
    expected = [f"{i} {'odd' if i % 2 else 'even'}|    7|0.25 {-1 << 40}" for i in range(3)]
    # Each lane prints the three parts of its line; lanes are in order.
    assert capsys.readouterr().out.splitlines() == expected
    assert values[:3].tolist() == [0, 0, 0]

    def text(of: str) -> torch.Tensor:
        return torch.tensor([*of.encode(), 0], dtype=torch.uint8)

    buffered["unknown"][1, 64](text("%d of %s\n"), text("text that the compiler did not see"))
    assert capsys.readouterr().out == "12 of text that the compiler did not see\n"


def test_the_buffer_is_empty_again(buffered: wb.Module, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        buffered["many"][40, 256](zeros())
        lines = capsys.readouterr().out.splitlines()
        assert [int(line.partition(" ")[0]) for line in lines] == list(range(40 * 256))


# ROCm's device libraries

FOLDER = "HIPKITTENS_TEST_DEVICE_LIBRARIES"
LIBRARIES = Path(os.environ.get(FOLDER) or "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
TARGETS = {"gfx90a": "90a", "gfx942": "940"}


def _clangs() -> list[str]:
    """clangs that read the libraries and make code for TARGETS."""
    return [
        c for n in (15, 16, 19, 22) if (c := shutil.which(f"clang++-{n}")) and shutil.which(f"ld.lld-{n}")
    ]


CASES = [
    (clang, target, objects, level)
    for clang in _clangs()
    for target in (["gfx90a"] if clang.endswith(("15", "16")) else ["gfx942"])
    for objects, level in (("4", "-O0" if "15" in clang else "-O3"), ("5", "-O3"))
    if (clang[-2:], objects) != ("15", "5")
]


@pytest.mark.skipif(
    not (LIBRARIES / "ockl.bc").is_file(),
    reason=f"ROCm's device libraries are not installed (apt-get install rocm-device-libs; {FOLDER})",
)
@pytest.mark.parametrize(("clang", "target", "objects", "level"), CASES, ids=lambda value: Path(value).name)
def test_on_rocms_device_libraries(
    clang: str,
    target: str,
    objects: str,
    level: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = (
        *("opencl", "ocml", "ockl", f"oclc_isa_version_{TARGETS[target]}", f"oclc_abi_version_{objects}00"),
        *("oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off", "oclc_wavefrontsize64_on"),
        "oclc_correctly_rounded_sqrt_on",
    )
    linked = [o for n in names for o in ("-mlink-builtin-bitcode", str(LIBRARIES / f"{n}.bc"))]
    source = ROCM + KERNELS
    output = tmp_path / "code.o"
    subprocess.run(
        [
            *(clang, "-x", "hip", f"--offload-arch={target}", "--offload-device-only"),
            *("--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", f"-mcode-object-version={objects}", level),
            *("-std=c++17", "-", "-o", str(output), *(o for option in linked for o in ("-Xclang", option))),
        ],
        input=source,
        text=True,
        check=True,
    )
    module = wb.load(output)
    results = zeros()
    module["everything"][4, 128](results)
    printed = capsys.readouterr().out.splitlines()
    assert printed == lines_of_everything(4, 128)
    assert results[7].item() == len(printed[0]) + 1
    module["nested"][8, 128](zeros() + 42)
    check_nested(capsys.readouterr().out, 8, 42)
    module["many"][2, 256](zeros())
    assert [int(line) for line in capsys.readouterr().out.splitlines()] == list(range(512))
    values = zeros()
    values[300] = 100
    with pytest.raises(
        errors.AssertionFault, match=r"rocm.hip:9: assertion `x < 100` failed in check for thread \(44"
    ):
        module["check"][4, 128](values)
    if target != "gfx90a":
        with pytest.raises(errors.KernelFault, match="no heap for kernels"):
            module["allocate"][1, 64](values)


# HIP's header code around the device libraries.
ROCM = r"""#include <hip/hip_runtime.h>
#define __global__ __attribute__((global, amdgpu_flat_work_group_size(1, 1024)))
#define __device__ __attribute__((device))
typedef unsigned u32;
typedef unsigned long u64;
#define blockIdx Id<0>{}
#define threadIdx Id<1>{}
#define blockDim Id<2>{}
template <int N> struct Id {
    struct X {
        __device__ operator int() const {
            return N == 0 ? __builtin_amdgcn_workgroup_id_x()
                          : N == 1 ? __builtin_amdgcn_workitem_id_x() : __builtin_amdgcn_workgroup_size_x();
        }
    } x;
};
__device__ void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ u64 __ockl_fprintf_stderr_begin();
extern "C" __device__ u64 __ockl_fprintf_append_string_n(u64, const char *, u64, u32);
extern "C" __device__ u64 __ockl_fprintf_append_args(u64, u32, u64, u64, u64, u64, u64, u64, u64, u32);
extern "C" __device__ u64 __ockl_devmem_request(u64, u64);
__device__ void fail(const char *condition, const char *file, u32 line, const char *function) {
    const char format[] = "%s:%u: %s: Device-side assertion `%s' failed.\n";
    const auto length = [](const char *s) { u64 n = 0; while (s[n]) n++; return n + 1; };
    u64 message = __ockl_fprintf_stderr_begin();
    message = __ockl_fprintf_append_string_n(message, format, sizeof format, 0);
    message = __ockl_fprintf_append_string_n(message, file, length(file), 0);
    message = __ockl_fprintf_append_args(message, 1, line, 0, 0, 0, 0, 0, 0, 0);
    message = __ockl_fprintf_append_string_n(message, function, length(function), 0);
    __ockl_fprintf_append_string_n(message, condition, length(condition), 1);
    __builtin_trap();
}
extern "C" __global__ void check(int *x) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] >= 100) fail("x < 100", "rocm.hip", 9, "check");
}
extern "C" __global__ void allocate(int *x) { *(u64 *)x = __ockl_devmem_request(0, 4096); }
"""
