"""One description of a kernel that everything else reads.

A `KernelSpec` says where a kernel's source is, how it is instantiated and launched for a shape, what goes in,
what must come out, and how much work that is. Calling it on tensors runs it; `verify`, `time`, `profile`, the
panels, the magics and the tests all work from the same object, so that none of them repeats a launch or a
reference.

`kernels` maps names such as `"gemm/gemm_bf16"` to the specs of the kernel library: each
`kernels/<category>/<kernel>/spec.py` defines one, in a module variable named `spec`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import importlib.util
import inspect
import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import paths
from workbench.errors import (
    ArgumentError,
    LaunchError,
    ShapeError,
    UnknownKernel,
    UsageError,
    WorkbenchError,
)
from workbench.origin import Figure, Origin

if TYPE_CHECKING:
    import torch

    from workbench.kernel.module import Kernel, Module
    from workbench.runtime import Device, LaunchOptions, LaunchRecord

Shape = Mapping[str, Any]
"""A problem by parameter name, integers or texts: `{"rows": 4096, "cols": 2048, "dtype": "bf16"}`."""

TensorLike = tuple[Sequence[int], "torch.dtype"]
"""Dimensions and dtype of a tensor that does not exist yet."""


def _dims(name: str, value: Any) -> tuple[int, int, int]:
    parts = value if isinstance(value, (tuple, list)) else (value,)
    try:
        dims = tuple(int(operator.index(part)) for part in parts)
    except TypeError:
        dims = ()
    if not 1 <= len(dims) <= 3 or any(d < 1 for d in dims):
        hint = "; // divides integers to an integer" if any(isinstance(p, float) for p in parts) else ""
        raise LaunchError(f"{name} is {value!r}; wanted one to three positive integers (x, y, z){hint}")
    x, y, z = (*dims, 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class Launch:
    """The shape of one launch.

    Attributes:
        grid: work-groups in x, y, z; an int or a shorter tuple is filled up with ones.
        block: work-items of a work-group in x, y, z; likewise.
        dynamic_shared: bytes of dynamic shared memory (LDS) of a work-group.
    """

    grid: Any
    block: Any
    dynamic_shared: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", _dims("grid", self.grid))
        object.__setattr__(self, "block", _dims("block", self.block))


@dataclass(frozen=True)
class Range:
    """A shape parameter that takes the values low, low + step, ..., at most high (both inclusive).

    Attributes:
        low, high, step: the supported values; where a kernel wants a multiple of its tile, step is the tile.
        default: value where none is given; `low` where it is None.
        doc: one line for the slider's tool tip and the docs.
    """

    low: int
    high: int
    step: int = 1
    default: int | None = None
    doc: str = ""

    def __contains__(self, value: object) -> bool:
        return (
            isinstance(value, int) and self.low <= value <= self.high and (value - self.low) % self.step == 0
        )

    @property
    def first(self) -> int:
        """The value where none is given."""
        return self.low if self.default is None else self.default

    def __str__(self) -> str:
        by = f" in steps of {self.step}" if self.step != 1 else ""
        return f"{self.low} to {self.high}{by}"


@dataclass(frozen=True)
class Choice:
    """A shape parameter that takes one of a few values: integers, or texts such as `"bf16"`.

    Attributes:
        values: the supported values.
        default: value where none is given; the first of `values` where it is None.
        doc: one line for the selector's tool tip and the docs.
    """

    values: Sequence[int] | Sequence[str]
    default: int | str | None = None
    doc: str = ""

    def __contains__(self, value: object) -> bool:
        return value in tuple(self.values)

    @property
    def first(self) -> int | str:
        """The value where none is given."""
        return self.values[0] if self.default is None else self.default

    def __str__(self) -> str:
        return "one of " + ", ".join(str(v) for v in self.values)


@dataclass(frozen=True)
class Tolerance:
    """Bounds of an element-wise comparison: |got - wanted| <= atol + rtol * |wanted|."""

    rtol: float
    atol: float


@dataclass(frozen=True)
class Published:
    """A figure somebody published for this kernel, or for what it competes with.

    Attributes:
        shape: the problem size that it belongs to.
        value, unit: the figure, such as 15.4 and "us", or 1610 and "TFLOP/s".
        gpu: "MI355X", "MI300X", ...
        implementation: "HipKittens", "PyTorch", "AITER", ...
        source: publication or file that states it.
    """

    shape: Shape
    value: float
    unit: str
    gpu: str
    implementation: str
    source: str

    @property
    def figure(self) -> Figure:
        """The value with its unit and its source, as a figure of origin "published"."""
        return Figure(
            self.value, self.unit, Origin.PUBLISHED, f"{self.implementation}, {self.gpu}: {self.source}"
        )

    @classmethod
    def times(cls, shape: Shape, gpu: str, source: str, times: Mapping[str, float]) -> list[Published]:
        """Times of several implementations on one shape; `times` has microseconds by implementation."""
        return [cls(shape, us, "us", gpu, who, source) for who, us in times.items()]


def lanes_of_row(cols: int, size: int) -> int:
    """Lanes of a wave that share a row of `cols` elements of `size` bytes, at least 16 bytes each.

    A power of two; what the register tile base shape `rt_rows_s` of the tile library has.
    """
    lanes = 1
    while lanes < 64 and lanes * (16 // size) < cols:
        lanes *= 2
    return lanes


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
        name: `<category>/<kernel>`, equal to the folder below `kernels/`.
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
            `verify.TOLERANCES` holds.
        published: figures to show beside ours.
        targets: targets that the source supports.
        flags: further compiler flags, such as `("-mllvm", "...")`.
        doc: what the kernel does, one paragraph.
        folder: folder of `source`; the registry fills it in.
    """

    name: str
    source: str
    entry: str | Callable[[Shape], str]
    parameters: Mapping[str, Range | Choice]
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
    targets: tuple[str, ...] = ("gfx950", "gfx942")
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
        full = {key: _plain(chosen.get(key, p.first)) for key, p in self.parameters.items()}
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
            raise ShapeError(f"{self.name}: the shape is {shape!r}; wanted a dict such as {{{example}}}")
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
                f"{self.name}: argument {parameter.name!r} is a {type(value).__name__}; wanted a torch "
                f"tensor{wrap}"
            )

    @property
    def source_path(self) -> Path | None:
        """File of the source; None where the source is given as text."""
        if "\n" in self.source:
            return None
        return (self.folder or Path()) / self.source

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
        from workbench import kernel

        arch = arch or kernel.default_arch()
        if arch not in self.targets:
            raise WorkbenchError(f"{self.name} is written for {', '.join(self.targets)}, not for {arch}")
        full = self.shape(shape, arch=arch)
        macros = self.macros(full, arch)
        text = self.read_source()
        key = (arch, tuple(sorted((k, str(v)) for k, v in macros.items())))
        files = (text, _stamps((paths.include_dir(), self.folder)))
        known = self._modules.get(key)
        if known is not None and known[0] == files:
            return known[1]
        made = kernel.compile(
            text,
            arch=arch,
            name=f"{self.name}/{self.source}" if self.source_path is not None else self.name,
            include=(str(self.folder),) if self.folder is not None else (),
            flags=self.flags,
            define=macros,
        )
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
            raise UsageError(f"{self.name}: seed is {seed!r}; wanted an integer of 64 bits")
        full = self.shape(shape)
        generator = torch.Generator().manual_seed(seed)
        made = self.bind(**self.inputs(full, generator))
        where = torch_device(device)
        return {
            k: _in_format_of(v, device).to(where) if isinstance(v, torch.Tensor) else v
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
            made[name] = _poison(tensor) if poison else tensor
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
        from workbench import kernel as kernels_module

        tensors = self.bind(**inputs)
        arch = kernel.arch if kernel is not None else None
        where = device if device is not None else kernels_module.device_of(tensors.values(), arch)
        full = self.shape(shape if shape is not None else self.shape_of(**tensors), arch=where.arch)
        chosen = kernel if kernel is not None else self.kernel(full, arch=where.arch)
        made = self.make_outputs(full, tensors)
        for name, tensor in (outputs or {}).items():
            if name not in made:
                raise ArgumentError(f"{self.name} has no output {name!r}; it has {', '.join(made)}")
            if tuple(tensor.shape) != tuple(made[name].shape) or tensor.dtype != made[name].dtype:
                raise ArgumentError(
                    f"{self.name}: output {name!r} is {tuple(tensor.shape)} {tensor.dtype}; "
                    f"wanted {tuple(made[name].shape)} {made[name].dtype}"
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
        from workbench.kernel.module import resolve_device

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


def _plain(value: Any) -> Any:
    """An integer as Python's own int, where it is a NumPy or symbolic one; anything else as it is."""
    return value if isinstance(value, (str, float)) else int(value)


def name_results(result: Any, names: Sequence[str], what: str) -> dict[str, torch.Tensor]:
    """Results of a reference by output name: from a dict, a tuple in the order of `names`, or one tensor."""
    if isinstance(result, Mapping):
        found = dict(result)
    elif isinstance(result, (tuple, list)):
        found = dict(zip(names, result, strict=False)) if len(result) == len(names) else {}
    else:
        found = {names[0]: result} if len(names) == 1 else {}
    if set(found) != set(names):
        raise WorkbenchError(
            f"{what}: the reference returned {_describe(result)}; "
            f"wanted one tensor for each of {', '.join(names)}"
        )
    return {name: found[name] for name in names}


def _describe(result: Any) -> str:
    if isinstance(result, Mapping):
        return "a dict with " + ", ".join(map(str, result))
    if isinstance(result, (tuple, list)):
        return f"{len(result)} values"
    return f"one {type(result).__name__}"


def _in_format_of(tensor: torch.Tensor, device: Device | None) -> torch.Tensor:
    """An fp8 tensor in the format that a device's target computes in, saturating; any other tensor itself."""
    import torch

    from workbench import kernel

    pairs = ((torch.float8_e4m3fn, torch.float8_e4m3fnuz), (torch.float8_e5m2, torch.float8_e5m2fnuz))
    for ocp, fnuz in pairs:
        if tensor.dtype not in (ocp, fnuz):
            continue
        arch = device.arch if device is not None else kernel.default_arch()
        wanted = fnuz if arch in ("gfx940", "gfx941", "gfx942") else ocp
        if tensor.dtype != wanted:
            largest = torch.finfo(wanted).max
            return tensor.float().clamp(-largest, largest).to(wanted)
    return tensor


def _poison(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    dtype = tensor.dtype
    if dtype == torch.bool:
        return tensor.fill_(True)
    if dtype.is_floating_point and dtype.itemsize == 1:
        # 0xff is a NaN of the OCP formats, 0x80 the only one of the fnuz formats.
        code = 0x80 if "fnuz" in str(dtype) else 0xFF
        tensor.view(torch.uint8).fill_(code)
        return tensor
    if dtype.is_floating_point or dtype.is_complex:
        return tensor.fill_(float("nan"))
    return tensor.fill_(torch.iinfo(dtype).min if dtype.is_signed else torch.iinfo(dtype).max)


def torch_device(device: Device | None) -> torch.device:
    """Where tensors for `device` live: the CPU for an emulated one, `cuda:N` (PyTorch's name) for a GPU."""
    import torch

    if device is None:
        from workbench.kernel.module import default_device

        device = default_device()
    if device.emulated:
        return torch.device("cpu")
    return torch.device("cuda", int(device.name.rpartition(":")[2]))


class KernelRegistry(Mapping[str, KernelSpec]):
    """Specs of a kernel library by name, loaded when they are first asked for.

    Args:
        root: folder that holds `<category>/<kernel>/spec.py`; the workbench's own library where it is None.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._loaded: dict[str, KernelSpec] = {}

    @property
    def root(self) -> Path:
        return self._root if self._root is not None else paths.kernels_dir()

    def _names(self) -> list[str]:
        found = self.root.glob("*/*/spec.py")
        return sorted(f"{p.parent.parent.name}/{p.parent.name}" for p in found)

    def __getitem__(self, name: str) -> KernelSpec:
        if name not in self._loaded:
            names = self._names()
            if name not in names:
                raise _unknown_kernel(name, names)
            self._loaded[name] = _load_spec(self.root / name / "spec.py", name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        return f"<kernels: {', '.join(self._names()) or 'none'}>"

    def _ipython_key_completions_(self) -> list[str]:
        return self._names()


def spec_of(given: KernelSpec | str, asked: str) -> KernelSpec:
    """A spec from itself or its name, for `asked`, the function that a person called.

    Raises:
        UnknownKernel: no kernel of the library has this name.
        UsageError: it is neither.
    """
    if isinstance(given, str):
        return kernels[given]
    if not isinstance(given, KernelSpec):
        raise UsageError(
            f"{asked}: got a {type(given).__name__}; wanted a KernelSpec, or the name of one such as "
            '"gemm/gemm_bf16"'
        )
    return given


def _unknown_kernel(name: str, names: Sequence[str]) -> UnknownKernel:
    short = {n.rpartition("/")[2]: n for n in names}
    close = difflib.get_close_matches(str(name), list(names), n=3, cutoff=0.5)
    close += [short[m] for m in difflib.get_close_matches(str(name), list(short), n=3, cutoff=0.5)]
    if close:
        return UnknownKernel(
            f"no kernel is named {name!r}; did you mean {' or '.join(dict.fromkeys(close))}?"
        )
    return UnknownKernel(f"no kernel is named {name!r}; there are {', '.join(names) or 'none'}")


def _load_spec(path: Path, name: str) -> KernelSpec:
    module_name = "workbench_kernels." + name.replace("/", ".")
    found = importlib.util.spec_from_file_location(module_name, path)
    if found is None or found.loader is None:
        raise WorkbenchError(f"kernel {name}: {path} cannot be imported")
    module = importlib.util.module_from_spec(found)
    sys.modules[module_name] = module
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    spec = getattr(module, "spec", None)
    if not isinstance(spec, KernelSpec):
        raise WorkbenchError(
            f"kernel {name}: {path} must define `spec`, a KernelSpec; it is {type(spec).__name__}"
        )
    if spec.name != name:
        raise WorkbenchError(
            f"kernel {name}: {path} names itself {spec.name!r}; wanted the name of its folder"
        )
    return spec.located(path.parent)


kernels = KernelRegistry()
"""The workbench's kernel library: `kernels["gemm/gemm_bf16"]`, `list(kernels)`."""
