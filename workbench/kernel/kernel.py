"""One kernel of a module, and launches of it."""

from __future__ import annotations

import contextlib
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from workbench.codeobject import Instruction, KernelInfo, printer
from workbench.codeobject.decoder import decode
from workbench.codeobject.occupancy import Occupancy
from workbench.display import Shown
from workbench.errors import DeviceError, LaunchError
from workbench.events import hub
from workbench.kernel import arguments
from workbench.kernel.code import DeviceCode
from workbench.kernel.devices import device_of, place_of
from workbench.kernel.launch import Arguments, LastLaunch, Launch, index
from workbench.kernel.packed import Packed
from workbench.kernel.resources import Resources, largest, occupancy_of, resources_of
from workbench.kernel.show import Recording
from workbench.runtime import Device, LaunchOptions, LaunchRecord

_recorders: ContextVar[tuple[list[tuple[Kernel, LastLaunch]], ...]] = ContextVar("recorders", default=())


@contextlib.contextmanager
def recording(
    into: list[tuple[Kernel, LastLaunch]] | None = None,
) -> Iterator[list[tuple[Kernel, LastLaunch]]]:
    """Launches that this thread makes in the block, in order, each with its kernel; they run as usual.

    Args:
        into: list to append them to; None for a new list.
    """
    launches = [] if into is None else into
    token = _recorders.set((*_recorders.get(), launches))
    try:
        yield launches
    finally:
        _recorders.reset(token)


def is_recorded() -> bool:
    """True if this thread's launches are recorded, so that their arguments are needed."""
    return bool(_recorders.get())


_compiled_as: ContextVar[Callable[[Kernel], Kernel] | None] = ContextVar("compiled_as", default=None)


@contextlib.contextmanager
def launching(compiled_as: Callable[[Kernel], Kernel]) -> Iterator[None]:
    """Launches that this thread makes in the block run the code that a function returns for their kernel.

    Args:
        compiled_as: returns the same kernel from another compilation, or the kernel itself.
    """
    token = _compiled_as.set(compiled_as)
    try:
        yield
    finally:
        _compiled_as.reset(token)


def _gone() -> None:
    """The arguments of a launch that is not recorded."""


class Kernel(Shown):
    """One kernel of a module.

    Attributes:
        module: the module that contains the kernel.
        name: its name in the source, with template arguments.
        info: the code object's facts about it.
        last: the last launch; None before the first.
    """

    def __init__(self, module: DeviceCode, info: KernelInfo, name: str) -> None:
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
        """The packing of the kernel's arguments, made on first use."""
        return arguments.plan(self.info, self.module.code_object, self.module.debug, self.name)

    @property
    def signature(self) -> str:
        """Name and parameters with their types, as text."""
        return self.plan.signature

    @cached_property
    def _own_offsets(self) -> tuple[int, ...]:
        """Offsets of the arguments in their block, without hidden ones."""
        return tuple(arg.offset for arg in self.info.args if not arg.hidden)

    @property
    def source(self) -> str | None:
        """The C++ source of the module; None for loaded code."""
        return self.module.source

    @property
    def resources(self) -> Resources:
        """Registers, LDS, scratch and occupancy: for the last launch's block, or the largest that fits."""
        if self.last is not None:
            launch = self.last.launch
            x, y, z = launch.block
            return self.resources_at(x * y * z, launch.dynamic_shared)
        return largest(self.info, self.arch)

    def resources_at(self, block: int, dynamic_shared: int = 0) -> Resources:
        """The same for a work-group of `block` work-items with this many bytes of dynamic LDS.

        Raises:
            LaunchError: the arguments are not such numbers.
            WorkbenchError: no such work-group fits.
        """
        return resources_of(self.info, self.arch, block, dynamic_shared)

    def occupancy(self, block: int, dynamic_shared: int = 0) -> Occupancy:
        """Waves that a SIMD holds for this block size and dynamic LDS; formulas in `codeobject.occupancy`.

        Raises:
            LaunchError: the arguments are not such numbers.
            WorkbenchError: no such work-group fits.
        """
        return occupancy_of(self.info, self.arch, block, dynamic_shared)

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The kernel's machine code, in address order; functions that it calls are not included."""
        text = self.module.code_object.text
        start = self.info.entry - text.address
        code = text.data[start : start + self.info.size]
        return tuple(decode(code, self.info.entry, self.arch, self.info.wave_size))

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
                    is_own = self.module.is_own_source(file)
                    row = line - self.module.first_line
                    text = f"  {lines[row].strip()}" if is_own and 0 <= row < len(lines) else ""
                    parts.append(f"{self.module.name if is_own else Path(file).name}:{line}{text}")
                yield "; " + ", inlined at ".join(parts)
            yield f"  {instruction.address:#08x}  {printer.text(instruction)}"

    def without_launches(self) -> Kernel:
        """The same code without launches, so that a reference to it keeps no launch's tensors alive."""
        return Kernel(self.module.without_launches(), self.info, self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled like the module; the last launch is left out."""
        return operator.getitem, (self.module, self.name)

    def __getitem__(self, shape: Any) -> Launcher:
        """`kernel[grid, block]` or `kernel[grid, block, dynamic_shared_bytes]`: a launcher.

        Grid counts work-groups and block work-items, each an int or a tuple of up to three.
        """
        return self._launcher(shape, cooperative=False)

    def _launcher(self, shape: Any, cooperative: bool) -> Launcher:
        if not isinstance(shape, tuple) or len(shape) not in (2, 3):
            raise LaunchError(
                f"{self.name}[{shape!r}]: expected kernel[grid, block] or "
                "kernel[grid, block, dynamic_shared_bytes], such as kernel[(64, 1, 1), 256]"
            )
        shared = 0
        if len(shape) == 3:
            try:
                shared = index(shape[2])
            except TypeError:
                shared = -1
            if shared < 0:
                raise LaunchError(
                    f"{self.name}: dynamic shared memory is {shape[2]!r}; expected bytes, 0 or more"
                )
        return Launcher(self, Launch(shape[0], shape[1], shared, cooperative))

    @property
    def cooperative(self) -> CooperativeKernel:
        """`kernel.cooperative[grid, block](...)`: a launch whose work-groups may wait for each other.

        A kernel with `cooperative_groups::this_grid().sync()` needs it. HIP's call is
        hipModuleLaunchCooperativeKernel.
        """
        return CooperativeKernel(self)

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
        keeps: bool = True,
    ) -> LaunchRecord:
        """Checks and packs the arguments, runs the kernel once, and waits for its end.

        Args:
            keeps: True if `last` keeps the arguments, so that the launch can be repeated; otherwise they
                exist only if the launch is recorded.

        Raises:
            ArgumentError: an argument is wrong; nothing has run.
            LaunchError: a grid, block or LDS size that the device cannot take.
            KernelFault: the kernel was stopped.
        """
        try:
            return self._launch(launch, args, kwargs, device, options, keeps)
        except Exception as error:
            hub.failed(error, "run", self.name)
            raise

    def _launch(
        self,
        launch: Launch,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        device: Device | None,
        options: LaunchOptions | None,
        keeps: bool,
    ) -> LaunchRecord:
        where = device if device is not None else device_of([*args, *kwargs.values()], self.arch)
        if where.arch not in self.module.code_object.targets:
            raise DeviceError(
                f"{self.name} is compiled for {self.module.code_object.processor}, and {where.name} runs "
                f"{where.arch}; "
                f"compile with arch={where.arch!r}, or choose another device"
            )
        packed = self.plan.pack(args, kwargs, place_of(where))
        if options is not None and options.traffic is not None and options.traffic.tensors:
            watched = (*options.traffic.watched, *packed.watched(options.traffic.tensors))
            options = replace(options, traffic=replace(options.traffic, watched=watched))
        arguments = Arguments(tuple(args), dict(kwargs))
        holder: Callable[[], Arguments | None] = (lambda: arguments) if keeps else weakref.ref(arguments)
        self.last = last = self._run(launch, packed, where, options, holder)
        for recorder in _recorders.get():
            recorder.append((self, last if keeps else replace(last, arguments=lambda: arguments)))
        self._tell(last)
        return last.record

    def launch_packed(
        self, launch: Launch, packed: Packed, where: Device, options: LaunchOptions | None = None
    ) -> LaunchRecord:
        """`launch` with arguments that are checked and packed, on a device of its target; they are not kept.

        Do not use it while launches are recorded (`is_recorded`).

        Raises:
            LaunchError, KernelFault: see `launch`.
        """
        try:
            self.last = last = self._run(launch, packed, where, options, _gone)
        except Exception as error:
            hub.failed(error, "run", self.name)
            raise
        self._tell(last)
        return last.record

    def _run(
        self,
        launch: Launch,
        packed: Packed,
        where: Device,
        options: LaunchOptions | None,
        arguments: Callable[[], Arguments | None],
    ) -> LastLaunch:
        compiled_as = _compiled_as.get()
        module = (self if compiled_as is None else compiled_as(self)).module
        function = module.function(self.info.name, where)
        showing = Recording(function.module, self.name, launch) if module.shows else None
        record: LaunchRecord = function.launch(
            launch.grid,
            launch.block,
            launch.dynamic_shared,
            bytes(packed.data),
            buffers=packed.buffers if showing is None else (*packed.buffers, *showing.buffers),
            labels=packed.labels if showing is None else {**packed.labels, **showing.labels},
            granularity=self.plan.granularity,
            options=options,
            cooperative=self._own_offsets if launch.cooperative else None,
        )
        if showing is not None:
            record = replace(record, shown=showing.values())
        return LastLaunch(launch, arguments, where, record, packed.argument_bytes)

    def _tell(self, last: LastLaunch) -> None:
        hub.publish(
            "launch",
            self.name,
            {
                "device": last.device.name,
                "grid": last.launch.grid,
                "block": last.launch.block,
                "seconds": last.record.wall_seconds,
            },
        )

    def __repr__(self) -> str:
        return f"<Kernel {self.signature} for {self.arch}: {self.resources}>"


def digest_of(kernels: Iterable[Kernel]) -> str:
    """`Module.digest` of the code of several launches; for several modules, all digests."""
    return "+".join(dict.fromkeys(kernel.module.digest for kernel in kernels))


@dataclass(frozen=True)
class CooperativeKernel:
    """A kernel whose work-groups may wait for each other; `Kernel.cooperative`."""

    kernel: Kernel

    def __getitem__(self, shape: Any) -> Launcher:
        """As for `Kernel`. Its launch raises a `LaunchError` if the work-groups do not fit at once."""
        return self.kernel._launcher(shape, cooperative=True)


@dataclass(frozen=True)
class Launcher:
    """A kernel with its launch shape: call it with the kernel's arguments.

    Attributes:
        kernel: the kernel to launch.
        launch: grid in work-groups, block in work-items, dynamic shared memory in bytes.
    """

    kernel: Kernel
    launch: Launch

    def __call__(self, *args: Any, **kwargs: Any) -> LaunchRecord:
        """Runs the kernel once; see `Kernel.launch`. Arguments go in order or by name.

        A parameter that is a struct of `gl`s takes its members by name: `(x=x, weight=w, out=out, eps=1e-5)`.
        Tensors are of the parameter's dtype and on the device: CPU tensors on an emulated one, which are
        written in place. A pointer accepts any view: the kernel gets its strides from other arguments.
        Numbers are checked against the parameter's type and range.

        Raises:
            ArgumentError: an argument is wrong; nothing has run.
            LaunchError: a grid, block or LDS size that the device cannot take.
            KernelFault: the kernel was stopped; the process and other allocations are unharmed.
        """
        return self.kernel.launch(self.launch, args, kwargs)

    def __repr__(self) -> str:
        shared = f", {self.launch.dynamic_shared:,} B" if self.launch.dynamic_shared else ""
        cooperative = ".cooperative" if self.launch.cooperative else ""
        return f"<{self.kernel.name}{cooperative}[{self.launch.grid}, {self.launch.block}{shared}]>"
