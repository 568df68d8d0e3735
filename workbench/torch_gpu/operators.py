"""Operators that a script registers with PyTorch for CUDA get the device's tensors, which are on the CPU."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from torch.library import Library

from workbench.patches import Patches

_HOST_KEYS = {
    key: key.replace("CUDA", "CPU") for key in ("CUDA", "AutogradCUDA", "AutocastCUDA", "SparseCUDA")
}
"""The CPU's dispatch key for each dispatch key of a GPU; see `extensions` for C++."""


@contextlib.contextmanager
def operators_reach_cpu() -> Iterator[None]:
    """In this context, operators that `torch.library` registers for CUDA are registered for the CPU.

    An implementation for CUDA takes precedence over one for the CPU, as all tensors are on the device.
    """
    on_host: set[tuple[str, str]] = set()
    on_device: set[tuple[str, str]] = set()

    def created(create: Callable[..., None]) -> Callable[..., None]:
        @wraps(create)
        def init(library: Library, ns: str, kind: str, dispatch_key: str = "") -> None:
            create(library, ns, kind, _HOST_KEYS.get(dispatch_key, dispatch_key))
            library._hipkittens_key = dispatch_key  # type: ignore[attr-defined]

        return init

    def registered(register: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(register)
        def impl(library: Library, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
            asked = dispatch_key or getattr(library, "_hipkittens_key", "")
            key = _HOST_KEYS.get(asked, asked)
            name = f"{library.ns}::{op_name}", key
            if asked == key and name in on_device:
                return None
            (on_host if asked == key else on_device).add(name)
            with warnings.catch_warnings():
                if asked != key and name in on_host:
                    warnings.filterwarnings("ignore", "Warning only once for all operators")
                return register(library, op_name, fn, _HOST_KEYS.get(dispatch_key, dispatch_key), **options)

        return impl

    with Patches() as patches:
        patches.replace(Library, "__init__", created(Library.__init__))
        patches.replace(Library, "impl", registered(Library.impl))
        yield


__all__ = ["operators_reach_cpu"]
