"""The device that compiles and launches use, and the device on which PyTorch puts its tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench import runtime
from workbench.errors import ArgumentError
from workbench.runtime import Device

if TYPE_CHECKING:
    import torch


def default_device() -> Device:
    """The device for launches that name none: see `runtime.device`."""
    return runtime.device()


def resolve_device(device: Device | str | None) -> Device:
    """A device: passed itself, by its name, or None for the default one."""
    return device if isinstance(device, Device) else runtime.device(device)


def default_arch() -> str:
    """Target of the default device."""
    return default_device().arch


def device_of(values: Iterable[Any], arch: str | None = None) -> Device:
    """The device for tensors: their GPU; for CPU tensors, the default device.

    Args:
        values: a launch's arguments; anything but tensors is ignored.
        arch: target that the device must have; a device of this target is preferred to the default one.

    Raises:
        DeviceError: there is no device of this target.
    """
    for value in values:
        if kind_of(value) == "cuda":
            return runtime.device(f"gpu:{value.device.index or 0}")
    return runtime.device() if arch is None else runtime.device_for(arch)


def kind_of(value: Any) -> str:
    """Type of the device that has a tensor's memory, such as "cpu", whatever the tensor reports inside
    `cuda_means_cpu`; "" for anything but a tensor."""
    return "cpu" if getattr(value, "is_cpu", False) else getattr(getattr(value, "device", None), "type", "")


def device_with(
    name: str, arguments: Mapping[str, Any], device: Device | None = None, arch: str | None = None
) -> Device:
    """The device of a call, on which all its tensors are.

    Args:
        name: name of the operator or function, for errors.
        arguments: arguments by name.
        device: device to run on; None to take it from the tensors.
        arch: target that the device must have, as `device_of` takes it.

    Raises:
        ArgumentError: a tensor is not where the device has its memory.
        DeviceError: see `device_of`.
    """
    device = device if device is not None else device_of(arguments.values(), arch)
    expected = torch_device(device)
    for argument, value in arguments.items():
        # A tensor on "cuda" is on the current device, which the launch checks.
        if kind_of(value) not in ("", expected.type):
            raise ArgumentError(
                f"{name}: argument {argument!r} is a tensor on {value.device}; expected one on "
                f"{expected}, where {device.name} has its memory; move it with .to({str(expected)!r})"
            )
    return device


@dataclass(frozen=True)
class Place:
    """Memory in which a launch's tensors must live.

    Attributes:
        device: name of the device.
        type, index: `("cpu", None)`, or `("cuda", 0)` as PyTorch names a GPU.
        has_memory: returns True for an address in the device's own allocations, which hold no PyTorch tensor.
    """

    device: str
    type: str
    index: int | None
    has_memory: Callable[[int], bool]


@lru_cache(64)
def place_of(device: Device) -> Place:
    """Memory in which PyTorch tensors for a device must live."""
    kind, _, index = device.torch_device.partition(":")
    return Place(device.name, kind, int(index) if index else None, device.has_memory)


def torch_device(device: Device | None) -> torch.device:
    """PyTorch's name for the device of tensors on `device`; None means the default device."""
    import torch

    return torch.device((device if device is not None else default_device()).torch_device)
