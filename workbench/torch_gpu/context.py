"""The context in which PyTorch's "cuda" is the emulated device.

Tensors stay in this computer's memory, where kernels reach them, and its processor does PyTorch's own work.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import torch

from workbench.kernel import resolve_device
from workbench.patches import Patches
from workbench.runtime import Device
from workbench.torch_gpu import graphs
from workbench.torch_gpu.clock import event_class
from workbench.torch_gpu.extensions import built_for_device
from workbench.torch_gpu.modules import reached
from workbench.triton_driver import triton
from workbench.triton_driver.cuda import cuda_is_cpu


@contextlib.contextmanager
def torch_as_gpu(device: Device | str | None = None) -> Iterator[Device]:
    """Makes PyTorch's "cuda" an emulated device inside a `with` block; on a GPU nothing changes.

        with wb.torch_as_gpu():
            x = torch.randn(64, 64, device="cuda")
            tk_kernel.dispatch_micro(x, y)          # a module that hipcc made, imported inside

    `torch.cuda` describes the device, and tensors say that they are on it. Triton's kernels and those of
    compiled modules that you import inside the block can use these tensors. Every call waits for its end, so
    streams and `synchronize` do nothing. `Event.elapsed_time` gives the modelled time of the kernels between
    two events, or, if there were none, this computer's time. `torch.compile` returns
    the function itself; `torch.cuda.CUDAGraph` repeats the recorded calls. `torch.autocast("cuda")` lowers
    the precision of the operators that PyTorch lists for the CPU, which are fewer than on a GPU.
    `torch.utils.cpp_extension` builds extensions with kernels, whose C++ sees tensors on the device; in C++
    that was built otherwise they are the CPU's.

    Args:
        device: a device or its name; None for the default device.

    Raises:
        DeviceError: there is no such device.
    """
    where = resolve_device(device)
    if where.torch_device != "cpu":
        yield where
        return
    with Patches() as patches:
        if importlib.util.find_spec("triton") is not None:
            patches.enter_context(triton(where, cuda_means_cpu=True))
        else:
            patches.enter_context(cuda_is_cpu(where))
        for name, answer in _answers(where).items():
            patches.replace(torch.cuda, name, answer, create=True)
        event = event_class(where)
        patches.replace(torch.cuda, "Event", event)
        patches.replace(torch.cuda.Stream, "record_event", _recording(event))
        patches.replace(torch, "Generator", _Generator)
        for name, answer in _INNER.items():
            patches.replace(torch._C, name, answer, create=True)
        patches.replace(torch, "compile", _as_it_is)
        patches.enter_context(graphs.recorded())
        patches.enter_context(reached(where))
        patches.enter_context(built_for_device())
        yield where


def enter() -> None:
    """Makes PyTorch's "cuda" an emulated device for the rest of the process; see `torch_as_gpu`.

    Raises as `torch_as_gpu`.
    """
    door = torch_as_gpu()
    door.__enter__()
    # What it changed stays until the interpreter is gone.
    _entered.append(door)


_entered: list[contextlib.AbstractContextManager[Device]] = []


class _Generator(torch.Generator):
    """A generator of random numbers that takes any device."""

    def __new__(cls, device: Any = "cpu") -> _Generator:
        return super().__new__(cls, "cpu")  # type: ignore[call-arg]


def _as_it_is(model: Callable[..., Any] | None = None, **_: Any) -> Any:
    """In the place of `torch.compile`, which would make code for a GPU that PyTorch does not see."""
    return (lambda function: function) if model is None else model


def _recording(event_class: type) -> Callable[..., Any]:
    """`Stream.record_event`, which makes an event unless it is given one."""

    def record_event(stream: Any, event: Any = None) -> Any:
        event = event_class() if event is None else event
        event.record(stream)
        return event

    return record_event


_INNER: dict[str, Callable[..., Any]] = {
    "_cuda_getCurrentRawStream": lambda *_: 0,
    "_cuda_getCurrentStream": lambda *_: (0, 0, 1),
    "_cuda_getDefaultStream": lambda *_: (0, 0, 1),
    "_cuda_getDevice": lambda: 0,
    "_cuda_setDevice": lambda *_: None,
    "_cuda_getDeviceCount": lambda: 1,
    "_cuda_synchronize": lambda: None,
}
"""Functions that a GPU's PyTorch keeps for itself and that libraries call. A stream is its number, its
device's, and the number of the type of device."""


def _answers(device: Device) -> dict[str, Callable[..., Any]]:
    total = int(device.properties["totalGlobalMem"])

    def used(*_: Any) -> int:
        return device.tensor_memory().used

    def most(*_: Any) -> int:
        return device.tensor_memory().most

    def free(*_: Any) -> int:
        # A program's own hipMalloc takes from it too.
        return max(0, total - used() - device.memory().used)

    def stats(*_: Any) -> dict[str, int]:
        kinds = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
        return {
            f"{kind}.all.{when}": value
            for kind in kinds
            for when, value in (("current", used()), ("peak", most()))
        }

    def forget_most(*_: Any) -> None:
        device.forget_most_tensor_memory()

    return {
        "init": lambda: None,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *_, **__: True,
        "get_arch_list": lambda: [device.arch],
        "default_stream": lambda *_: torch.cuda.current_stream(),
        "seed": torch.default_generator.seed,
        "seed_all": torch.default_generator.seed,
        "initial_seed": torch.default_generator.initial_seed,
        "get_rng_state": lambda *_: torch.default_generator.get_state(),
        "set_rng_state": lambda state, *_: torch.default_generator.set_state(state),
        "mem_get_info": lambda *_: (free(), total),
        "memory_stats": stats,
        **dict.fromkeys(("memory_allocated", "memory_reserved"), used),
        **dict.fromkeys(("max_memory_allocated", "max_memory_reserved"), most),
        **dict.fromkeys(("reset_peak_memory_stats", "reset_max_memory_allocated"), forget_most),
        "ipc_collect": lambda: None,
    }
