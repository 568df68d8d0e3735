"""Speed of the emulated device on this computer: a dozen benchmarks, each with its goal.

    python tests/benchmarks/speed.py                  # all, some minutes
    python tests/benchmarks/speed.py gemm attention   # these
    OMP_WAIT_POLICY=PASSIVE python tests/benchmarks/speed.py attention --threads 2

Nothing here says anything about a GPU. A row has the medians of wall time and of processor time, of all
threads and of children: on a busy computer the second is the one to look at. Calls that are compared take
turns in one process, so that what else the computer does falls on all of them alike. PyTorch gets as many
threads as the device; without OMP_WAIT_POLICY they spin on a core while the device's turn has begun.
docs/speed.md has what an idle machine took.

pytest-benchmark would not do: it times one callable by the clock, while a ratio of processor times taken in
turns is what a shared computer can tell.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

import workbench as wb
from workbench import runtime, targets
from workbench.codeobject import CodeObject
from workbench.codeobject.decoder import decode
from workbench.emulator.translate.translator import translate
from workbench.launches import LaunchOptions, StepOptions, TapeOptions
from workbench.operators.launch_target import resolve
from workbench.toolchain import CompileOptions, compile_device

DEVICE = "emulated:gfx950"


@dataclass(frozen=True)
class Times:
    """Median seconds of a call, by the clock and of the processor."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        name: what was timed.
        times: its seconds.
        note: what they come to: a ratio, a rate.
        goal: what the note should be.
    """

    name: str
    times: Times
    note: str = ""
    goal: str = ""


@dataclass(frozen=True)
class Settings:
    """Settings from the command line."""

    repeat: int
    threads: Sequence[int]

    def each_thread_count(self) -> Iterator[int]:
        """Sets the threads of the device and of PyTorch, to each number in turn."""
        for count in self.threads:
            os.environ["HIPKITTENS_THREADS"] = str(count)
            torch.set_num_threads(count)
            yield count


def processor_seconds() -> float:
    """CPU time of this process and of the children that it has waited for."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in usage)


def in_turns(calls: Sequence[Callable[[], object]], repeat: int, warm_up: int = 1) -> list[Times]:
    """Times of the calls, which take turns in every round; the first rounds do not count."""
    samples: list[list[tuple[float, float]]] = [[] for _ in calls]
    for _ in range(repeat + warm_up):
        for call, times in zip(calls, samples, strict=True):
            wall, processor = time.perf_counter(), processor_seconds()
            call()
            times.append((time.perf_counter() - wall, processor_seconds() - processor))
    medians = [map(statistics.median, zip(*times[warm_up:], strict=True)) for times in samples]
    return [Times(*pair) for pair in medians]


def ratio(ours: Times, theirs: Times, other: str) -> str:
    wall, processor = ours.wall / theirs.wall, ours.processor / theirs.processor
    return f"{wall:.2f} x {other} by wall, {processor:.2f} by processor"


def beside_pytorch(
    settings: Settings, name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: str
) -> Iterator[Row]:
    """A call of ours in turns with PyTorch's, on each number of threads."""
    for count in settings.each_thread_count():
        emulated, eager = in_turns((ours, theirs), settings.repeat)
        yield Row(f"{name}, {count} thread(s)", emulated, ratio(emulated, eager, "PyTorch"), goal)


def gemm(settings: Settings) -> Iterator[Row]:
    """bf16 GEMM of 2048 cubed compared with torch.matmul, in bf16 and in fp32."""
    a, b = (torch.randn(2048, 2048, generator=torch.Generator().manual_seed(i)).bfloat16() for i in (0, 1))
    a32, b32 = a.float(), b.float()
    for kernel in ("gemm/bf16:interleave", "gemm/bf16"):
        ours = lambda spec=wb.kernels[kernel]: spec(a, b, device=DEVICE)  # noqa: E731
        yield from beside_pytorch(settings, f"{kernel}, bf16", ours, lambda: a @ b.T, "2")
        yield from beside_pytorch(settings, f"{kernel}, fp32", ours, lambda: a32 @ b32.T, "1")


def exact(settings: Settings) -> Iterator[Row]:
    """The same GEMM, smaller, with exact numerics compared with fast ones."""
    a = torch.randn(512, 512, generator=torch.Generator().manual_seed(0)).bfloat16()
    spec = wb.kernels["gemm/bf16"]
    for count in settings.each_thread_count():
        calls = [lambda d=d: spec(a, a, device=d) for d in (f"{DEVICE},numerics=exact", DEVICE)]
        slow, fast = in_turns(calls, settings.repeat)
        yield Row(f"gemm/bf16 512, exact, {count} thread(s)", slow, ratio(slow, fast, "fast"), "4")


def attention(settings: Settings) -> Iterator[Row]:
    """Causal attention, B=2 H=4 N=1024 D=128, compared with scaled_dot_product_attention in bf16."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 1024, 4, 128, generator=generator).bfloat16() for _ in range(3))
    turned = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    for device in (DEVICE, "emulated:gfx942"):
        ours = lambda d=device: wb.kernels["attention/forward"](q, k, v, causal=True, device=d)  # noqa: E731
        yield from beside_pytorch(settings, device, ours, lambda: sdpa(*turned, is_causal=True), "1")


def rows(settings: Settings) -> Iterator[Row]:
    """rmsnorm and softmax of 16384 x 1024 in bf16 compared with PyTorch's."""
    x = torch.randn(16384, 1024, generator=torch.Generator().manual_seed(0)).bfloat16()
    weight = torch.ones(1024, dtype=torch.bfloat16)
    rmsnorm, softmax = wb.kernels["normalization/rmsnorm"], wb.kernels["activations/softmax"]
    eager = lambda: torch.nn.functional.rms_norm(x, (1024,), weight, 1e-5)  # noqa: E731
    yield from beside_pytorch(settings, "rmsnorm", lambda: rmsnorm(x, weight, device=DEVICE), eager, "3")
    softmax_eager = lambda: torch.softmax(x, -1)  # noqa: E731
    yield from beside_pytorch(settings, "softmax", lambda: softmax(x, device=DEVICE), softmax_eager, "3")


_LOOP = """
typedef int i2 __attribute__((ext_vector_type(2)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i8 __attribute__((ext_vector_type(8)));
typedef int i16 __attribute__((ext_vector_type(16)));
typedef float Sums __attribute__((ext_vector_type(SUMS)));
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256, 256)))
void run(float *data, int n) {
    unsigned lane = __builtin_amdgcn_workitem_id_x(), place = (lane & 63) * 16 + lane / 64 * 1024;
    i4 a = (i4)(0x3c003c00 + (int)lane), b = (i4)0x38003800;
    i2 a2 = a.xy, b2 = b.xy;
    i8 a8 = a.xyzwxyzw, b8 = b.xyzwxyzw;
    i16 a16 = a8.s0123456701234567, b16 = b8.s0123456701234567;
    Sums c[4] = {};
    for (int k = 0; k < n; k++) BODY
    data[__builtin_amdgcn_workgroup_id_x() * 256 + lane] = c[0][0] + c[1][0] + c[2][0] + c[3][0] + a.x;
}
"""
_VECTOR = (
    *("v_add_f32_e32 v{a}, v{b}, v{c}", "v_fma_f32 v{a}, v{b}, v{c}, v{a}", "v_xor_b32_e32 v{a}, v{b}, v{c}"),
    *("v_mul_f32_e32 v{a}, v{b}, v{c}", "v_lshlrev_b32_e32 v{a}, 3, v{b}", "v_add_u32_e32 v{a}, v{b}, v{c}"),
    *("v_max_f32_e32 v{a}, v{b}, v{c}", "v_and_b32_e32 v{a}, v{b}, v{c}", "v_cvt_f32_i32_e32 v{a}, v{b}"),
)
GROUPS = 16


def _vector(registers: int, add: str = "v_add_u32_e32") -> str:
    """A mix of vector instructions over this many registers; `add` is the target's addition of integers."""
    texts = [
        _VECTOR[i % len(_VECTOR)]
        .format(a=i * 97 % registers, b=i * 61 % registers, c=i * 29 % registers)
        .replace("v_add_u32_e32", add)
        for i in range(1500)
    ]
    clobbers = ", ".join(f'"v{i}"' for i in range(registers))
    return f'asm volatile("{"".join(text + chr(92) + "n" for text in texts)}" ::: {clobbers});'


def _memory(text: str, wait: str, operands: str) -> str:
    lines = "".join(text.replace("OFFSET", str(16 * i)) + "\\n" for i in range(32))
    return f'asm volatile("{lines}s_waitcnt {wait}" {operands} : "memory");'


def _matrix(mnemonic: str, sources: str) -> str:
    lines = "".join(f"{mnemonic} %{i}, %4, %5, %{i}\\n" for i in range(4)) * 4
    outputs = ", ".join(f'"+v"(c[{i}])' for i in range(4))
    return f'asm volatile("{lines}" : {outputs} : {sources});'


_DWORDS2, _DWORDS4 = '"v"(a2), "v"(b2)', '"v"(a), "v"(b)'
_DWORDS8, _DWORDS16 = '"v"(a8), "v"(b8)', '"v"(a16), "v"(b16)'
_INSTRUCTIONS = (
    ("vector ALU, 32 registers", _vector(32), "v_", 40, 0, "200 M/s"),
    ("vector ALU, 250 registers", _vector(250), "v_", 40, 0, "200 M/s"),
    (
        *(
            "LDS read b128",
            _memory("ds_read_b128 %0, %1 offset:OFFSET", "lgkmcnt(0)", ': "=v"(a) : "v"(place)'),
        ),
        *("ds_read_b128", 400, 0, "15 M/s"),
    ),
    (
        *(
            "LDS write b128",
            _memory("ds_write_b128 %1, %0 offset:OFFSET", "lgkmcnt(0)", ':: "v"(a), "v"(place)'),
        ),
        *("ds_write_b128", 400, 0, "15 M/s"),
    ),
    (
        "global read b128",
        _memory(
            "global_load_dwordx4 %0, %1, %2 offset:OFFSET", "vmcnt(0)", ': "=v"(a) : "v"(place), "s"(data)'
        ),
        *("global_load_dwordx4", 400, 0, "10 M/s"),
    ),
    (
        "global write b128",
        _memory(
            "global_store_dwordx4 %1, %0, %2 offset:OFFSET", "vmcnt(0)", ':: "v"(a), "v"(place), "s"(data)'
        ),
        *("global_store_dwordx4", 400, 0, "10 M/s"),
    ),
    *(
        (f"MFMA {kind} 16x16x32", _matrix(name, sources), name, 500, 2 * 16 * 16 * 32, "100 GFLOP/s")
        for kind, name, sources in (
            ("bf16", "v_mfma_f32_16x16x32_bf16", _DWORDS4),
            ("f16", "v_mfma_f32_16x16x32_f16", _DWORDS4),
            ("fp8", "v_mfma_f32_16x16x32_fp8_fp8", _DWORDS2),
        )
    ),
)
_WAVE_VECTORS = tuple(
    (f"vector ALU, {registers} registers", _vector(registers, "v_add_nc_u32_e32"), "v_", 40, 0, "270 M/s")
    for registers in (32, 250)
)
"""With 32 lanes; the goal is a lane's 200 M/s of 64, within a factor of 1.5."""


def _wave_matrices(*shapes: tuple[str, int, str]) -> tuple[Any, ...]:
    """Rows of WMMA instructions, of their names, K and operands."""
    return tuple(
        (
            *(f"WMMA {name}", _matrix(f"v_wmma_{name}", sources), "v_wmma", 500, 2 * 16 * 16 * k),
            "100 GFLOP/s",
        )
        for name, k, sources in shapes
    )


_OF_DEVICE = {
    DEVICE: _INSTRUCTIONS,
    "emulated:gfx1100": (
        *_WAVE_VECTORS,
        *_wave_matrices(("f32_16x16x16_bf16", 16, _DWORDS8), ("f32_16x16x16_f16", 16, _DWORDS8)),
    ),
    "emulated:gfx1201": (
        *_WAVE_VECTORS,
        *_wave_matrices(
            ("f32_16x16x16_bf16", 16, _DWORDS4),
            ("f32_16x16x16_f16", 16, _DWORDS4),
            ("f32_16x16x16_fp8_fp8", 16, _DWORDS2),
            ("i32_16x16x16_iu8", 16, _DWORDS2),
        ),
    ),
    "emulated:gfx1250": (
        *_WAVE_VECTORS,
        *_wave_matrices(
            ("f32_16x16x32_bf16", 32, _DWORDS8),
            ("f32_16x16x32_f16", 32, _DWORDS8),
            ("f32_16x16x64_fp8_fp8", 64, _DWORDS8),
            ("f32_16x16x128_fp8_fp8", 128, _DWORDS16),
            ("i32_16x16x64_iu8", 64, _DWORDS8),
        ),
    ),
}
"""By device: name, body of the loop, beginning of the counted mnemonics, trips, FLOPs per instruction, goal
per core."""


def instructions(settings: Settings) -> Iterator[Row]:
    """Loops of one kind of wave instruction, and how many run per second; the device itself counts them."""
    for name, table in _OF_DEVICE.items():
        yield from _rates(settings, runtime.device(name), table)


def _rates(settings: Settings, device: runtime.Device, table: Sequence[Any]) -> Iterator[Row]:
    data = np.zeros(GROUPS * 256 + 4096, np.float32)
    for name, body, prefix, trips, flops, goal in table:
        sums = f"SUMS={16 * 16 // targets.wave_size(device.arch)}"
        options = CompileOptions(device.arch, name="rates.hip", debug=False, define=(sums,))
        code = compile_device(_LOOP.replace("BODY", body), options).code_object
        function = device.load(code).function("run")
        arguments = data.ctypes.data.to_bytes(8, "little") + trips.to_bytes(4, "little")

        def launch(count: bool = False, function: Any = function, arguments: bytes = arguments) -> Any:
            return function.launch(
                *((GROUPS, 1, 1), (256, 1, 1), 8192, arguments),
                buffers=[(data.ctypes.data, data.nbytes)],
                options=runtime.LaunchOptions(count=count),
            )

        counts, text = launch(True).counts, CodeObject.from_bytes(code).text
        executed = sum(
            counts.get(one.address, 0)
            for one in decode(text.data, text.address, device.arch)
            if one.mnemonic.startswith(prefix)
        )
        unit, factor = ("GFLOP/s", flops / 1e9) if flops else ("M/s", 1e-6)
        for count in settings.each_thread_count():
            (times,) = in_turns((launch,), settings.repeat)
            rates = [executed / seconds * factor for seconds in (times.wall, times.processor)]
            note = f"{rates[0]:.0f} {unit} of wall time, {rates[1]:.0f} of a processor's"
            yield Row(f"{name}, {count} thread(s)", times, note, goal)


def _code_object(size: int, salt: int) -> CodeObject:
    """A code object of about `size` instructions, a branch after every 23; salts give different ones."""
    mix = (
        *_VECTOR,
        "ds_read_b32 v{a}, v{b} offset:{o}",
        "global_load_dword v{a}, v{b}, s[8:9]",
        "s_waitcnt vmcnt(0)",
    )
    lines = []
    for i in range(size):
        n = i * 7919 + salt
        text = mix[i % len(mix)].format(a=n % 32, b=n // 3 % 32, c=n // 5 % 32, o=n % 64 * 4)
        lines.append("s_cmp_lg_u32 s16, 0\\ns_cbranch_scc0 1f\\n1:" if i % 23 == 0 else text)
    clobbers = ", ".join(f'"v{i}"' for i in range(32))
    asm = "".join(f'"{line}\\n"' for line in lines)
    source = (
        'extern "C" __attribute__((global)) void run(int *p) {\n'
        f'asm volatile({asm} ::: {clobbers}, "s16", "scc", "memory");\n}}\n'
    )
    options = CompileOptions("gfx950", name="translation.hip", debug=False)
    return CodeObject.from_bytes(compile_device(source, options, use_cache=False).code_object)


def translation(settings: Settings) -> Iterator[Row]:
    """Machine code becomes native code: cold, from the disk cache, and by size."""
    before = os.environ.get("HIPKITTENS_CACHE")
    translate(_code_object(100, 0), "run")  # Tables, LLVM and the native library are read once a process.
    for size, goal in ((4000, "1 s"), (20_000, "linear")):
        codes = iter([_code_object(size, salt) for salt in range(1, settings.repeat + 1)])
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            os.environ["HIPKITTENS_CACHE"] = folder
            try:
                latest: list[CodeObject] = []

                def cold(codes: Iterator[CodeObject] = codes, latest: list[CodeObject] = latest) -> None:
                    latest[:] = [next(codes)]
                    translate(latest[0], "run")

                def cached(latest: list[CodeObject] = latest) -> None:
                    translate(latest[0], "run")

                first, again = in_turns((cold, cached), settings.repeat, warm_up=0)
            finally:
                os.environ.pop("HIPKITTENS_CACHE")
                if before is not None:
                    os.environ["HIPKITTENS_CACHE"] = before
        yield Row(f"{size:,} instructions, cold", first, f"{first.processor / size * 1e6:.0f} us each", goal)
        yield Row(f"{size:,} instructions, cached", again, goal="0.1 s of 4,000")


def decoding(settings: Settings) -> Iterator[Row]:
    """Instructions that the decoder sees for the first time."""
    generator, count = random.Random(1), 20_000

    def call() -> None:
        # v_add_f32_e32 with other registers each time.
        words = [0x0200_0000 | generator.randrange(1 << 25) & ~0x1FF | 0x100 for _ in range(count)]
        decode(struct.pack(f"<{count}I", *words), 0, "gfx950")

    (times,) = in_turns((call,), settings.repeat)
    yield Row("decoding", times, f"{count / times.processor:,.0f} instructions a second", "50,000")


_CELL = """
#include "kittens.cuh"
using namespace kittens;
struct globals {
    gl<bf16, 1, 1, -1, 64> x, out;
    dim3 grid() const { return dim3(x.rows() / 16); }
    dim3 block() const { return dim3(64); }
    size_t dynamic_shared_memory() const { return 0; }
};
__global__ __launch_bounds__(64) void scale(const globals g) {
    rt_bf<16, 64> tile;
    load(tile, g.x, {0, 0, (int)blockIdx.x, 0});
    mul(tile, tile, bf16(2.0f));
    store(g.out, tile, {0, 0, (int)blockIdx.x, 0});
}
"""
_BINDING = """
#include "pyutils/pyutils.cuh"
PYBIND11_MODULE(scale_module, m) { py::bind_kernel<scale>(m, "scale", &globals::x, &globals::out); }
"""


def edit(settings: Settings) -> Iterator[Row]:
    """A small cell from its source to its result, new and cached; a new pybind11 module."""
    x = torch.ones(32, 64, dtype=torch.bfloat16)
    out = torch.empty_like(x)
    tag = time.time_ns()
    turns = {"cell": 0, "module": 0}

    def cell(step: int = 1) -> None:
        turns["cell"] += step
        wb.compile(f"// {tag + turns['cell']}\n{_CELL}", arch="gfx950")["scale"][2, 64](x=x, out=out)
        assert torch.equal(out, 2 * x), "the result is wrong"

    def module() -> None:
        turns["module"] += 1
        wb.compile(f"// {tag + turns['module']}\n{_CELL}{_BINDING}", arch="gfx950", host=True)

    new, cached, host = in_turns((cell, lambda: cell(0), module), settings.repeat)
    yield Row("cell, new source", new)
    yield Row("cell, cached", cached)
    yield Row("pybind11 module, new source, headers precompiled", host)


_FIRST_KERNEL = """
import workbench as wb
wb.compile('extern "C" __global__ void empty() {}', arch="gfx950")
"""
_FIRST_DASHBOARD = """
import os, sys
from types import SimpleNamespace
from IPython.core.interactiveshell import InteractiveShell
def run(cell):
    InteractiveShell.instance().run_cell(cell).raise_error()
run("%load_ext workbench")
run("import torch, workbench as wb; x = torch.ones(32, 64, dtype=torch.bfloat16); out = torch.empty_like(x)")
run("%%hipkittens cell --arch gfx950\\n" + sys.argv[1])
run('wb.profile(cell["scale"][2, 64], x=x, out=out).figure')
if "stays" in sys.argv:
    # JupyterLab names the cell in its requests, so the page stays and its copy is drawn later.
    request = {"metadata": {"cellId": "0"}}
    InteractiveShell.instance().kernel = SimpleNamespace(get_parent=lambda: request)
run("wb.dashboard()")
os._exit(0)  # a notebook's kernel stays; taking down PyTorch takes half a second
"""


def first(settings: Settings) -> Iterator[Row]:
    """First use on a machine, from an empty cache; then a new kernel up to its dashboard, from a filled one.

    Each takes a process of its own, so imports count. A wheel for one kind of machine brings the native
    library; from a checkout it is built here.

    The dashboard is timed twice. In JupyterLab the reader waits for the live page; the copy that is saved
    with the notebook is drawn afterwards, in a thread, and is not in the first row. nbconvert ends the kernel
    with the last cell, so it waits for the copy: the second row has all of it.
    """

    def process(program: str, *arguments: str) -> None:
        source = f"// {time.time_ns()}\n{_CELL}"
        command = [sys.executable, "-c", program, source, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    before = dict(os.environ)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["HIPKITTENS_CACHE"] = folder
        os.environ.pop("ZIG_GLOBAL_CACHE_DIR", None)
        try:
            (kernel,) = in_turns((partial(process, _FIRST_KERNEL),), 1, warm_up=0)
            yield Row("first kernel", kernel, goal="3 s with the wheel")
            pages = partial(process, _FIRST_DASHBOARD, "stays"), partial(process, _FIRST_DASHBOARD)
            live, saved = in_turns(pages, settings.repeat)
            yield Row("new kernel to live dashboard", live, goal="3 s")
            yield Row("new kernel to dashboard and its saved copy", saved)
        finally:
            os.environ.clear()
            os.environ.update(before)


def call(settings: Settings) -> Iterator[Row]:
    """Small calls that spend their time in Python: a bare launch, operators, the same through torch.ops."""
    device = wb.device(DEVICE)
    kernel = wb.compile(
        '#include "hip/hip_runtime.h"\n__global__ void nothing(float *x) {}\n', arch="gfx950"
    )["nothing"]
    x = torch.ones(64)
    calls: dict[str, Callable[[], object]] = {"bare launch, one pointer": lambda: kernel[1, 64](x)}
    for name, shape in (
        ("normalization/rmsnorm", {"rows": 64, "cols": 128}),
        ("activations/softmax", {"rows": 64, "cols": 128}),
        ("gemm/bf16", {"m": 64, "n": 64, "k": 64}),
    ):
        spec = wb.kernels[name]
        inputs = spec.make_inputs(shape, device=device)
        calls[name] = lambda spec=spec, inputs=inputs: spec(**inputs)
        calls[f"{name}, torch.ops"] = lambda op=spec.operator.overload, inputs=inputs: op(**inputs)
    goals = {"bare launch, one pointer": "0.1 ms", "normalization/rmsnorm": "0.2 ms"}
    for name, times in zip(
        calls, in_turns(list(calls.values()), 60 * settings.repeat, warm_up=20), strict=True
    ):
        yield Row(name, times, goal=goals.get(name, ""))


def model(settings: Settings) -> Iterator[Row]:
    """`wb.time` of problems of full size on MI355X; goals are of wall time on two quiet cores."""
    for kernel, small, shape, goal in (
        ("normalization/rmsnorm", {"rows": 256, "cols": 1024}, {"rows": 16384, "cols": 1024}, "1 s"),
        ("gemm/bf16", dict.fromkeys("mnk", 1024), dict.fromkeys("mnk", 8192), "10 s"),
    ):
        device = "emulated:MI355X"
        wb.time(kernel, shape=small, device=device)
        run = lambda k=kernel, s=shape, d=device: wb.time(k, shape=s, device=d)  # noqa: E731
        (times,) = in_turns((run,), 1, warm_up=0)
        yield Row(f"wb.time of {kernel}, {shape}", times, goal=goal)


def observing(settings: Settings) -> Iterator[Row]:
    """Launches that are sanitized, or whose steps are recorded, compared with plain ones."""
    for kernel, shape in (
        ("gemm/bf16:interleave", dict.fromkeys("mnk", 512)),
        ("normalization/rmsnorm", {"rows": 64, "cols": 1024}),
    ):
        part = resolve(kernel, shape=shape, device=DEVICE).parts[0]
        kinds = {
            "sanitized": (LaunchOptions(sanitize=True), LaunchOptions()),
            "steps kept": (
                LaunchOptions(tape=TapeOptions()),
                LaunchOptions(steps=StepOptions(groups=1, alone_from=1)),
            ),
        }
        os.environ["HIPKITTENS_THREADS"] = "1"
        for kind, options in kinds.items():
            observed, plain = in_turns([partial(part.run, each) for each in options], settings.repeat)
            yield Row(
                f"{kernel}, {kind}", observed, ratio(observed, plain, "plain"), "20" * (kind == "sanitized")
            )


BENCHMARKS = (
    gemm,
    exact,
    attention,
    rows,
    instructions,
    translation,
    decoding,
    edit,
    first,
    call,
    model,
    observing,
)


def main() -> None:
    names = {benchmark.__name__: benchmark for benchmark in BENCHMARKS}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    if unknown := set(options.names) - names.keys():
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    print(f"load of this computer: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for name in options.names or names:
        print(f"\n{name}: {names[name].__doc__}")
        for row in names[name](Settings(options.repeat, options.threads)):
            seconds = f"{row.times.wall * 1e3:10.2f} ms {row.times.processor * 1e3:10.2f} ms"
            goal = f" (goal: {row.goal})" if row.goal else ""
            print(f"  {row.name:50}{seconds}  {row.note}{goal}", flush=True)


if __name__ == "__main__":
    main()
