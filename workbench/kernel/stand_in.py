"""CPU tensors for host code that checks whether a tensor is on the GPU: on an emulated device they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

# Attributes that the bindings of HipKittens and ThunderKittens (`pyutils.cuh`) read from a tensor in Python:
# the name of its class, its device's type, its shape and its address.
_REFUSAL = b"Tensor must be on CUDA device"


def refuses_cpu_tensors(library: bytes) -> bool:
    """True if a compiled module has bindings that accept a tensor only if it claims to be on a GPU."""
    return _REFUSAL in library


class Tensor:
    """A tensor that differs only in its device. The class has the name that bindings look for."""

    device = SimpleNamespace(type="cuda", index=0)
    is_cuda = True

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_tensor"], name)

    @classmethod
    def __torch_function__(cls, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        """PyTorch's functions get the tensor itself, and their results claim to be on the GPU too."""
        from torch.utils._pytree import tree_map

        return tree_map(on_device, function(*tree_map(itself, args), **tree_map(itself, kwargs or {})))


def on_device(value: Any) -> Any:
    """The value itself, or the stand-in for a CPU tensor."""
    if isinstance(value, Tensor):
        return value
    is_tensor = hasattr(value, "untyped_storage") and value.device.type == "cpu"
    return Tensor(value) if is_tensor else value


def itself(value: Any) -> Any:
    """The CPU tensor behind a stand-in; any other value unchanged."""
    return value._tensor if isinstance(value, Tensor) else value


__all__ = ["Tensor", "itself", "on_device", "refuses_cpu_tensors"]
