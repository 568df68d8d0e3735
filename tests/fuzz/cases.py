"""The fuzzers' cases: each kind's input from a seed, and the allowed outcomes. A case ends well with a result
or with an exception of the workbench. After some cases the state is checked: memory that no case may reach is
unchanged, and a launch that is known to work gives its result.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property, partial
from types import FrameType
from typing import Any

import numpy as np
import torch

from tests.fuzz import damages
from tests.fuzz.streams import DUMPED_ROWS, S_ENDPGM, computing, dump, prologue, stream
from tests.fuzz.template import deterministic, endless, kernels, template
from workbench import errors, profile, runtime, sanitize
from workbench.codeobject import CodeObject, KernelInfo, printer
from workbench.codeobject.debug import DebugInfo
from workbench.codeobject.decoder import decode
from workbench.emulator.node.allocations import Allocation, MemoryKind
from workbench.emulator.node.device import node
from workbench.emulator.node.dispatch import Geometry
from workbench.kernel import Kernel, Module
from workbench.kernel.parameters import torch_dtypes
from workbench.targets import TILE_TARGETS

LAUNCH_SECONDS = 0.1
BUFFER_BYTES = 16384
GUARDED = 16384
"""Bytes of a launch's tensors, and of what lies on either side of them."""
_CANARY = 0x5A


class Broken(Exception):
    """Something that no case may do has happened."""


@contextmanager
def _setting(name: str, value: float) -> Iterator[None]:
    """Sets an environment variable temporarily."""
    before = os.environ.get(name)
    os.environ[name] = str(value)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


class World:
    """Devices, buffers and canaries that the cases of a process share."""

    def __init__(self) -> None:
        # For each target, the device of its launches: products of one target do not share memory.
        self.devices = {d.product.arch: d for d in node().devices if d.name == f"emulated:{d.product.arch}"}
        memory = node().memory
        self.buffers: dict[str, tuple[Allocation, Allocation]] = {}
        self.canaries: list[Allocation] = []
        for target in TILE_TARGETS:
            ordinal = self.devices[target].ordinal
            first, second = (memory.allocate(BUFFER_BYTES, MemoryKind.DEVICE, ordinal) for _ in range(2))
            self.buffers[target] = first, second
            # No kernel of this target may see what belongs to the other device.
            self.canaries.append(memory.allocate(65536, MemoryKind.DEVICE, ordinal))
        freed = memory.allocate(4096, MemoryKind.DEVICE, self.devices[TILE_TARGETS[0]].ordinal)
        memory.free(freed)
        self.freed = freed.base
        self.host = np.full(65536, _CANARY, np.uint8)
        self.arm()

    def prepare(self) -> None:
        """Compile and load the inputs of the cases."""
        for target in TILE_TARGETS:
            template(target)
        assert self.good
        assert self.victims
        assert self.deterministic
        assert self.endless
        # Profiling and sanitizing each have native code, which is built at the first use.
        for observe in (profile, sanitize):
            count = torch.zeros(64)
            add = Module(kernels(TILE_TARGETS[0]))["add"][1, 64]
            observe(add, count, count, count, 64, device=f"emulated:{TILE_TARGETS[0]}")

    def arm(self) -> None:
        """Restores the canaries: a kernel may write those of its own device."""
        for canary in self.canaries:
            ctypes.memset(canary.base, _CANARY, canary.size)

    @cached_property
    def good(self) -> dict[str, Any]:
        """Modules for known launches, by target."""
        return {t: runtime.device(f"emulated:{t}").load(kernels(t)) for t in TILE_TARGETS}

    @cached_property
    def victims(self) -> dict[str, Any]:
        """Second copies of the modules in `good`, for cases that may write into the image."""
        return {t: runtime.device(f"emulated:{t}").load(kernels(t)) for t in TILE_TARGETS}

    @cached_property
    def deterministic(self) -> dict[str, Any]:
        """Modules of kernels whose results do not depend on the order of waves, by target."""
        return {t: runtime.device(f"emulated:{t}").load(deterministic(t)) for t in TILE_TARGETS}

    @cached_property
    def endless(self) -> dict[str, Any]:
        """Modules of kernels that do not end, by target."""
        return {t: runtime.device(f"emulated:{t}").load(endless(t)) for t in TILE_TARGETS}

    def examine(self, generator: random.Random) -> None:
        """Raises Broken if memory out of reach has changed or a known launch does not give its result."""
        if not (self.host == _CANARY).all():
            raise Broken("host memory that no kernel was given has changed")
        target = generator.choice(TILE_TARGETS)
        count = generator.randrange(1, 1000)
        a = np.arange(count, dtype=np.float32)
        b = np.full(count, 0.5, np.float32)
        c = np.zeros(count, np.float32)
        content = struct.pack("<QQQi", a.ctypes.data, b.ctypes.data, c.ctypes.data, count)
        buffers = [(array.ctypes.data, array.nbytes) for array in (a, b, c)]
        self.good[target].function("add").launch(
            (-(-count // 256), 1, 1), (256, 1, 1), 0, content, buffers=buffers
        )
        if not (c == a + b).all():
            raise Broken(f"a known launch on {target} gave other numbers")

    def check_canary(self, target: str) -> None:
        """Raises Broken if a kernel of `target` changed memory of another device."""
        for canary in self.canaries:
            if canary.device == self.devices[target].ordinal:
                continue
            content = (ctypes.c_char * canary.size).from_address(canary.base).raw
            if content.count(_CANARY) != canary.size:
                raise Broken(f"a kernel on {target} changed memory of another device")


def _descriptor(generator: random.Random, target: str) -> dict[int, int]:
    """Dwords of the kernel descriptor: kernel arguments in s[0:1], the rest often random."""
    source = template(target)
    rsrc1, rsrc2, rsrc3 = source.word(48), source.word(52), source.word(44)
    properties = 1 << 3 | source.word(56) & ~0x7F
    rsrc2 = rsrc2 & ~0x3E | 2 << 1
    rsrc3 = rsrc3 & ~0x3F | generator.choice((0, 3, 15, 31, 63))
    if generator.random() < 0.5:
        rsrc1 = rsrc1 & ~(0xFF << 12) | generator.randrange(256) << 12 | generator.randrange(8) << 21
    result = {
        0: generator.choice((0, 64, 4096, 65024, 16 * generator.randrange(4096))),
        4: generator.choice((0, 0, 16, 256, 4 * generator.randrange(1 << 12))),
    }
    if generator.random() < 0.1:
        rsrc1, rsrc2, rsrc3 = (value ^ 1 << generator.randrange(32) for value in (rsrc1, rsrc2, rsrc3))
        properties ^= 1 << generator.randrange(32)
        result[generator.choice((0, 4))] = generator.randrange(1 << 32)
    return result | {44: rsrc3, 48: rsrc1, 52: rsrc2, 56: properties}


def _wanted(world: World, target: str, kernel: KernelInfo) -> bytes:
    """Arguments that a kernel can work with: buffers where it takes pointers, else a small number."""
    content = bytearray(min(kernel.kernarg_size, 4096))
    for place, argument in enumerate(kernel.args):
        if not argument.hidden and argument.offset + argument.size <= len(content):
            value = world.buffers[target][place % 2].base if argument.size == 8 else 1
            content[argument.offset : argument.offset + argument.size] = value.to_bytes(8, "little")[
                : argument.size
            ].ljust(argument.size, b"\0")
    return bytes(content)


def _run_all(
    generator: random.Random, world: World, data: bytes, target: str, arguments: bytes | None
) -> None:
    """Load a code object as a program would, and launch some of its kernels. Without `arguments` each gets
    those that its metadata declares: buffers and small numbers.
    """
    device = world.devices[target]
    loaded = device.load(data)
    world.arm()
    options = runtime.LaunchOptions(
        count=generator.random() < 0.2,
        profile=generator.random() < 0.2,
        timeout=LAUNCH_SECONDS,
        sanitize=generator.random() < 0.25,
    )
    failure: errors.WorkbenchError | None = None
    try:
        with node().observe(options):
            names = list(loaded.code_object.kernels)
            for name in generator.sample(names, min(2, len(names))):
                kernarg = arguments or _wanted(world, target, loaded.code_object.kernels[name])
                block = generator.choice((1, 63, 64, 128, 200))
                geometry = Geometry.of_blocks((generator.randrange(1, 4), 1, 1), (block, 1, 1))
                try:
                    device.launch(loaded, name, geometry, generator.choice((0, 0, 512)), kernarg)
                except errors.WorkbenchError as error:
                    failure = error
    finally:
        device.unload(loaded)
    world.check_canary(target)
    if failure is not None:
        raise failure


def instruction_stream(generator: random.Random, world: World) -> None:
    """Random instructions in a separate kernel."""
    target = generator.choice(TILE_TARGETS)
    code = prologue(target, BUFFER_BYTES)
    code += stream(generator, target, generator.choice((1, 3, 10, 30))) + S_ENDPGM
    room = template(target).room
    data = template(target).filled(code[:room], _descriptor(generator, target))
    first, second = world.buffers[target]
    arguments = struct.pack("<QQQQ", first.base, second.base, 0, generator.getrandbits(64))
    _run_all(generator, world, data, target, arguments)


def _mutated(generator: random.Random, original: bytes, most: int = 64) -> bytes:
    data = bytearray(original)
    for _ in range(min(most, generator.choice((1, 2, 8, 64)))):
        kind = generator.random()
        limit = generator.choice((64, 0x400, 0x1000, len(data), len(data)))
        place = generator.randrange(max(1, min(limit, len(data)) - 8))
        if kind < 0.5:
            data[place] = generator.randrange(256)
        elif kind < 0.7:
            data[place] ^= 1 << generator.randrange(8)
        elif kind < 0.9:
            size = generator.choice((1, 2, 4, 8))
            edge = generator.choice((0, 1, -1, 1 << 8 * size - 1, (1 << 8 * size - 1) - 1, 0x40, len(data)))
            data[place : place + size] = (edge & (1 << 8 * size) - 1).to_bytes(size, "little")
        else:
            other, size = generator.randrange(len(data)), generator.randrange(1, 64)
            data[place : place + size] = data[other : other + size].ljust(size, b"\0")
    return bytes(data[: len(original)])


def mutated_code_object(generator: random.Random, world: World) -> None:
    """A real code object with damage, loaded, and its kernels launched."""
    target = generator.choice(TILE_TARGETS)
    data = _mutated(generator, kernels(target), generator.choice((1, 4, 64)))
    _run_all(generator, world, data, target, None)


def damaged_module(generator: random.Random, world: World) -> None:
    """A damaged code object used as in a notebook: shown, disassembled, launched with tensors, inspected."""
    target = generator.choice(TILE_TARGETS)
    module = Module(damages.damaged(generator, kernels(target)), name="damaged.hip")
    uses: list[Callable[[], object]] = [generator.choice((module.__repr__, module._repr_html_))]
    for kernel in generator.sample(list(module.kernels.values()), min(1, len(module.kernels))):
        uses += (partial(getattr, kernel, attribute) for attribute in ("signature", "resources", "isa"))
        uses += (kernel.__repr__, kernel._repr_html_, partial(_launched, generator, world, kernel))
    failure: errors.WorkbenchError | None = None
    for use in uses:
        try:
            use()
        except errors.WorkbenchError as error:
            failure = error
    if failure is not None:
        raise failure


def _launched(generator: random.Random, world: World, kernel: Kernel) -> None:
    """A launch with tensors adjacent to memory of other allocations, sometimes profiled or sanitized."""
    world.arm()
    memory = torch.full((3 * GUARDED,), _CANARY, dtype=torch.uint8)
    tensors = memory[GUARDED : 2 * GUARDED]
    tensors.view(torch.int32).fill_(1)
    values: list[Any] = []
    for place, parameter in enumerate(kernel.plan.parameters):
        kind = parameter.type
        if kind.kind == "pointer":
            dtype = next(iter(torch_dtypes(kind.target, kernel.arch)), "float32")
            values.append(tensors[place * 1024 : (place + 1) * 1024].view(getattr(torch, dtype)))
        else:
            values.append(bytes([1]).ljust(kind.size, b"\0") if 0 < kind.size < 4096 else 1)
    launcher = kernel[generator.randrange(1, 4), generator.choice((1, 63, 64, 128, 200))]
    way = generator.random()
    try:
        with _setting("HIPKITTENS_TIMEOUT", LAUNCH_SECONDS):
            if way < 0.1:
                profile(launcher, *values, device=f"emulated:{kernel.arch}")._repr_html_()
            elif way < 0.4:
                sanitize(launcher, *values, device=f"emulated:{kernel.arch}")._repr_html_()
            else:
                launcher(*values)._repr_html_()
    finally:
        if not (memory[:GUARDED] == _CANARY).all() or not (memory[2 * GUARDED :] == _CANARY).all():
            raise Broken("memory beside the tensors of a launch has changed")
        world.check_canary(kernel.arch)


def hostile_file(generator: random.Random, world: World) -> None:
    """Truncated, spliced and random files: everything that the workbench reads from a code object."""
    target = generator.choice(TILE_TARGETS)
    original = kernels(target)
    kind = generator.random()
    if kind < 0.3:
        data = original[: generator.randrange(len(original))]
    elif kind < 0.4:
        data = generator.randbytes(generator.randrange(4096))
    elif kind < 0.5:
        data = original[:64] + generator.randbytes(generator.randrange(4096))
    elif kind < 0.7:
        data = _bundle(generator, [original, kernels(TILE_TARGETS[0])])
    else:
        data = _mutated(generator, original)
        # The tables that everything else depends on.
        start = generator.choice((32, 40, int.from_bytes(original[40:48], "little")))
        place = min(start + generator.randrange(256), len(data) - 8)
        edge = generator.choice((0, 1, 2**32 - 1, 2**63, 2**64 - 1, generator.getrandbits(64), len(data)))
        data = data[:place] + edge.to_bytes(8, "little") + data[place + 8 :]
    if generator.random() < 0.3:
        runtime.device(f"emulated:{target}").load(data)
        return
    code_object = CodeObject.from_bytes(data, generator.choice((None, target)))
    code_object.load(0x7F0000000000)
    for instruction in decode(code_object.text.data, code_object.text.address, code_object.target):
        printer.text(instruction)
    debug = DebugInfo(code_object)
    for kernel in code_object.kernels.values():
        debug.place_of(kernel.entry)
        debug.frames_of(kernel.entry)
        debug.parameters(kernel.name)


def _bundle(generator: random.Random, contents: list[bytes]) -> bytes:
    """A fat binary, with fields of its header damaged."""
    names = [f"hipv4-amdgcn-amd-amdhsa--{target}".encode() for target in TILE_TARGETS]
    data = bytearray(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(contents)))
    position = 4096
    for name, content in zip(names, contents, strict=True):
        data += struct.pack("<QQQ", position, len(content), len(name)) + name
        position += len(content) + -len(content) % 4096
    for content in contents:
        data += bytes(-len(data) % 4096) + content
    for _ in range(generator.randrange(3)):
        place = 24 + generator.randrange(160)
        data[place : place + 8] = generator.choice((bytes(8), b"\xff" * 8, generator.randbytes(8)))
    return bytes(data)


@cache
def _kernel_infos(target: str) -> Mapping[str, KernelInfo]:
    return CodeObject.from_bytes(kernels(target)).kernels


def wild_arguments(generator: random.Random, world: World) -> None:
    """A correct kernel with random shapes, sizes, and pointers to unmapped or wrong memory."""
    target = generator.choice(TILE_TARGETS)
    first, second = world.buffers[target]
    device = world.devices[target]
    other = next(canary for canary in world.canaries if canary.device != device.ordinal)
    pointers = (
        *(first.base, second.base, first.base, second.base),
        *(first.base + 4 * generator.randrange(BUFFER_BYTES // 2), first.end - generator.randrange(16)),
        *(0, 1, 2**64 - 1, 2**63, generator.getrandbits(64), generator.getrandbits(47)),
        *(world.freed, world.host.ctypes.data, other.base, other.base - 4),
        *(
            generator.randrange(1 << 20) + base
            for base in (1 << 48, 2 << 48, first.base, other.base - (1 << 19))
        ),
    )
    integers = (0, 1, 2, -1, 31, 32, 63, 255, 256, 1000, 2**31 - 1, -(2**31), generator.getrandbits(31))
    # Contents of a buffer are arguments too: indices and pointers that a kernel follows.
    for allocation in (first, second):
        for _ in range(generator.randrange(8)):
            value = generator.choice((*pointers, generator.getrandbits(64)))
            place = 8 * generator.randrange(min(64, BUFFER_BYTES // 8))
            ctypes.memmove(allocation.base + place, value.to_bytes(8, "little"), 8)
    module = world.victims[target]
    infos = _kernel_infos(target)
    name = generator.choice(list(infos))
    content = b""
    for argument in infos[name].args:
        if argument.hidden:
            continue
        content = content.ljust(argument.offset, b"\0")
        if argument.size == 8:
            content += generator.choice(pointers).to_bytes(8, "little")
        else:
            content += (generator.choice(integers) & 0xFFFFFFFF).to_bytes(4, "little")
    if generator.random() < 0.05:
        content = content[: generator.randrange(len(content))]
    small = (1, 1, 1, 2, 3)
    odd = (0, 64, -1, 65536, 2**31, 2**32)
    shape = [
        generator.choice(small) if generator.random() < 0.98 else generator.choice(odd) for _ in range(3)
    ]
    block = [generator.choice((1, 64, 64, 100, 256, 1024)), 1, 1]
    if generator.random() < 0.1:
        block = [generator.choice((*small, *odd)) for _ in range(3)]
    shared = generator.choice((0, 0, 0, 1024, 65536, 163840, -1, 2**31)) if generator.random() < 0.3 else 0
    options = runtime.LaunchOptions(profile=generator.random() < 0.2, timeout=LAUNCH_SECONDS)
    world.arm()
    try:
        module.function(name).launch(tuple(shape), tuple(block), shared, content, options=options)
    finally:
        world.check_canary(target)


# The same for any number of threads


def _alike(name: str, runs: list[tuple[bytes, Any]]) -> None:
    contents, counts = zip(*runs, strict=True)
    if any(content != contents[0] for content in contents):
        raise Broken(f"{name} gave other bits with another number of threads")
    if any(count != counts[0] for count in counts):
        raise Broken(f"{name} counted something else with another number of threads")


def thread_count(generator: random.Random, world: World) -> None:
    """A launch gives the same bits, counters and errors on one, two and three threads."""
    target = generator.choice(TILE_TARGETS)
    if generator.random() < 0.4:
        _computed(generator, world, target)
        return
    function = world.deterministic[target].function(
        generator.choice(("each", "floats", "tiles", "sums", "diverging"))
    )
    groups = generator.choice((1, 2, 7, 40, 200))
    steps = generator.choice((0, 1, 5, 40))
    values = np.random.default_rng(generator.getrandbits(32)).integers(0, 2**32, 256, np.uint32)
    values &= np.uint32(generator.choice((0xFFFFFFFF, 0x3FFFFFFF, 0xFFF)))
    runs = []
    # The lines that an access touches depend on where the memory is: it is the same for every run.
    out = np.zeros(groups * 256, np.uint32)
    for threads in (1, 2, 3):
        out.fill(0)
        content = struct.pack("<QQi", values.ctypes.data, out.ctypes.data, steps)
        with _setting("HIPKITTENS_THREADS", threads):
            record = function.launch(
                (groups, 1, 1),
                (256, 1, 1),
                0,
                content,
                buffers=[(array.ctypes.data, array.nbytes) for array in (values, out)],
                options=runtime.LaunchOptions(count=True, profile=True),
            )
        runs.append((out.tobytes(), (record.counts, record.counters)))
    _alike(function.name, runs)


def _computed(generator: random.Random, world: World, target: str) -> None:
    """Random instructions that compute; every register of every wave is compared."""
    code = (
        dump(target, True)
        + computing(generator, target, generator.choice((5, 40, 120)))
        + dump(target, False)
    )
    source = template(target)
    # Kernel arguments in s[0:1], the work-group in s2, and LDS.
    data = source.filled(
        code[: source.room],
        {
            0: 65024,
            44: source.word(44) & ~0x3F | 15,
            52: source.word(52) & ~0x3E | 2 << 1 | 1 << 7,
            56: 1 << 3 | source.word(56) & ~0x7F,
        },
    )
    device = world.devices[target]
    groups = generator.choice((1, 3, 20))
    loaded = device.load(data)
    runs: list[tuple[bytes, Any]] = []
    try:
        for threads in (1, 2):
            size = groups * 4 * 256 * (DUMPED_ROWS + 1)
            memory = node().memory.allocate(size, MemoryKind.DEVICE, device.ordinal)
            options = runtime.LaunchOptions(count=True, profile=True, timeout=10 * LAUNCH_SECONDS)
            seen: Any
            try:
                with _setting("HIPKITTENS_THREADS", threads), node().observe(options) as results:
                    device.launch(
                        loaded,
                        "fuzz",
                        Geometry.of_blocks((groups, 1, 1), (256, 1, 1)),
                        0,
                        struct.pack("<QQQQ", memory.base, 0, 0, 0),
                    )
                seen = results[-1].counts, results[-1].counters
                content = (ctypes.c_char * size).from_address(memory.base).raw
            except errors.KernelTimeout:
                return
            except errors.KernelFault as fault:
                # Later work-groups than the faulting one may have run or not; the report is the same.
                seen, content = str(fault), b""
            finally:
                node().memory.free(memory)
            runs.append((content, seen))
    finally:
        device.unload(loaded)
    _alike("a stream of instructions", runs)


# External ends


def _endless(generator: random.Random, world: World) -> tuple[Any, tuple[int, int, int], int, bytes]:
    """A kernel that does not end: the function, its grid, its block and its arguments."""
    target = generator.choice(TILE_TARGETS)
    names = ("spin", "spin_atomic", "compute", "between_barriers", "barriers", "wait_for_groups", "stream")
    function = world.endless[target].function(generator.choice(names))
    memory = world.buffers[target][0]
    ctypes.memset(memory.base, 0, memory.size)
    block = generator.choice((64, 128, 256, 1024))
    return (
        function,
        (generator.choice((1, 1, 2, 5, 300)), 1, 1),
        block,
        struct.pack("<Qi", memory.base, generator.randrange(block // 64)),
    )


def time_limit(generator: random.Random, world: World) -> None:
    """A kernel that does not end is stopped at its limit, and its place is reported."""
    function, grid, block, content = _endless(generator, world)
    limit = generator.choice((0.005, 0.02, 0.1))
    options = runtime.LaunchOptions(
        timeout=limit, count=generator.random() < 0.3, sanitize=generator.random() < 0.3
    )
    try:
        function.launch(grid, (block, 1, 1), 0, content, options=options)
    except errors.KernelTimeout:
        raise
    except errors.WorkbenchError as error:
        raise Broken(f"{function.name} did not come to its limit") from error
    raise Broken(f"{function.name} ended")


class _Presses:
    """Ctrl-C from another thread, as often as necessary; none after `settle`."""

    def __init__(self) -> None:
        self.pressed = self.heard = 0
        self.dropped: list[str] = []
        self._raising = True
        self._timers: list[threading.Timer] = []
        self._handler = signal.signal(signal.SIGINT, self._hear)
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._unraisable

    def press(self, after: float) -> None:
        # From another thread: an exception that `os.kill` raises within the hook is lost too.
        timer = threading.Timer(after, self._kill)
        self._timers.append(timer)
        timer.start()

    def settle(self) -> None:
        """Wait for the interrupts. Raises: Broken: an interrupt was lost, or was noticed twice."""
        self._raising = False
        for timer in self._timers:
            timer.cancel()
            if timer.ident is not None:
                timer.join()
        end = time.monotonic() + 10
        while self.heard < self.pressed and time.monotonic() < end:
            time.sleep(0.001)
        sys.unraisablehook = self._hook
        signal.signal(signal.SIGINT, self._handler)
        if self.heard != self.pressed:
            raise Broken(f"{self.pressed} interrupts were heard {self.heard} times")

    def _kill(self) -> None:
        self.pressed += 1
        os.kill(os.getpid(), signal.SIGINT)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.heard += 1
        if self._raising:
            raise KeyboardInterrupt

    def _unraisable(self, unraisable: sys.UnraisableHookArgs) -> None:
        # Python itself drops an interrupt that comes in a finalizer or in a weak reference's callback, which
        # garbage collection calls before a launch. A person presses again. An interrupt lost in a
        # callback of ours from C is our fault.
        self.dropped.append(f"{unraisable.err_msg} {unraisable.object!r}: {unraisable.exc_value!r}")
        if unraisable.exc_type is KeyboardInterrupt and "callback function" not in (unraisable.err_msg or ""):
            self.press(0.5)
        else:
            self._hook(unraisable)


def interrupt(generator: random.Random, world: World) -> None:
    """Ctrl-C at a random moment: the launch stops soon, and the next one works."""
    function, grid, block, content = _endless(generator, world)
    options = runtime.LaunchOptions(timeout=5.0, sanitize=generator.random() < 0.2)
    delay = generator.choice((1e-4, 1e-3, 0.01, 0.05)) * (0.5 + generator.random())
    presses = _Presses()
    try:
        presses.press(delay)
        function.launch(grid, (block, 1, 1), 0, content, options=options)
        raise Broken(f"{function.name} ended")
    except KeyboardInterrupt:
        pass
    except errors.WorkbenchError as error:
        raise Broken(f"{function.name} was not interrupted; Python dropped {presses.dropped}") from error
    finally:
        presses.settle()
    world.examine(generator)


def memory_limit(generator: random.Random, world: World) -> None:
    """Random allocations under a low limit: refused or complete, never overlapping, contents preserved."""
    memory = node().memory
    ordinal = world.devices[generator.choice(TILE_TARGETS)].ordinal
    used, limit = memory.used, memory.limit
    live: dict[Allocation, int] = {}
    refused = 0
    try:
        memory.limit = used + generator.choice((1 << 12, 1 << 20, 1 << 26))
        for _ in range(generator.randrange(2, 40)):
            if live and generator.random() < 0.35:
                allocation = generator.choice(list(live))
                _whole(allocation, live.pop(allocation))
                memory.free(allocation)
                continue
            size = generator.choice((0, 1, 255, 4096, 5000, 1 << 16, 1 << 20, 1 << 30, 1 << 45, 1 << 62))
            room = memory.limit - memory.used
            try:
                allocation = memory.allocate(size, MemoryKind.DEVICE, ordinal)
            except errors.DeviceError:
                refused += 1
                if size <= room:
                    raise Broken(f"{size} bytes were refused with {room} left") from None
                continue
            if size > room:
                raise Broken(f"{size} bytes were given with {room} left")
            if any(other.base < allocation.end and allocation.base < other.end for other in live):
                raise Broken("two allocations overlap")
            if any((ctypes.c_char * min(size, 4096)).from_address(allocation.base).raw):
                raise Broken("fresh memory is not zero")
            live[allocation] = value = generator.randrange(1, 256)
            ctypes.memset(allocation.base, value, size)
    finally:
        for allocation, value in live.items():
            _whole(allocation, value)
            memory.free(allocation)
        memory.limit = limit
    if memory.used != used:
        raise Broken(f"{memory.used - used} bytes are lost")
    if refused:
        raise errors.DeviceError(f"{refused} allocations did not fit")


def _whole(allocation: Allocation, value: int) -> None:
    content = (ctypes.c_char * allocation.size).from_address(allocation.base).raw
    if content.count(value) != allocation.size:
        raise Broken("an allocation's content has changed")


KINDS: dict[str, tuple[float, Callable[[random.Random, World], None]]] = {
    "instruction stream": (0.30, instruction_stream),
    "damaged module": (0.15, damaged_module),
    "mutated code object": (0.10, mutated_code_object),
    "hostile file": (0.14, hostile_file),
    "wild arguments": (0.20, wild_arguments),
    "thread count": (0.03, thread_count),
    "time limit": (0.03, time_limit),
    "interrupt": (0.03, interrupt),
    "memory limit": (0.02, memory_limit),
}


def run(world: World, seed: int, number: int) -> tuple[str, str]:
    """Run one case; returns its kind and outcome. Raises everything but a good end."""
    generator = random.Random(f"{seed}:{number}")
    names = list(KINDS)
    kind = generator.choices(names, [KINDS[name][0] for name in names])[0]
    try:
        KINDS[kind][1](generator, world)
    except errors.WorkbenchError as error:
        # Every failure inside a HIP call becomes an error code; the text shows whether it is our fault.
        if re.search(r"failed: [A-Z]\w*(Error|Exception)\(", str(error)):
            raise Broken("a HIP call met an error of the emulator's own") from error
        if not str(error):
            raise Broken(f"a {type(error).__name__} without a message") from error
        return kind, type(error).__name__
    return kind, "result"
