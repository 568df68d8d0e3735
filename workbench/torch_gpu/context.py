"""The context in which PyTorch's "cuda" is the emulated device.

Tensors stay in this computer's memory, where kernels reach them, and its processor does PyTorch's own work.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import Any

import torch

from workbench.errors import DeviceError
from workbench.kernel import resolve_device
from workbench.patches import Patches
from workbench.runtime import Device
from workbench.runtime.backend import TensorMemory
from workbench.runtime.gpu import WHEEL
from workbench.runtime.registry import make_first
from workbench.settings import MODELLED_CLOCK
from workbench.torch_gpu import graphs
from workbench.torch_gpu.children import spawned_inside
from workbench.torch_gpu.clock import event_class, modelled_clock
from workbench.torch_gpu.distributed import collectives_on_host
from workbench.torch_gpu.dlpack import exchange_names_device
from workbench.torch_gpu.extensions import built_for_device
from workbench.torch_gpu.large import random_tensors_fit
from workbench.torch_gpu.modules import reached
from workbench.torch_gpu.operators import operators_reach_cpu
from workbench.torch_gpu.profiler import kernels_profiled
from workbench.triton_driver import triton
from workbench.triton_driver.cuda import cuda_is_cpu


@contextlib.contextmanager
def torch_as_gpu(device: Device | str | None = None) -> Iterator[Device]:
    """Makes PyTorch's "cuda" an emulated device in a `with` block; on a GPU nothing changes.

        with wb.torch_as_gpu():
            x = torch.randn(64, 64, device="cuda")
            tk_kernel.dispatch_micro(x, y)          # a module that hipcc made, imported inside

    `torch.cuda` describes the device, and tensors say that they are on it. Triton's kernels and those of
    compiled modules that you import inside the block can use these tensors. Every call waits for its end, so
    streams and `synchronize` do nothing. `Event.elapsed_time` gives the modelled time of the kernels between
    two events, or, if there were none, this computer's time. `torch.compile` returns
    the function itself; `torch.cuda.CUDAGraph` repeats the recorded calls. `torch.autocast("cuda")` lowers
    the precision of the operators that PyTorch lists for the CPU, which are fewer than on a GPU.
    `torch.utils.cpp_extension` builds extensions with kernels, whose C++ sees tensors on the device; C++ code
    built in other ways sees CPU tensors.

    Args:
        device: a device or its name; None for the default device.

    Raises:
        DeviceError: there is no such device; or it is a GPU, and PyTorch is built without ROCm.
    """
    where = resolve_device(device)
    if not where.observes:
        if where.torch_device == "cpu":
            raise DeviceError(
                f'torch_as_gpu: {where.name} is a GPU, on which PyTorch here has no "cuda", built without '
                f"ROCm: {WHEEL}; or choose an emulated device"
            )
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
        for owner in (torch.cuda, torch):
            patches.replace(owner, "Event", event)
        patches.replace(torch.cuda.Stream, "record_event", _recording(event))
        patches.replace(torch.cuda.memory, "is_initialized", lambda: True)
        patches.replace(torch, "Generator", _Generator)
        inner = {**_INNER, "_cuda_memoryStats": lambda *_: _memory_stats(where.tensor_memory())}
        for name, answer in inner.items():
            patches.replace(torch._C, name, answer, create=True)
        patches.replace(torch, "compile", _as_it_is)
        patches.enter_context(graphs.recorded())
        patches.enter_context(reached(where))
        patches.enter_context(built_for_device())
        patches.enter_context(exchange_names_device())
        patches.enter_context(operators_reach_cpu())
        patches.enter_context(kernels_profiled(where))
        patches.enter_context(spawned_inside(where, _enter_child))
        patches.enter_context(random_tensors_fit())
        patches.enter_context(collectives_on_host())
        yield where


def enter() -> None:
    """Makes PyTorch's "cuda" an emulated device for the rest of the process; see `torch_as_gpu`.

    If the process has used no device yet, this one is number 0 for code that asks HIP.

    Raises as `torch_as_gpu`.
    """
    make_first()
    door = torch_as_gpu()
    device = door.__enter__()
    # The changes last until the interpreter ends.
    _entered.append(door)
    if os.environ.get("HIPKITTENS_CLOCK") == MODELLED_CLOCK and device.torch_device == "cpu":
        clock = modelled_clock(torch.cuda.Event)
        clock.__enter__()
        _entered.append(clock)


def _enter_child(device: str) -> None:
    """Does the same in a process that `multiprocessing` has spawned."""
    make_first(device)
    door = torch_as_gpu(device)
    door.__enter__()
    _entered.append(door)


_entered: list[contextlib.AbstractContextManager[Any]] = []


class _Generator(torch.Generator):
    """A generator of random numbers that claims to be on the requested device; its numbers are the CPU's."""

    _place: torch.device

    def __new__(cls, device: Any = "cpu") -> _Generator:
        generator = super().__new__(cls, "cpu")  # type: ignore[call-arg]
        generator._place = torch.device(device)
        return generator

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self._place

    def clone_state(self) -> _Generator:
        other = _Generator(self._place)
        other.set_state(self.get_state())
        return other

    # A graph reads the state like any other code.
    graphsafe_get_state = clone_state

    def graphsafe_set_state(self, state: torch.Generator) -> torch.Generator:
        return self.set_state(state.get_state())


def _as_it_is(model: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Replaces `torch.compile`, which would make code for a GPU that PyTorch does not see."""
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
    "_cuda_sleep": lambda *_: None,
    "_cuda_canDeviceAccessPeer": lambda *_: False,
}
"""Private functions of a GPU's PyTorch that libraries call. A stream is its number, its device's number, and
that of the type of device."""


def _answers(device: Device) -> dict[str, Any]:
    total = int(device.properties["totalGlobalMem"])

    def used(*_: Any) -> int:
        return device.tensor_memory().used

    def most(*_: Any) -> int:
        return device.tensor_memory().most

    def free(*_: Any) -> int:
        # A program's own hipMalloc takes from it too.
        return max(0, total - used() - device.memory().used)

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
        **dict.fromkeys(("memory_allocated", "memory_reserved"), used),
        **dict.fromkeys(("max_memory_allocated", "max_memory_reserved"), most),
        **dict.fromkeys(("reset_peak_memory_stats", "reset_max_memory_allocated"), forget_most),
        "ipc_collect": lambda: None,
        "default_generators": (torch.default_generator,),
        "nvtx": _Ranges(),
        # Types of tensors by their names from before tensors had devices.
        **{name: getattr(torch, name) for name in _TENSOR_TYPES},
    }


_TENSOR_TYPES = tuple(
    f"{kind}Tensor"
    for kind in ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
)


def _memory_stats(memory: TensorMemory) -> dict[str, Any]:
    """The allocator's figures by PyTorch's names, nested; numbers of allocations and segments are 0."""
    kinds = ("allocated", "active", "reserved", "requested")
    freed = memory.most - memory.used
    figures = {"current": memory.used, "peak": memory.most, "allocated": memory.most, "freed": freed}
    nothing = dict.fromkeys(figures, 0)
    pools = {"all": figures, "large_pool": figures, "small_pool": nothing}
    counts = ("allocation", "active", "segment", "inactive_split", "inactive_split_bytes")
    return (
        {f"{kind}_bytes": pools for kind in kinds}
        | {count: dict.fromkeys(pools, nothing) for count in counts}
        | {"oversize_allocations": nothing, "oversize_segments": nothing}
        | {"num_alloc_retries": 0, "num_ooms": 0}
    )


class _Ranges:
    """`torch.cuda.nvtx`: ranges that a program marks for a GPU's profiler, of which there is none."""

    def __init__(self) -> None:
        self._depth = 0
        self._started = 0

    def range_push(self, _: str) -> int:
        self._depth += 1
        return self._depth - 1

    def range_pop(self) -> int:
        self._depth -= 1
        return self._depth

    def range_start(self, _: str) -> int:
        self._started += 1
        return self._started

    def range_end(self, _: int) -> None:
        pass

    def mark(self, _: str) -> None:
        pass

    @contextlib.contextmanager
    def range(self, message: str, *_: Any, **__: Any) -> Iterator[None]:
        self.range_push(message)
        try:
            yield
        finally:
            self.range_pop()
