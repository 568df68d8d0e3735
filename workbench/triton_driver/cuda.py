"""`cuda_means_cpu`: for libraries that were written for a GPU and name it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
import torch.utils._device as defaults
from torch._subclasses.fake_tensor import FakeTensor

from workbench import targets
from workbench.errors import UsageError
from workbench.patches import Patches
from workbench.runtime import Device
from workbench.toolchain.compiler import hip_version
from workbench.triton_driver.autocast import autocast_reaches_cpu
from workbench.triton_driver.device_type import DeviceType
from workbench.triton_driver.out_dtype import products_with_out_dtype


def _host(value: Any) -> Any:
    """The CPU if a value names a GPU; otherwise the value itself."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return "cpu"
    return value


def _on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of PyTorch that makes or moves tensors, on the CPU instead of a GPU."""

    @functools.wraps(function)
    def on_host(*args: Any, **kwargs: Any) -> Any:
        options = {key: _host(value) for key, value in kwargs.items() if key != "pin_memory"}
        if isinstance(options.get("device"), int):
            options["device"] = "cpu"
        return function(*map(_host, args), **options)

    return on_host


def _by_index(move: Callable[..., Any]) -> Callable[..., Any]:
    """A method `to`, whose first argument may be the index of a GPU."""

    @functools.wraps(move)
    def moved(this: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int):
            args = ("cpu", *args[1:])
        return move(this, *args, **kwargs)

    return moved


def _from_file(load: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.load`, even for files that were written on a machine with a GPU."""

    @functools.wraps(load)
    def loaded(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        return load(file, "cpu" if map_location is None else _host(map_location), *args, **kwargs)

    return loaded


class _Default(defaults.DeviceContext):
    """Context of `with torch.device(...)`: the device of tensors created without one."""

    def __init__(self, device: Any) -> None:
        super().__init__(_host(device))


_LIKE = tuple(f"{name}_like" for name in ("empty", "full", "ones", "rand", "randint", "randn", "zeros"))
_METHODS = ("to", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")


def _makers() -> Iterator[tuple[Any, str]]:
    """Functions that take a device. A TorchFunctionMode would miss the code that computes gradients."""
    constructors = defaults._device_constructors()
    for owner in (torch, torch.fft, torch.nested, torch.sparse):
        yield from ((owner, name) for name, value in vars(owner).items() if _is_one_of(value, constructors))
    yield from ((torch, name) for name in (*_LIKE, "set_default_device"))
    yield from ((torch.Tensor, name) for name in _METHODS)
    # They name the devices of tensors that an operator takes; PyTorch has them since 2.4.
    registering = ("custom_op", "register_kernel")
    yield from ((torch.library, name) for name in registering if hasattr(torch.library, name))


def _is_one_of(value: Any, constructors: Any) -> bool:
    return callable(value) and value.__hash__ is not None and value in constructors


def _naming_what_fails(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.compile` whose functions say why they cannot be traced: no tensor is where it claims to be."""

    @functools.wraps(compile_)
    def compiling(function: Any = None, **options: Any) -> Any:
        if function is None:
            return functools.partial(compiling, **options)
        compiled = compile_(function, **options)
        if isinstance(function, torch.nn.Module):
            return compiled

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return compiled(*args, **kwargs)
            except (AssertionError, RuntimeError) as error:
                if "device" not in f"{error}":
                    raise
                raise UsageError(
                    f"torch.compile of {called.__name__}: tensors that cuda_means_cpu calls CUDA's cannot be "
                    "traced; take CPU tensors inside of wb.triton(inductor=True), or TORCHDYNAMO_DISABLE=1"
                ) from error

        return called

    return compiling


class _Stream:
    """A stream on which everything has ended."""

    cuda_stream = stream_id = priority = 0
    device = torch.device("cuda", 0)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Stream)

    def __hash__(self) -> int:
        return self.cuda_stream

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def is_capturing(self) -> bool:
        return torch.cuda.is_current_stream_capturing()

    wait_stream = wait_event = record_event = lambda self, *_: None


class _Chosen(contextlib.nullcontext[None]):
    """`torch.cuda.device` and `StreamContext` with one GPU: types, since PyTorch tests for them."""

    idx = 0

    def __init__(self, *_: Any) -> None:
        super().__init__()


@contextlib.contextmanager
def cuda_is_cpu(device: Device) -> Iterator[None]:
    """In a `with` block, `device="cuda"` gives CPU tensors, and `torch.cuda` describes `device`."""
    properties = device.properties
    unit = targets.target(device.arch)
    digits = device.arch.removeprefix("gfx")
    facts = SimpleNamespace(
        name=str(properties["name"]),
        gcnArchName=str(properties["gcnArchName"]),
        multi_processor_count=int(properties["multiProcessorCount"]),
        max_threads_per_multi_processor=int(properties["maxThreadsPerMultiProcessor"]),
        max_threads_per_block=int(properties["maxThreadsPerBlock"]),
        regs_per_multiprocessor=int(properties["regsPerBlock"]),
        total_memory=int(properties["totalGlobalMem"]),
        L2_cache_size=int(properties["l2CacheSize"]),
        clock_rate=int(properties["clockRate"]),
        memory_clock_rate=int(properties["memoryClockRate"]),
        memory_bus_width=int(properties["memoryBusWidth"]),
        warp_size=int(unit.wave_size),
        shared_memory_per_block=int(unit.lds_bytes),
        shared_memory_per_multiprocessor=int(unit.lds_bytes),
        is_integrated=0,
        is_multi_gpu_board=0,
        major=int(digits[:-2]),
        minor=int(digits[-2]),
    )
    answers = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda *_: None,
        "get_device_properties": lambda *_: facts,
        "get_device_name": lambda *_: facts.name,
        "get_device_capability": lambda *_: (facts.major, facts.minor),
        "synchronize": lambda *_: None,
        "empty_cache": lambda: None,
        "device": _Chosen,
        "device_of": _Chosen,
        "stream": lambda *_: contextlib.nullcontext(),
        "StreamContext": _Chosen,
        "current_stream": lambda *_: _Stream(),
        "default_stream": lambda *_: _Stream(),
        "set_stream": lambda *_: None,
        "Stream": _Stream,
        "ExternalStream": _Stream,
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "set_rng_state": lambda state, *_: torch.set_rng_state(state),
        "manual_seed": torch.default_generator.manual_seed,
        "manual_seed_all": torch.default_generator.manual_seed,
    }
    accelerator = {
        "current_accelerator": lambda *_, **__: torch.device("cuda"),
        "current_device_index": lambda: 0,
        "set_device_index": lambda *_: None,
        "device_index": _Chosen,
        **{
            name: answers[name]
            for name in ("is_available", "device_count", "current_stream", "set_stream", "synchronize")
        },
    }
    with Patches() as patches:
        for name, answer in answers.items():
            patches.replace(torch.cuda, name, answer)
        # PyTorch has it since 2.6, and more of it in each version.
        general = getattr(torch, "accelerator", None)
        for name, answer in accelerator.items():
            if hasattr(general, name):
                patches.replace(general, name, answer)
        # Attributes of the classes that Python sees; PyTorch's C++ does not use them.
        place = torch.device("cuda", 0)

        def located(kind: type) -> property:
            inner = kind.device.__get__  # type: ignore[attr-defined]

            def located_device(tensor: Any) -> torch.device:
                real: torch.device = inner(tensor)
                return place if real.type == "cpu" else real

            return property(located_device)

        patches.replace(torch.Tensor, "is_cuda", property(lambda tensor: tensor.device.type == "cuda"))
        for tensor_kind in (torch.Tensor, FakeTensor):
            patches.replace(tensor_kind, "device", located(tensor_kind))
        patches.replace(FakeTensor, "_normalize_fake_device", staticmethod(_host))
        patches.replace(torch.version, "hip", ".".join(map(str, hip_version())))
        patches.replace(torch, "compile", _naming_what_fails(torch.compile))
        for maker, name in _makers():
            patches.replace(maker, name, _on_host(getattr(maker, name)))
        for owner in (torch.Tensor, torch.nn.Module):
            patches.replace(owner, "to", _by_index(owner.to))
        patches.replace(defaults, "DeviceContext", _Default)
        patches.replace(torch, "load", _from_file(torch.load))
        # Worker processes of a DataLoader collate batches in it.
        shared = staticmethod(_on_host(torch.UntypedStorage._new_shared))
        patches.replace(torch.UntypedStorage, "_new_shared", shared)
        # Tensors that wrap another are made with the device that the other claims.
        for name in ("_make_subclass", "_make_wrapper_subclass"):
            patches.replace(torch.Tensor, name, staticmethod(_on_host(getattr(torch.Tensor, name))))
        methods: dict[str, Callable[..., Any]] = {
            "cuda": lambda tensor, *_, **__: tensor,
            "get_device": lambda _: 0,
            "pin_memory": lambda tensor, *_: tensor.clone(),
            "record_stream": lambda *_: None,
        }
        for name, method in methods.items():
            patches.replace(torch.Tensor, name, method)
        patches.replace(torch, "device", DeviceType)
        patches.enter_context(autocast_reaches_cpu())
        patches.enter_context(products_with_out_dtype())
        yield
