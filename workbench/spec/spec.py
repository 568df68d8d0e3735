"""One description of a kernel that everything else reads.

A `KernelSpec` says where a kernel's source is, how it is instantiated and launched for a shape, what goes in,
what must come out, and how much work that is. Calling it on tensors runs it; `verify`, `time`, `profile`, the
panels, the magics and the tests all work from the same object, so that none of them repeats a launch or a
reference.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import paths
from workbench.errors import ArgumentError, ShapeError, UsageError, WorkbenchError
from workbench.kernel import (
    Kernel,
    Launch,
    Module,
    default_arch,
    device_of,
    resolve_device,
    torch_device,
)
from workbench.kernel.compilation import compile_source
from workbench.runtime import Device, LaunchOptions, LaunchRecord
from workbench.spec.parameters import Parameter, Shape, plain
from workbench.spec.published import Published
from workbench.spec.tensors import TensorLike, in_format_of, name_results, poisoned
from workbench.spec.tolerances import Tolerance
from workbench.targets import TILE_TARGETS
from workbench.toolchain import CompileOptions

if TYPE_CHECKING:
    import torch


def _nothing(*_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelSpec:
    """A kernel with everything needed to build, launch, check and judge it.

    The signature of `reference` is the signature of the kernel: its parameter names are the names of the
    inputs, their order is the order of positional arguments of a call of the spec, and its defaults (such as
    `eps=1e-5`) hold where a caller gives none. A spec is called as `spec(*inputs, **inputs_by_name)` and
    returns its output tensor, or a dict of them where it has several.

    Attributes:
        name: `<category>/<operator>`, equal to the path of its file below `kernels/`, without `.py`.
        source: file of the C++ source relative to `folder`, or the source itself (a text with line breaks).
        entry: name of the kernel in the source, as `Module[...]` takes it: a plain name, a template instance
            such as `"softmax<float>"`, or a mangled name; or a function `(shape) -> name`.
        parameters: shape parameters by name: a `Range` or a `Choice` each. What is outside is a ShapeError.
        shapes: shapes worth testing and showing; `shapes[0]` is the default. Missing parameters take their
            own defaults.
        inputs: `(shape, generator) -> {name: tensor or number}`. CPU tensors drawn from `generator` (a
            `torch.Generator` on the CPU), so that a seed gives the same inputs everywhere; the caller moves
            them to the device. Names are those of `reference`'s parameters; one with a default may be absent.
        outputs: `(shape, inputs) -> {name: (dims, dtype)}`: what to allocate for the kernel to write.
        reference: the same computation in PyTorch: `(**inputs) -> tensor`, or a dict by output name, or a
            tuple in the order of `outputs`. It computes in the precision of the tensors that it is given:
            `verify` calls it with float64 (or float32) inputs for the truth, and with the kernel's own dtypes
            for PyTorch's error. Its result may have a wider dtype than the output's.
        launch: `(shape, arch) -> Launch`; arch is such as `"gfx950"`.
        shape_of: `(**inputs) -> shape` of a call's tensors, by the names of `reference`; raises ShapeError
            for tensors that do not fit together. Its result is then checked against `parameters` and `check`.
        define: `(shape, arch) -> {macro: value}`: macros that select an instance. Shapes with equal macros
            share one compiled module. A value of None or True gives `-DNAME`.
        arguments: `(shape, tensors) -> {parameter or member name: value}`: the kernel's arguments, where
            `tensors` holds inputs (numbers too) and outputs by name. By default all of them under their own
            names, which is right where the members of the globals struct, or the kernel's parameters, are
            named as the inputs and outputs are.
        check: `(shape, arch) -> None`: raises ShapeError where a combination of parameters is not supported,
            such as a tile that needs more LDS than the target has.
        flops: `(shape) -> int`: floating-point operations of the mathematical definition (2 M N K of a GEMM).
        bytes: `(shape) -> int`: bytes that must move at least once between HBM and the chip.
        tolerances: `{output dtype or output name: Tolerance or (rtol, atol)}`; where a dtype is absent
            `TOLERANCES` holds.
        published: figures to show beside ours.
        targets: targets that the source supports.
        flags: further compiler flags, such as `("-mllvm", "...")`.
        doc: what the kernel does, one paragraph.
        folder: folder of `source`; the registry fills it in.
    """

    name: str
    source: str
    entry: str | Callable[[Shape], str]
    parameters: Mapping[str, Parameter]
    shapes: Sequence[Shape]
    inputs: Callable[[Shape, torch.Generator], Mapping[str, Any]]
    outputs: Callable[[Shape, Mapping[str, Any]], Mapping[str, TensorLike]]
    reference: Callable[..., Any]
    launch: Callable[[Shape, str], Launch]
    shape_of: Callable[..., Shape]
    define: Callable[[Shape, str], Mapping[str, object]] = _nothing
    arguments: Callable[[Shape, Mapping[str, Any]], Mapping[str, Any]] | None = None
    check: Callable[[Shape, str], None] | None = None
    flops: Callable[[Shape], int] | None = None
    bytes: Callable[[Shape], int] | None = None
    tolerances: Mapping[Any, Tolerance | tuple[float, float]] = field(default_factory=dict)
    published: Sequence[Published] = ()
    targets: tuple[str, ...] = TILE_TARGETS
    flags: tuple[str, ...] = ()
    doc: str = ""
    folder: Path | None = None
    _modules: dict[Any, tuple[Any, Module]] = field(default_factory=dict, repr=False)

    def shape(self, given: Shape | None = None, *, arch: str | None = None, **values: Any) -> dict[str, Any]:
        """A complete, supported shape from `given` and `values`; what is missing takes its default.

        Without any value the result is `shapes[0]`.

        Raises:
            ShapeError: an unknown parameter, or a value that the kernel does not support.
        """
        chosen = {**self.given(given), **values}
        if not chosen and self.shapes:
            chosen = dict(self.shapes[0])
        for key in chosen:
            if key not in self.parameters:
                raise ShapeError(
                    f"{self.name} has no shape parameter {key!r}; it has {', '.join(self.parameters)}"
                )
        full = {key: plain(chosen.get(key, p.first)) for key, p in self.parameters.items()}
        for key, value in full.items():
            if value not in self.parameters[key]:
                raise ShapeError(f"{self.name}: {key} is {value!r}; supported is {self.parameters[key]}")
        if self.check is not None and arch is not None:
            self.check(full, arch)
        return full

    def given(self, shape: Shape | None) -> dict[str, Any]:
        """The values of a shape as they were given, unchecked.

        Raises:
            ShapeError: it is no mapping from names to values.
        """
        if shape is not None and not isinstance(shape, Mapping):
            example = ", ".join(f"{key!r}: {p.first!r}" for key, p in self.parameters.items())
            raise ShapeError(f"{self.name}: the shape is {shape!r}; expected a dict such as {{{example}}}")
        return dict(shape or {})

    def bind(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The inputs of a call by name, `reference`'s defaults filled in.

        Raises:
            ArgumentError: too many, too few or unknown arguments.
        """
        signature = inspect.signature(self.reference)
        parameters = signature.parameters.values()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            # Where one is misspelt, Python names another that is missing.
            unknown = [name for name in kwargs if name not in signature.parameters]
            why = f"there is no argument {unknown[0]!r}" if unknown else str(error)
            names = ", ".join(str(p.replace(annotation=p.empty)) for p in parameters)
            raise ArgumentError(f"{self.name}({names}): {why}") from None
        bound.apply_defaults()
        for p in parameters:
            self._check_tensor(p, bound.arguments[p.name])
        return dict(bound.arguments)

    def _check_tensor(self, parameter: inspect.Parameter, value: Any) -> None:
        import torch

        if parameter.annotation in ("torch.Tensor", torch.Tensor) and not isinstance(value, torch.Tensor):
            wrap = "; wrap the array with torch.from_numpy" if type(value).__module__ == "numpy" else ""
            raise ArgumentError(
                f"{self.name}: argument {parameter.name!r} is a {type(value).__name__}; expected a torch "
                f"tensor{wrap}"
            )

    @property
    def source_path(self) -> Path | None:
        """File of the source; None where the source is given as text."""
        if "\n" in self.source:
            return None
        return (self.folder or Path()) / self.source

    @property
    def _source_name(self) -> str:
        """What messages call the source."""
        return self.name if self.source_path is None else f"{self.name.partition('/')[0]}/{self.source}"

    def read_source(self) -> str:
        """The C++ source.

        Raises:
            WorkbenchError: the file cannot be read.
        """
        path = self.source_path
        if path is None:
            return self.source
        try:
            return path.read_text()
        except OSError as error:
            raise WorkbenchError(
                f"{self.name}: the source {path} cannot be read: {error.strerror}"
            ) from error

    def macros(self, shape: Shape, arch: str) -> dict[str, object]:
        """Macros that select the instance for `shape` on `arch`."""
        return dict(self.define(shape, arch))

    def module(self, shape: Shape | None = None, *, arch: str | None = None) -> Module:
        """The compiled module for `shape`; compiled anew where the source or a header of it has changed.

        Raises:
            ShapeError, CompileError, WorkbenchError
        """
        arch = arch or default_arch()
        if arch not in self.targets:
            raise WorkbenchError(f"{self.name} is written for {', '.join(self.targets)}, not for {arch}")
        full = self.shape(shape, arch=arch)
        macros = self.macros(full, arch)
        text = self.read_source()
        key = (arch, tuple(sorted((k, str(v)) for k, v in macros.items())))
        files = (text, _stamps((paths.include_dir(), paths.kernels_dir() / "families", self.folder)))
        known = self._modules.get(key)
        if known is not None and known[0] == files:
            return known[1]
        options = CompileOptions(
            arch,
            name=self._source_name,
            include=(self.folder,) if self.folder is not None else (),
            flags=self.flags,
            define=macros,
        )
        made = compile_source(text, options)
        self._modules[key] = files, made
        return made

    def kernel(self, shape: Shape | None = None, *, arch: str | None = None) -> Kernel:
        """The kernel of `module(shape)` that `entry` names."""
        return self.module(shape, arch=arch)[self.entry_name(self.shape(shape))]

    def entry_name(self, shape: Shape) -> str:
        """Name of the kernel for `shape`."""
        return self.entry if isinstance(self.entry, str) else self.entry(shape)

    def make_inputs(
        self, shape: Shape | None = None, *, seed: int = 0, device: Device | None = None
    ) -> dict[str, Any]:
        """Fresh inputs for `shape`, equal for equal seeds, on `device`'s memory, defaults filled in.

        fp8 tensors come in the format of the device's target (of the default one where `device` is None).

        Raises:
            ShapeError: the kernel does not support the shape.
            UsageError: the seed is no integer of 64 bits.
        """
        import torch

        if not isinstance(seed, int) or not -(1 << 63) <= seed < 1 << 64:
            raise UsageError(f"{self.name}: seed is {seed!r}; expected an integer of 64 bits")
        full = self.shape(shape)
        generator = torch.Generator().manual_seed(seed)
        made = self.bind(**self.inputs(full, generator))
        where = torch_device(device)
        return {
            k: in_format_of(v, device).to(where) if isinstance(v, torch.Tensor) else v
            for k, v in made.items()
        }

    def make_outputs(
        self, shape: Shape, inputs: Mapping[str, Any], *, poison: bool = False
    ) -> dict[str, torch.Tensor]:
        """Tensors for the kernel to write, where the inputs are.

        Args:
            poison: fill them with NaN (integers with their smallest value), so that an element that the
                kernel does not write cannot pass for a result.
        """
        import torch

        where = next((v.device for v in inputs.values() if isinstance(v, torch.Tensor)), torch.device("cpu"))
        made = {}
        for name, (dims, dtype) in self.outputs(shape, inputs).items():
            tensor = torch.empty(tuple(dims), dtype=dtype, device=where)
            made[name] = poisoned(tensor) if poison else tensor
        return made

    def run(
        self,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any] | None = None,
        *,
        shape: Shape | None = None,
        kernel: Kernel | None = None,
        device: Device | None = None,
        options: LaunchOptions | None = None,
    ) -> tuple[dict[str, torch.Tensor], LaunchRecord]:
        """Launches once on `inputs` (by name, see `bind`); gives the outputs by name and the launch's record.

        Args:
            outputs: tensors to write into; allocated where absent.
            shape: the shape, from `shape_of` where it is None.
            kernel: another kernel with the same interface, such as one compiled in a notebook cell.
            device: where to run; by the tensors where it is None.
            options: of the launch.
        """
        tensors = self.bind(**inputs)
        arch = kernel.arch if kernel is not None else None
        where = device if device is not None else device_of(tensors.values(), arch)
        full = self.shape(shape if shape is not None else self.shape_of(**tensors), arch=where.arch)
        chosen = kernel if kernel is not None else self.kernel(full, arch=where.arch)
        made = self.make_outputs(full, tensors)
        for name, tensor in (outputs or {}).items():
            if name not in made:
                raise ArgumentError(f"{self.name} has no output {name!r}; it has {', '.join(made)}")
            if tuple(tensor.shape) != tuple(made[name].shape) or tensor.dtype != made[name].dtype:
                raise ArgumentError(
                    f"{self.name}: output {name!r} is {tuple(tensor.shape)} {tensor.dtype}; "
                    f"expected {tuple(made[name].shape)} {made[name].dtype}"
                )
            made[name] = tensor
        both = {**tensors, **made}
        arguments = dict(self.arguments(full, both)) if self.arguments is not None else both
        launch = self.launch(full, where.arch)
        record = chosen.launch(launch, (), arguments, device=where, options=options)
        return made, record

    def __call__(self, *args: Any, device: Device | str | None = None, **kwargs: Any) -> Any:
        """Runs the kernel on tensors; outputs may be given by name to be written into.

        Args:
            device: where to run, as `wb.device` takes it; by the tensors where it is None.

        Returns:
            the output tensor, or a dict of them by name where the kernel has several.

        Raises:
            ShapeError: tensors that the kernel does not support.
            ArgumentError: anything else wrong with the arguments.
        """
        names = inspect.signature(self.reference).parameters
        given = {k: v for k, v in kwargs.items() if k not in names}
        inputs = self.bind(*args, **{k: v for k, v in kwargs.items() if k in names})
        made, _ = self.run(inputs, given, device=None if device is None else resolve_device(device))
        return next(iter(made.values())) if len(made) == 1 else made

    def expected(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        """`reference` on `inputs`, its result by output name."""
        result = self.reference(**inputs)
        return name_results(result, list(outputs), self.name)

    def work(self, shape: Shape | None = None) -> dict[str, int]:
        """`{"flops": ..., "bytes": ...}` of a shape, as far as the spec says."""
        full = self.shape(shape)
        found = {}
        if self.flops is not None:
            found["flops"] = int(self.flops(full))
        if self.bytes is not None:
            found["bytes"] = int(self.bytes(full))
        return found

    def __repr__(self) -> str:
        sizes = ", ".join(f"{key}: {p}" for key, p in self.parameters.items())
        signature = ", ".join(str(p) for p in inspect.signature(self.reference).parameters.values())
        return f"<KernelSpec {self.name}({signature}) for {', '.join(self.targets)}; {sizes}>"

    def located(self, folder: Path) -> KernelSpec:
        """The same spec with `folder` as the place of its source."""
        return dataclasses.replace(self, folder=folder, _modules={})


def _stamps(folders: Sequence[Path | None]) -> list[tuple[str, int, int]]:
    """Names, times and sizes of the headers below some folders: they differ where a header has changed."""
    found = []
    for folder in folders:
        for root, _, files in os.walk(folder) if folder is not None else ():
            for name in files:
                if name.endswith((".cuh", ".h", ".hpp")):
                    with contextlib.suppress(OSError):
                        status = os.stat(os.path.join(root, name))
                        found.append((os.path.join(root, name), status.st_mtime_ns, status.st_size))
    return sorted(found)
