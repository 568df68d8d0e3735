"""`torch.device(0)` under `cuda_means_cpu`: PyTorch asks itself whether it was built for a GPU."""

from __future__ import annotations

from typing import Any

import torch

_DEVICE: Any = torch.device


class _Kind(type):
    """Metaclass of a type that passes for `torch.device`, even for code that keeps a reference to it."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else kwargs.get("device")
        if torch.device is cls and len(args) + len(kwargs) == 1 and type(first) is int:
            return _DEVICE("cuda", first)
        return _DEVICE(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _DEVICE)

    # Tables of types, such as that for operators' arguments, have PyTorch's own type.
    def __eq__(cls, other: object) -> bool:
        return other is cls or other is _DEVICE

    def __hash__(cls) -> int:
        return hash(_DEVICE)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_DEVICE, name)


DeviceType = _Kind("device", (), {"__module__": "torch", "__doc__": _DEVICE.__doc__})
"""Replaces `torch.device`, which cannot be subclassed: the index of a GPU alone is a device too."""
