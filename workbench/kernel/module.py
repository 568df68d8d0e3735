"""What a user holds after compiling: modules, their kernels, and launches of them.

`compile` and `load` give a `Module`; `module["name"]` a `Kernel`; `kernel[grid, block, dynamic_shared_bytes]`
a `Launcher`, which is called with the kernel's arguments.
"""

from __future__ import annotations

import difflib
import hashlib
import operator
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from workbench.codeobject.occupancy import WAVE, Occupancy, occupancy
from workbench.errors import (
    ArgumentError,
    CodeObjectError,
    CompileError,
    DeviceError,
    LaunchError,
    UnknownKernel,
    UsageError,
    WorkbenchError,
)
from workbench.events import hub
from workbench.kernel import arguments
from workbench.spec.spec import Launch

if TYPE_CHECKING:
    from workbench.codeobject import CodeObject, Instruction, KernelInfo
    from workbench.codeobject.debug import DebugInfo
    from workbench.kernel.host_module import HostModule
    from workbench.runtime import Device, LaunchOptions, LaunchRecord
    from workbench.toolchain import CompileResult


def default_device() -> Device:
    """The device that launches use where none is named: see `runtime.device`."""
    from workbench import runtime

    return runtime.device()


def resolve_device(device: Device | str | None) -> Device:
    """A device from itself, its name, or None for the default one."""
    from workbench import runtime

    return device if isinstance(device, runtime.Device) else runtime.device(device)


def default_arch() -> str:
    """Target of the default device."""
    return default_device().arch


def device_of(values: Iterable[Any], arch: str | None = None) -> Device:
    """The device on which tensors are to be used: their GPU; for CPU tensors the default device.

    Args:
        values: a launch's arguments; what is no tensor is passed over.
        arch: target that the device must have; then a device of this target is preferred to the default one.

    Raises:
        DeviceError: there is no device of this target.
    """
    from workbench import runtime

    for value in values:
        where = getattr(value, "device", None)
        if where is not None and getattr(where, "type", "") == "cuda":
            return runtime.device(f"gpu:{where.index or 0}")
    chosen = runtime.device()
    if arch is None or chosen.arch == arch:
        return chosen
    for device in runtime.devices():
        if device.arch == arch and device.emulated == chosen.emulated:
            return device
    there = ", ".join(f"{d.name} ({d.arch})" for d in runtime.devices())
    raise DeviceError(f"no device runs {arch} code; there are {there}. Compile with arch={chosen.arch!r}")


@overload
def compile(
    source: str,
    *,
    arch: str | None = None,
    name: str | None = None,
    include: Sequence[str | Path] = (),
    flags: str | Sequence[str] = (),
    define: Sequence[str] | Mapping[str, object] = (),
    timeout: float | None = None,
    first_line: int = 1,
    host: Literal[False] = False,
) -> Module: ...
@overload
def compile(
    source: str,
    *,
    arch: str | None = None,
    name: str | None = None,
    include: Sequence[str | Path] = (),
    flags: str | Sequence[str] = (),
    define: Sequence[str] | Mapping[str, object] = (),
    timeout: float | None = None,
    first_line: int = 1,
    host: Literal[True],
) -> HostModule: ...
def compile(
    source: str,
    *,
    arch: str | None = None,
    name: str | None = None,
    include: Sequence[str | Path] = (),
    flags: str | Sequence[str] = (),
    define: Sequence[str] | Mapping[str, object] = (),
    timeout: float | None = None,
    first_line: int = 1,
    host: bool = False,
) -> Module | HostModule:
    """Compiles HIP C++ device code.

    Args:
        source: the C++ text. `#include "kittens.cuh"` finds the tile library.
        arch: target, such as "gfx950" or "gfx942"; the default device's where it is None.
        name: how diagnostics call the source, such as a cell's name or a file's.
        include: folders for `#include`.
        flags: further compiler flags, a list or a text such as "-O1 -Wall"; the defaults are -O3, -std=c++20
            and debug info.
        define: macros: `("N=4", "FAST")` or `{"N": 4, "FAST": None}`.
        timeout: seconds that the compiler may take.
        first_line: number of the source's first line in messages and debug info.
        host: whether the source is a pybind11 module, whose host code is compiled too.

    Returns:
        a Module, or with `host` the imported Python module as a HostModule. Equal source, headers, flags and
        compiler come from the cache.

    Raises:
        CompileError: the source does not compile; the message shows line and caret.
        CompilerNotFound, CompilerCrashed, CompilerTimeout
        ToolchainError: host code does not link or load.
        UsageError: an argument of another type, an unknown target, a folder that is not there, a flag that is
            the workbench's own; host code without a Python module.
    """
    if host:
        from workbench.kernel.host_module import compile_module

        return compile_module(
            source,
            arch=arch,
            name=name,
            include=include,
            flags=flags,
            define=_macros(define),
            timeout=timeout,
            first_line=first_line,
        )
    from workbench import toolchain

    target = arch or default_arch()
    try:
        result = toolchain.compile_device(
            source,
            arch=target,
            name=name,
            include=include,
            flags=flags,
            define=_macros(define),
            timeout=timeout,
            first_line=first_line,
        )
    except CompileError as error:
        _tell_compile(name, target, error=str(error).partition("\n")[0])
        raise
    _tell_compile(name or result.source_name, target, result.seconds, result.cached, len(result.diagnostics))
    return Module(
        result.code_object,
        name=name or result.source_name,
        source=source,
        result=result,
        first_line=first_line,
    )


def _tell_compile(
    name: str | None,
    arch: str,
    seconds: float = 0.0,
    cached: bool = False,
    warnings: int = 0,
    error: str = "",
) -> None:
    facts = {"arch": arch, "seconds": seconds, "cached": cached, "warnings": warnings, "error": error}
    hub.publish("compile", name or "source", facts)


def _macros(define: Sequence[str] | Mapping[str, object]) -> tuple[str, ...]:
    if isinstance(define, str):
        raise ArgumentError(f"define is the text {define!r}; wanted a list such as [{define!r}]")
    if isinstance(define, Mapping):
        return tuple(
            key if value is None or value is True else f"{key}={int(value) if value is False else value}"
            for key, value in define.items()
        )
    return tuple(define)


def load(path_or_bytes: str | Path | bytes, *, arch: str | None = None) -> Module:
    """Loads compiled code: an AMDGPU ELF, a HIP fat binary, or a host library that embeds one.

    Args:
        path_or_bytes: a file, or the bytes themselves.
        arch: target to take from a fat binary; the default device's, else the first, where it is None.

    Raises:
        CodeObjectError: the bytes are none of these.
        UsageError: neither a path nor bytes.
        FileNotFoundError
    """
    from workbench.codeobject import CodeObject

    if not isinstance(path_or_bytes, (str, os.PathLike, bytes, bytearray, memoryview)):
        raise UsageError(
            f"load: got {type(path_or_bytes).__name__}; wanted the path of a code object, or its bytes"
        )
    if arch is not None and not isinstance(arch, str):
        raise UsageError(f"load: arch is {arch!r}; wanted a target such as 'gfx950'")
    if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
        data, name = bytes(path_or_bytes), "module"
    else:
        data, name = Path(path_or_bytes).read_bytes(), Path(path_or_bytes).stem
    if arch is None:
        candidates = CodeObject.all_from_bytes(data)
        wanted = default_arch()
        chosen = next((c for c in candidates if c.target == wanted), candidates[0])
    else:
        chosen = CodeObject.from_bytes(data, arch)
    return Module(chosen.data, name=name)


class Module:
    """Compiled device code.

    Attributes:
        name: as given to `compile`, or the file's.
        arch: target, such as "gfx950".
        code: the code object, an ELF.
        code_object: the same, read.
        source: the C++ text; None for loaded code.
        result: what the compiler said (time, cached or not, diagnostics, command); None for loaded code.
        first_line: number that messages and debug info give the source's first line.
    """

    def __init__(
        self,
        code: bytes,
        *,
        name: str = "module",
        source: str | None = None,
        result: CompileResult | None = None,
        first_line: int = 1,
    ) -> None:
        from workbench.codeobject import CodeObject

        self.code_object: CodeObject = CodeObject.from_bytes(code)
        self.code = self.code_object.data
        self.arch = self.code_object.target
        self.name = name
        self.source = source
        self.result = result
        self.first_line = first_line
        self._loaded: dict[str, Any] = {}
        self._instructions: dict[int, Instruction] = {}

    @cached_property
    def digest(self) -> str:
        """Name of the code's very bytes: 16 hexadecimal digits of their SHA-256."""
        return hashlib.sha256(self.code).hexdigest()[:16]

    @cached_property
    def debug(self) -> DebugInfo | None:
        """Debug info; None where the code was compiled without it."""
        from workbench.codeobject.debug import DebugInfo

        try:
            return DebugInfo(self.code_object)
        except CodeObjectError:
            return None

    @cached_property
    def kernels(self) -> Mapping[str, Kernel]:
        """Kernels by name: the name in the source, with template arguments where there are any."""
        infos = self.code_object.kernels
        names = {mangled: instance_name(info.demangled) for mangled, info in infos.items()}
        count = Counter(names.values())
        found = {}
        for mangled, info in infos.items():
            # Overloads have one name; only the mangled one tells them apart.
            name = names[mangled] if count[names[mangled]] == 1 else mangled
            found[name] = Kernel(self, info, name)
        return found

    def __getitem__(self, name: str) -> Kernel:
        """A kernel by plain name (`"softmax"`), template instance (`"softmax<float>"`) or mangled name.

        Raises:
            UnknownKernel: no kernel, or several, are named so; the message lists what there is.
        """
        kernels = self.kernels
        if not isinstance(name, str):
            there = ", ".join(kernels)
            raise UnknownKernel(f"{self.name}[{name!r}]: a kernel's name is wanted, one of: {there}")
        if name in kernels:
            return kernels[name]
        wanted = _normal(name)
        for form in (_by_mangled, _by_instance, _by_unqualified_instance, _by_plain):
            matches = [k for k in kernels.values() if form(k) in (name, wanted)]
            if len(matches) == 1:
                return matches[0]
            if matches:
                listed = ", ".join(k.name for k in matches)
                raise UnknownKernel(
                    f"{name!r} names {len(matches)} kernels of {self.name}: {listed}; say which one"
                )
        close = difflib.get_close_matches(name, list(kernels), n=2)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        there = ", ".join(kernels) or "none; is a function marked __global__, and a template instantiated?"
        raise UnknownKernel(f"{self.name} has no kernel {name!r}; its kernels: {there}{hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or the module in another process, is read from the code anew; it is loaded nowhere yet."""
        return _unpickled, (self.code, self.name, self.source, self.result, self.first_line)

    if not TYPE_CHECKING:  # with it a type checker would know no wrong attribute any more

        def __getattr__(self, name: str) -> NoReturn:
            hint = ""
            # Not for the private names that copy and IPython ask for, perhaps of a half-made module.
            if not name.startswith("_") and "code_object" in vars(self) and name in self.kernels:
                hint = f"; its kernel of that name is module[{name!r}]"
            raise AttributeError(f"module {vars(self).get('name')!r} has no attribute {name!r}{hint}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __contains__(self, name: object) -> bool:
        return name in self.kernels

    def __len__(self) -> int:
        return len(self.kernels)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.kernels)

    def function(self, kernel: str, device: Device) -> Any:
        """The kernel with this mangled name, loaded on a device; loaded once for each."""
        if device.name not in self._loaded:
            self._loaded[device.name] = device.load(self.code)
        return self._loaded[device.name].function(kernel)

    def is_own_source(self, file: str) -> bool:
        """Whether a file of the debug info is the module's own source, rather than a header."""
        return self.result is not None and Path(file).name == Path(self.result.source_name).name

    def places_of(self, address: int) -> tuple[tuple[str, int], ...]:
        """(file, line) of an instruction; of one in a header, also the module's line that called it.

        Empty without debug info.
        """
        frames = self.debug.frames_of(address) if self.debug is not None else ()
        if not frames:
            return ()
        own = next((f for f in frames if self.is_own_source(f[0])), frames[0])
        return tuple(dict.fromkeys((f[0], f[1]) for f in (frames[0], own)))

    def instruction(self, address: int) -> Instruction:
        """The instruction at an address of the code object.

        Raises:
            CodeObjectError: no instruction is there.
        """
        from workbench.codeobject.decoder import decode_one

        if address not in self._instructions:
            text = self.code_object.text
            self._instructions[address] = decode_one(text.data, address - text.address, address, self.arch)
        return self._instructions[address]

    def __repr__(self) -> str:
        lines = [f"<Module {self.name} for {self.arch}>"]
        for kernel in self.kernels.values():
            lines.append(f"  {kernel.signature}: {kernel.resources}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from workbench.views.resources import module_table

        return module_table(self)


def _unpickled(
    code: bytes, name: str, source: str | None, result: CompileResult | None, first_line: int
) -> Module:
    return Module(code, name=name, source=source, result=result, first_line=first_line)


def instance_name(demangled: str) -> str:
    """The qualified name of a function with its template arguments, from its demangled signature.

    `"void ns::add<float>(float const*)"` gives `"ns::add<float>"`; a plain name stays as it is.
    """
    depth, start, end = 0, 0, len(demangled)
    parameters: list[int] = []
    for i, c in enumerate(demangled):
        if c in "<([":
            if c == "(" and depth == 0:
                parameters.append(i)
            depth += 1
        elif c in ">)]":
            depth -= 1
    # The last parenthesis on the outside opens the parameters; "(anonymous namespace)" may come before.
    if parameters and demangled.endswith(")") and not demangled[parameters[-1] :].startswith("(anonymous"):
        end = parameters[-1]
    depth = 0
    for i, c in enumerate(demangled[:end]):
        if c in "<([":
            depth += 1
        elif c in ">)]":
            depth -= 1
        elif c == " " and depth == 0:
            start = i + 1
    return demangled[start:end]


# Names of one type in headers, debug info and mangled names, and the spelling of constants.
_SPELLINGS = (
    (re.compile(r"\s+|\bkittens::|\((?:int|unsigned int|unsigned|long|unsigned long|bool|size_t)\)"), ""),
    (re.compile(r"\b(?:__bf16|__hip_bfloat16|hip_bfloat16)\b"), "bf16"),
    (re.compile(r"\b(?:_Float16|__half)\b"), "half"),
    (re.compile(r"\b(\d+)(?:u|ul|l|ull|ll)\b"), r"\1"),
)


def _normal(name: str) -> str:
    for pattern, text in _SPELLINGS:
        name = pattern.sub(text, name)
    return name


def _by_mangled(kernel: Kernel) -> str:
    return kernel.info.name


def _by_instance(kernel: Kernel) -> str:
    return _normal(instance_name(kernel.info.demangled))


def _by_unqualified_instance(kernel: Kernel) -> str:
    head, bracket, rest = _by_instance(kernel).partition("<")
    return head.rpartition("::")[2] + bracket + rest


def _by_plain(kernel: Kernel) -> str:
    return _by_unqualified_instance(kernel).partition("<")[0]


@dataclass(frozen=True)
class Resources:
    """What a wave, or a work-group, of a kernel occupies.

    Attributes:
        vgprs: vector registers of a wave, without accumulation registers.
        agprs: accumulation registers of a wave (AGPRs).
        sgprs: scalar registers of a wave.
        lds: static LDS of a work-group, bytes; what a launch adds is not included.
        scratch: private memory of a work-item, bytes.
        vgpr_spills, sgpr_spills: registers spilled.
        block, dynamic_shared: work-items and dynamic LDS (bytes) of the work-group that `occupancy` is for.
        occupancy: waves that a SIMD holds, and what limits them.
        total_vgprs: both kinds together, as the hardware gives them out.
    """

    vgprs: int
    agprs: int
    sgprs: int
    lds: int
    scratch: int
    vgpr_spills: int
    sgpr_spills: int
    block: int
    dynamic_shared: int
    occupancy: Occupancy
    total_vgprs: int

    def __str__(self) -> str:
        parts = [f"{self.vgprs} VGPR"]
        if self.agprs:
            parts.append(f"{self.agprs} AGPR")
        parts += [f"{self.sgprs} SGPR", f"{self.lds:,} B LDS"]
        if self.scratch:
            parts.append(f"{self.scratch:,} B scratch")
        if self.vgpr_spills or self.sgpr_spills:
            parts.append(f"{self.vgpr_spills} VGPR and {self.sgpr_spills} SGPR spills")
        return ", ".join(parts) + f"; {self.occupancy} at {self.block} work-items"


@dataclass
class LastLaunch:
    """A launch that was made, with what is needed to make it again.

    It keeps the tensors alive until the kernel is launched again or dropped.
    """

    launch: Launch
    args: tuple[Any, ...] = field(repr=False)
    kwargs: dict[str, Any] = field(repr=False)
    device: Device
    record: LaunchRecord
    argument_bytes: int


class Kernel:
    """One kernel of a module.

    Attributes:
        module: where it is from.
        name: its name in the source, with template arguments.
        info: the code object's facts about it.
        last: the last launch; None before the first.
    """

    def __init__(self, module: Module, info: KernelInfo, name: str) -> None:
        self.module = module
        self.info = info
        self.name = name
        self.last: LastLaunch | None = None

    @property
    def arch(self) -> str:
        """Target that the code is for, such as "gfx950"."""
        return self.module.arch

    @cached_property
    def plan(self) -> arguments.Plan:
        """How arguments are packed."""
        return arguments.plan(self.info, self.module.code_object, self.module.debug, self.name)

    @property
    def signature(self) -> str:
        """Name and parameters with their types, as text."""
        return self.plan.signature

    @property
    def source(self) -> str | None:
        """The C++ source of the module; None for loaded code."""
        return self.module.source

    @property
    def resources(self) -> Resources:
        """Registers, LDS, scratch and occupancy: for the last launch's block, else the largest that fits."""
        if self.last is not None:
            launch = self.last.launch
            x, y, z = launch.block
            return self.resources_at(x * y * z, launch.dynamic_shared)
        block = self.info.max_workgroup_size
        while True:
            try:
                return self.resources_at(block)
            except WorkbenchError:
                # Assembly that names high registers, without __launch_bounds__: fewer waves can have them.
                if block <= WAVE:
                    raise
                block = max(WAVE, block // 2)

    def resources_at(self, block: int, dynamic_shared: int = 0) -> Resources:
        """The same for a work-group of `block` work-items with so many bytes of dynamic LDS."""
        info = self.info
        # The metadata's vgpr_count is of the unified file: vector registers up to a multiple of 4, then
        # AGPRs.
        return Resources(
            vgprs=info.vgpr_count - info.agpr_count,
            agprs=info.agpr_count,
            sgprs=info.sgpr_count,
            lds=info.group_segment_size,
            scratch=info.private_segment_size,
            vgpr_spills=info.vgpr_spill_count,
            sgpr_spills=info.sgpr_spill_count,
            block=block,
            dynamic_shared=dynamic_shared,
            occupancy=self.occupancy(block, dynamic_shared),
            total_vgprs=info.vgpr_count,
        )

    def occupancy(self, block: int, dynamic_shared: int = 0) -> Occupancy:
        """Waves that a SIMD holds for this block size and dynamic LDS; formulas in `codeobject.occupancy`."""
        info = self.info
        return occupancy(
            self.arch,
            vgprs=info.vgpr_count,
            sgprs=info.sgpr_count,
            lds=info.group_segment_size + dynamic_shared,
            block=block,
        )

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The kernel's machine code, in address order; functions that it calls are not included."""
        from workbench.codeobject.decoder import decode

        text = self.module.code_object.text
        start = self.info.entry - text.address
        return tuple(decode(text.data[start : start + self.info.size], self.info.entry, self.arch))

    @property
    def isa(self) -> str:
        """Machine code as text, each run of instructions under the source line that it comes from."""
        return "\n".join(self._isa_lines())

    def _isa_lines(self) -> Iterator[str]:
        lines = self.module.source.splitlines() if self.module.source is not None else []
        at: tuple[tuple[str, int], ...] = ()
        yield f"{self.info.name}:  ; {self.arch}, {self.resources}"
        for instruction in self.instructions:
            places = self.module.places_of(instruction.address)
            if places and places != at:
                at = places
                parts = []
                for file, line in places:
                    own = self.module.is_own_source(file)
                    row = line - self.module.first_line
                    text = f"  {lines[row].strip()}" if own and 0 <= row < len(lines) else ""
                    parts.append(f"{self.module.name if own else Path(file).name}:{line}{text}")
                yield "; " + ", inlined at ".join(parts)
            yield f"  {instruction.address:#08x}  {instruction.text()}"

    def __reduce__(self) -> tuple[Any, ...]:
        """As the module's; the last launch stays behind."""
        return operator.getitem, (self.module, self.name)

    def __getitem__(self, shape: Any) -> Launcher:
        """`kernel[grid, block]` or `kernel[grid, block, dynamic_shared_bytes]`: a launcher.

        Grid counts work-groups and block work-items, each an int or a tuple of up to three.
        """
        if not isinstance(shape, tuple) or len(shape) not in (2, 3):
            raise LaunchError(
                f"{self.name}[{shape!r}]: wanted kernel[grid, block] or "
                "kernel[grid, block, dynamic_shared_bytes], such as kernel[(64, 1, 1), 256]"
            )
        given = shape[2] if len(shape) == 3 else 0
        try:
            shared = int(operator.index(given))
        except TypeError:
            shared = -1
        if shared < 0:
            raise LaunchError(f"{self.name}: dynamic shared memory is {given!r}; wanted bytes, 0 or more")
        return Launcher(self, Launch(shape[0], shape[1], shared))

    def __call__(self, *_: Any, **__: Any) -> None:
        """A kernel needs a grid and a block before it can be called."""
        raise LaunchError(f"{self.name}: launch it as {self.name}[grid, block](...), not {self.name}(...)")

    def launch(
        self,
        launch: Launch,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        device: Device | None = None,
        options: LaunchOptions | None = None,
    ) -> LaunchRecord:
        """Checks and packs the arguments, runs the kernel once, and waits for its end.

        Raises:
            ArgumentError: an argument is wrong; nothing has run.
            LaunchError: a grid, block or LDS size that the device cannot take.
            KernelFault: the kernel was stopped.
        """
        with hub.failures("run", self.name):
            return self._launch(launch, args, kwargs, device, options)

    def _launch(
        self,
        launch: Launch,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        device: Device | None,
        options: LaunchOptions | None,
    ) -> LaunchRecord:
        where = device if device is not None else device_of([*args, *kwargs.values()], self.arch)
        if where.arch != self.arch:
            raise DeviceError(
                f"{self.name} is compiled for {self.arch}, and {where.name} runs {where.arch}; "
                f"compile with arch={where.arch!r}, or choose another device"
            )
        packed = self.plan.pack(args, kwargs, place_of(where))
        record: LaunchRecord = self.module.function(self.info.name, where).launch(
            launch.grid,
            launch.block,
            launch.dynamic_shared,
            bytes(packed.data),
            buffers=tuple(packed.buffers),
            labels=packed.labels,
            options=options,
        )
        self.last = LastLaunch(launch, tuple(args), dict(kwargs), where, record, packed.argument_bytes)
        hub.publish(
            "launch",
            self.name,
            {
                "device": where.name,
                "grid": launch.grid,
                "block": launch.block,
                "seconds": record.wall_seconds,
            },
        )
        return record

    def __repr__(self) -> str:
        return f"<Kernel {self.signature} for {self.arch}: {self.resources}>"

    def _repr_html_(self) -> str:
        from workbench.views.resources import kernel_table

        return kernel_table([self])


def place_of(device: Device) -> arguments.Place:
    """Where PyTorch tensors for a device live."""
    if device.emulated:
        return arguments.Place(device.name, "cpu", None)
    return arguments.Place(device.name, "cuda", int(device.name.rpartition(":")[2]))


@dataclass(frozen=True)
class Launcher:
    """A kernel with its launch shape: call it with the kernel's arguments.

    Attributes:
        kernel: what is launched.
        launch: grid in work-groups, block in work-items, dynamic shared memory in bytes.
    """

    kernel: Kernel
    launch: Launch

    def __call__(self, *args: Any, **kwargs: Any) -> LaunchRecord:
        """Runs the kernel once; see `Kernel.launch`. Arguments go in order or by name.

        A parameter that is a struct of `gl`s takes its members by name: `(x=x, weight=w, out=out, eps=1e-5)`.
        Tensors are contiguous, of the parameter's dtype and on the device: CPU tensors on an emulated one,
        which are written in place. Numbers are checked against the parameter's type and range.

        Raises:
            ArgumentError: an argument is wrong; nothing has run.
            LaunchError: a grid, block or LDS size that the device cannot take.
            KernelFault: the kernel was stopped; the process and other allocations are unharmed.
        """
        return self.kernel.launch(self.launch, args, kwargs)

    def __repr__(self) -> str:
        shared = f", {self.launch.dynamic_shared:,} B" if self.launch.dynamic_shared else ""
        return f"<{self.kernel.name}[{self.launch.grid}, {self.launch.block}{shared}]>"
