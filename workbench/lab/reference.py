"""For the form of the Verify button: a kernel's last launch written as Python, and likely references."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.events import hub
from workbench.operators import kernels as library

if TYPE_CHECKING:
    from workbench.kernel import Kernel, Kernels, LastLaunch, Module
    from workbench.operators import KernelSpec

# Names that kernels use for their outputs; only the initial text of the form.
_WRITTEN = ("out", "dst", "result", "y", "o", "c")


LIKELY = 8
"""Maximum number of references that are offered as fitting."""


def likely(name: str, module: Module | Kernels | None) -> dict[str, list[str]]:
    """Operators of the library that a cell's kernel may be verified against, the likeliest first.

    Args:
        name: name of the cell's module.
        module: the module that its variable holds; None if it holds none yet.

    Returns:
        "used": those that its code was verified against in this process, the latest first; "fitting": those
        with its name, and those whose inputs have the names of its arguments and, if it was launched, the
        shapes of its tensors.
    """
    used: dict[str, None] = {}
    digests = {kernel.module.digest for kernel in module.kernels.values()} if module is not None else set()
    for event in reversed(hub.history("verify")):
        if event.name in library and digests & set(event.data["code"].split("+")):
            used[event.name] = None
    scores = {spec: _fit(spec, name, module) for spec in library.values() if spec.name not in used}
    fitting = sorted((spec for spec, score in scores.items() if score > 0), key=lambda spec: -scores[spec])
    return {"used": list(used), "fitting": [spec.name for spec in fitting[:LIKELY]]}


def _fit(spec: KernelSpec, name: str, module: Module | Kernels | None) -> float:
    """Rates how well a spec fits a cell: 0 if it does not, otherwise the share of its inputs' names that are
    arguments of a kernel; the cell's own name counts more.
    """
    common, score = 0.0, 2.0 * (spec.name.rpartition("/")[2] == name)
    inputs = [parameter.name for parameter in inspect.signature(spec.reference).parameters.values()]
    for kernel in module.kernels.values() if module is not None else ():
        values = _by_name(kernel, kernel.last) if kernel.last is not None else {}
        named = [argument for argument in inputs if argument in kernel.plan.taken]
        # One name in common, such as x, says nothing unless the shape fits too.
        if len(named) < 0.6 * len(inputs) or len(named) < (1 if values else 2):
            continue
        if values and not _fits_shape(spec, {argument: values[argument] for argument in named}):
            continue
        common = max(common, len(named) / len({*inputs, *kernel.plan.taken}))
    return score + common


def _fits_shape(spec: KernelSpec, values: Mapping[str, Any]) -> bool:
    """Whether tensors of a launch have a shape of a spec."""
    try:
        spec.shape(**spec.shape_of(**values))
    except (WorkbenchError, AttributeError, LookupError, TypeError, ValueError):
        # Another kernel's arguments may be anything.
        return False
    return True


def form(module: Module | Kernels) -> dict[str, str]:
    """Texts for --launch, --inputs, --outputs and --reference; empty if the module has no kernel.

    Args:
        module: a module; its kernel that was launched last counts, or the first if none was.
    """
    kernels = list(module.kernels.values())
    kernel = next(
        (candidate for candidate in kernels if candidate.last is not None), kernels[0] if kernels else None
    )
    if kernel is None:
        return {}
    last = kernel.last
    values = _by_name(kernel, last) if last is not None else {}
    names = [name for name, kind in kernel.plan.taken.items() if kind.kind != "struct" or kind.template]
    tensors = [n for n in names if _is_pointer(kernel, n)]
    outputs = [n for n in tensors if n in _WRITTEN or n.startswith("out")] or tensors[-1:]
    # If nothing is between its writing and reading, a kernel with one tensor works in place.
    read = [n for n in names if n not in outputs or tensors == outputs]
    arguments = [f"{n}={_text(values[n]) if n in values else ''}" for n in names]
    return {
        "launch": _launch(kernel, last),
        "inputs": f"dict({', '.join(arguments)})",
        "outputs": ", ".join(outputs),
        "reference": f"lambda {', '.join(read)}: ",
    }


def _is_pointer(kernel: Kernel, name: str) -> bool:
    return kernel.plan.taken[name].kind in ("pointer", "struct")


def _by_name(kernel: Kernel, last: LastLaunch) -> Mapping[str, Any]:
    named = dict(zip((p.name for p in kernel.plan.parameters), last.args, strict=False))
    return {**named, **last.kwargs}


def _launch(kernel: Kernel, last: LastLaunch | None) -> str:
    if last is None:
        return f"{kernel.name}[1, 64]"
    shared = last.launch.dynamic_shared
    dims = [_dims(last.launch.grid), _dims(last.launch.block), *([str(shared)] if shared else [])]
    return f"{kernel.name}[{', '.join(dims)}]"


def _dims(value: Any) -> str:
    dims = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    while len(dims) > 1 and dims[-1] == 1:
        dims = dims[:-1]
    return str(dims[0]) if len(dims) == 1 else str(dims)


def _text(value: Any) -> str:
    """Python text that makes a similar value; a tensor gets other numbers."""
    import torch

    if not isinstance(value, torch.Tensor):
        return repr(value)
    shape = str(tuple(value.shape))
    where = "" if value.device.type == "cpu" else f', device="{value.device.type}"'
    if value.dtype == torch.bool:
        return f"torch.rand({shape}{where}) < 0.5"
    if not value.dtype.is_floating_point:
        return f"torch.randint(0, 100, {shape}, dtype={value.dtype}{where})"
    if value.dtype == torch.float32:
        return f"torch.randn({shape}{where})"
    if value.dtype.itemsize == 1:
        return f"torch.randn({shape}{where}).to({value.dtype})"
    return f"torch.randn({shape}, dtype={value.dtype}{where})"
