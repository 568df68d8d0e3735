"""What an operation works on: an operator of the library, or a kernel's file with its launch.

A file says how it is launched in the line of a cell, as a comment at its top, or in a TOML file beside it:

    // %%hipkittens scale --launch "scale[4, 64]" --inputs "dict(x=torch.ones(256), by=2.0)" \\
    //     --outputs x --reference "lambda x, by: x * by"

    # scale.toml, beside scale.cpp
    kernel = "scale"
    grid = "n // 64"
    block = 64
    outputs = ["x"]
    reference = "lambda x, by: x * by"
    sizes = { n = 256 }
    arguments = { x = "torch.ones(n)", by = 2.0 }

Texts are Python with `torch`, the sizes and the kernels in scope. `NOTEBOOK.ipynb#NAME` is the cell
`%%hipkittens NAME` of a saved notebook, whose variables are not in scope.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from IPython.core.error import UsageError as IPythonUsageError

from workbench import magic_options
from workbench.check.results import VerifyResult, VerifyResults
from workbench.check.verify import verify
from workbench.errors import UsageError
from workbench.kernel import Module, device_of
from workbench.kernel.compilation import compile_source
from workbench.kernel.files import read_file
from workbench.magics.launch_options import CellLaunch, cell_launch
from workbench.magics.line import parsed, split
from workbench.magics.run import compilation, shape_of_text
from workbench.operations.launch_comment import MARK, SUFFIXES, comment_line
from workbench.operations.notebook_cell import SUFFIX as NOTEBOOK
from workbench.operations.notebook_cell import cell_text, notebook_of
from workbench.operators import KernelSpec, Shape, kernels
from workbench.operators.launch_target import Target, resolve
from workbench.runtime import Device
from workbench.runtime import device as runtime_device
from workbench.toolchain.source_text import source_text


@dataclass(frozen=True)
class Subject:
    """A kernel that can be compiled, launched and compared.

    Attributes:
        name: name for titles.
        device: device of its launches.
        module: compiled module of a file; None for an operator, which compiles its kernels itself.
        spec: operator whose inputs, launch and reference it has; None if the file has its own.
        shape: shape of the problem; None without a spec.
        launch: the file's own launch; None if it has none.
        seed: seed of the inputs.
    """

    name: str
    device: Device
    module: Module | None
    spec: KernelSpec | None
    shape: Shape | None
    launch: CellLaunch | None = field(repr=False)
    seed: int

    def target(self) -> Target:
        """The launch, to be timed, profiled or sanitized.

        Raises:
            UsageError: the file says of no launch.
        """
        if self.launch is not None:
            return resolve(self.launch.launcher, (), self.launch.inputs, device=self.device)
        if self.spec is None:
            raise UsageError(
                f"{self.name} has no launch; expected a comment at its top such as "
                f'`// {MARK} {self.name} --launch "kernel[grid, block]" --inputs "dict(...)"`, or --spec '
                "with an operator of the library there, or a TOML file beside it"
            )
        if self.module is not None:
            return resolve(self.module, spec=self.spec, shape=self.shape, seed=self.seed, device=self.device)
        return resolve(self.spec, shape=self.shape, seed=self.seed, device=self.device)

    def verify(self) -> VerifyResult:
        """The comparison with the reference.

        Raises:
            UsageError: there is no reference.
        """
        if self.launch is not None:
            if self.launch.reference is None:
                raise UsageError(
                    f'{self.name} has a launch and no reference; add --reference "lambda ...: ..." and '
                    "--outputs with the arguments that the kernel writes"
                )
            return replace(self.launch.verify(self.device), seed=self.seed)
        target = self.module if self.module is not None else self.spec
        if target is None or self.spec is None:
            self.target()
        assert target is not None
        result = verify(target, self.spec, shape=self.shape, seed=self.seed, device=self.device)
        return result[0] if isinstance(result, VerifyResults) else result


def subject(source: str, device: str = "", shape: str = "", seed: int = 0) -> Subject:
    """The operator or the file that `source` names; a file is compiled.

    Args:
        source: "gemm/bf16", the path of a C++ file, or "NOTEBOOK.ipynb#NAME" for a cell `%%hipkittens NAME`.
        device: "MI355X", "gfx942", "gpu:0", ...; "" for the file's target or the default device.
        shape: sizes such as "m=256,n=256,k=256"; "" for those of the file, or the operator's first.
        seed: seed of the operator's inputs, or of PyTorch's generator for those of the file.

    Raises:
        UnknownKernel, MissingFile: there is neither.
        UsageError: the file's launch or the shape is wrong.
        CompileError: the file does not compile.
    """
    path, cell = notebook_of(source) or (Path(source), None)
    if cell is None and path.suffix not in SUFFIXES and not path.exists():
        operator = kernels[source]
        on = runtime_device(device or None)
        sizes_of = operator.shape(shape_of_text(shape), arch=on.arch)
        return Subject(source, on, None, operator, sizes_of, None, seed)
    text = cell_text(path, cell) if cell is not None else source_text(read_file("source", path, "a C++ file"))
    options, sizes = launch_options(path, text)
    if shape:
        options.shape = shape
    if device:
        options.arch = runtime_device(device).arch
    try:
        spec, sizes_of_spec, compile_options = compilation(options)
    except IPythonUsageError as error:
        raise UsageError(f"{path}: {error}") from None
    module = compile_source(
        text,
        replace(
            compile_options,
            name=Path(source).name,
            first_line=1,
            include=(str(path.resolve().parent), *compile_options.include),
        ),
    )
    on = runtime_device(device) if device else device_of((), module.arch)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        launch = cell_launch(options, module, sizes)
    return Subject(cell or path.stem, on, module, spec, sizes_of_spec, launch, seed)


def launch_options(path: Path, text: str) -> tuple[argparse.Namespace, dict[str, Any]]:
    """The options of a file's comment and of the TOML file beside it, and the sizes of the latter.

    Raises:
        UsageError: an option is unknown, has a wrong value, or is in both places.
    """
    line = comment_line(text)
    try:
        words = split(MARK, line) if line else [path.stem]
        options = parsed(MARK, words, magic_options.OPTIONS, None)
    except IPythonUsageError as error:
        raise UsageError(f"{path}: {error}") from None
    beside = path.with_suffix(".toml")
    if path.suffix == NOTEBOOK or not beside.is_file():
        return options, {}
    if line:
        raise UsageError(
            f"{path} has a line `// {MARK}`, and {beside.name} is beside it; leave one of them out"
        )
    return options, _read_toml(beside, options)


_LAUNCH_KEYS = ("kernel", "grid", "block", "shared", "arguments", "sizes")


def _read_toml(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Sets the options that a TOML file has; returns its sizes."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    known = {
        (option.dest or option.flag.lstrip("-")): option
        for option in magic_options.OPTIONS
        if not option.rest
    }
    for key, value in data.items():
        if key in _LAUNCH_KEYS:
            continue
        if key not in known:
            raise UsageError(
                f"{path}: there is no key {key!r}; expected one of {', '.join((*_LAUNCH_KEYS, *known))}"
            )
        option = known[key]
        if option.repeated:
            setattr(options, key, [value] if isinstance(value, str) else [str(part) for part in value])
        elif not option.metavar:
            setattr(options, key, bool(value))
        else:
            joined = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            setattr(options, key, _sizes_text(value) if isinstance(value, dict) else joined)
    if "kernel" in data:
        missing = [key for key in ("grid", "block", "arguments") if key not in data]
        if missing:
            raise UsageError(f"{path}: kernel = {data['kernel']!r} needs {' and '.join(missing)} too")
        numbers = [_python(data[key]) for key in ("grid", "block", "shared") if key in data]
        options.launch = f"{data['kernel']}[{', '.join(numbers)}]"
        arguments = ", ".join(f"{key!r}: {_python(value)}" for key, value in data["arguments"].items())
        options.inputs = f"{{{arguments}}}"
    sizes: dict[str, Any] = data.get("sizes", {})
    return sizes


def _sizes_text(sizes: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in sizes.items())


def _python(value: Any) -> str:
    """A TOML value as Python text: a text is Python already, an array a tuple."""
    if isinstance(value, list):
        return f"({', '.join(map(_python, value))},)"
    return value if isinstance(value, str) else repr(value)
