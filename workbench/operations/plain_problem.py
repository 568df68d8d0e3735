"""A judge's problem as a kernel's file, with its launch and reference as the operations take them."""

from __future__ import annotations

import builtins
import copy
import inspect
import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from IPython.core.error import UsageError as IPythonUsageError

from workbench.errors import UsageError
from workbench.judge.problems import Case, Instance, Problem, close, digest_of, precise_output
from workbench.magics.run import compilation
from workbench.operations.subject import launch_options
from workbench.operators.tolerances import TOLERANCES, Tolerance


class PlainProblem(Problem):
    """A kernel's file with its launch, inputs, outputs and reference, as the operations take them."""

    form = "plain"

    def __init__(self, file: Path) -> None:
        self.name = file.stem
        self._file = file
        beside = file.with_suffix(".toml")
        self.digest = digest_of(file, *([beside] if beside.is_file() else []))

    @cached_property
    def _options(self) -> tuple[Any, dict[str, Any]]:
        options, sizes = launch_options(self._file, self._file.read_text(encoding="utf-8"))
        if not (options.launch and options.inputs and options.outputs and options.reference):
            raise UsageError(
                f"{self._file}: a problem needs --launch, --inputs, --outputs and --reference in its comment "
                "`// %%hipkittens`, or a TOML file with them beside it"
            )
        return options, sizes

    @property
    def cases(self) -> tuple[Case, ...]:
        return (Case("", {}, "benchmark"),)

    @property
    def compilation(self) -> dict[str, Any]:
        options, _ = self._options
        try:
            _, _, compilation_options = compilation(options)
        except IPythonUsageError as error:
            raise UsageError(f"{self._file}: {error}") from None
        return {
            # A submission is compiled in a folder of its own.
            "include": [str(Path(folder).resolve()) for folder in compilation_options.include],
            "flags": list(compilation_options.flags),
            "define": list(compilation_options.define),
            "device_libraries": compilation_options.device_libraries,
        }

    def instance(self, case: Case, seed: int) -> Instance:
        options, sizes = self._options
        variables = {"torch": torch, **sizes}
        names = _Names()
        # As in `operations.subject`: a file's texts draw from the seed, and the caller's generator stays.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            inputs = dict(eval(options.inputs, variables))
            launch_variables = {**variables, "__builtins__": __builtins__}
            kernel, grid, block, shared = eval(options.launch, launch_variables, names)
            reference = eval(options.reference, variables)
        outputs = [name.strip() for name in options.outputs.split(",")]
        parameters = inspect.signature(reference).parameters
        passed = {name: inputs[name] for name in parameters if name in inputs}
        for name in outputs:
            if name not in passed and inputs[name].is_floating_point():
                inputs[name] = torch.full_like(inputs[name], math.nan)

        def called(values: Mapping[str, Any]) -> dict[str, Any]:
            result = reference(**values)
            results = result if isinstance(result, tuple) else (result,)
            return dict(zip(outputs, results, strict=True))

        expected = called(copy.deepcopy(passed))
        precise = precise_output(called, passed)
        setup = {"kernel": kernel, "grid": grid, "block": block, "shared": shared, "outputs": outputs}

        def check(output: Any) -> tuple[bool, str]:
            better = precise if precise is not None else expected
            return close(output, better, lambda dtype: TOLERANCES.get(str(dtype)[6:], Tolerance(0.0, 0.0)))

        return Instance(inputs, setup, expected, precise, check)


class _Names(dict[str, Any]):
    """Names of kernels in a launch: `kernel[grid, block, shared]` is what the text says, nothing is run."""

    def __missing__(self, name: str) -> _Name:
        if hasattr(builtins, name):
            raise KeyError(name)
        return _Name(name)


class _Name:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, shape: Any) -> tuple[str, Any, Any, int]:
        grid, block, *shared = shape
        return self._name, grid, block, shared[0] if shared else 0


__all__ = ["PlainProblem"]
