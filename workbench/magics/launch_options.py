"""A cell's own launch and reference, from --launch, --inputs, --outputs and --reference.

Each is Python over the notebook's variables, where the cell's kernels have their names:

    %%hipkittens scale --launch "scale[4, 64]" --inputs "dict(x=torch.ones(256), by=2.0)" --outputs x \
        --reference "lambda x, by: x * by"
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.check.results import VerifyResult
from workbench.check.verify import verify
from workbench.errors import UsageError, WorkbenchError
from workbench.kernel import Launcher, Module
from workbench.operators.launch_target import Target, resolve
from workbench.runtime import Device


@dataclass(frozen=True)
class CellLaunch:
    """The launch that a cell's options specify.

    Attributes:
        launcher: the kernel with its grid and block.
        inputs: all arguments by name.
        outputs: names of the tensors that it writes; empty without a comparison.
        reference: the reference to compare with; None without a comparison.
        text: source text of the reference.
    """

    launcher: Launcher
    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    reference: Callable[..., Any] | None
    text: str

    def target(self) -> Target:
        """The launch, to be timed, profiled or sanitized."""
        return resolve(self.launcher, (), self.inputs)

    def verify(self, device: Device | None = None) -> VerifyResult:
        """The comparison, on a device or, for None, the one that the tensors belong to.

        Raises:
            UsageError: the reference fails, or does not fit the inputs.
        """
        try:
            result = verify(
                self.launcher, self.reference, inputs=self.inputs, outputs=self.outputs, device=device
            )
        except WorkbenchError:
            raise
        except Exception as error:
            raise UsageError(
                f"--reference: `{self.text}` raised {type(error).__name__}: {error}; it is called with "
                f"those of {', '.join(self.inputs)} that it has parameters for, floats in float64"
            ) from error
        assert isinstance(result, VerifyResult)
        return result


def cell_launch(
    options: argparse.Namespace, module: Module, namespace: Mapping[str, Any]
) -> CellLaunch | None:
    """The launch that a cell's line describes; None if it describes none.

    Raises:
        UsageError: one of the four is missing, is not Python, fails, or gives something else.
    """
    texts = {name: getattr(options, name) for name in ("launch", "inputs", "outputs", "reference")}
    if not any(texts.values()):
        return None
    flags = ", ".join(f"--{name}" for name, text in texts.items() if text)
    if options.verify or options.spec:
        raise UsageError(
            f"{flags} and a spec are given; a spec already says all of this: leave out one of them"
        )
    required = ("launch", "inputs", "outputs", "reference") if texts["reference"] else ("launch", "inputs")
    missing = [f"--{name}" for name in required if not texts[name]]
    if missing:
        raise UsageError(f"{flags} needs {' and '.join(missing)} too")
    import torch

    # After a restart, the kernel has few names.
    variables = {"torch": torch, **namespace, **module.kernels}
    launcher = _evaluated("launch", texts["launch"], variables, Launcher, "kernel[grid, block]")
    inputs = _evaluated("inputs", texts["inputs"], variables, Mapping, "a dict of all arguments by name")
    reference = None
    if texts["reference"]:
        reference = _evaluated("reference", texts["reference"], variables, Callable, "a function")
    outputs = tuple(name for part in texts["outputs"].split(",") if (name := part.strip()))
    return CellLaunch(launcher, inputs, outputs, reference, texts["reference"])


def _evaluated(name: str, text: str, variables: dict[str, Any], kind: Any, described: str) -> Any:
    try:
        value = eval(compile(text.strip(), f"<--{name}>", "eval"), variables)
    except Exception as error:
        note = f"{error.msg}, at column {error.offset}" if isinstance(error, SyntaxError) else str(error)
        raise UsageError(
            f"--{name}: `{text}` raised {type(error).__name__}: {note}; expected {described}, as Python over "
            "the variables of the notebook or file, and the kernels"
        ) from None
    if not isinstance(value, kind):
        raise UsageError(f"--{name}: `{text}` is a {type(value).__name__}; expected {described}")
    return value
