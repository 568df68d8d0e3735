"""Initial texts for the form of the Verify button: a kernel's last launch, written as Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.kernel import Kernel, Kernels, LastLaunch, Module

# Names that kernels use for their outputs; the form only begins with them.
_WRITTEN = ("out", "dst", "result", "y", "o", "c")


def form(module: Module | Kernels) -> dict[str, str]:
    """Texts for --launch, --inputs, --outputs and --reference; empty if the module has no kernel.

    Args:
        module: its kernel that was launched last is meant, the first where none was.
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
    """A value as Python that makes one like it; a tensor gets other numbers."""
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
