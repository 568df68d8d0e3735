"""`cuda_means_cpu`: for libraries that were written for a GPU and name it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from workbench import targets
from workbench.runtime import Device


def _host(value: Any) -> Any:
    """The CPU, where a value names a GPU; the value itself where it doesn't."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return "cpu"
    return value


class _HostTensors(TorchFunctionMode):
    """Makes every tensor on the CPU that would be made on, or moved to, a GPU."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if function is torch.Tensor.cuda:
            return args[0]
        if function is torch.Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return True
        given = {key: _host(value) for key, value in (kwargs or {}).items() if key != "pin_memory"}
        return function(*map(_host, args), **given)


class _Stream:
    """A stream on which everything has ended."""

    cuda_stream = 0

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def synchronize(self) -> None:
        pass

    wait_stream = wait_event = record_event = lambda self, *_: None


@contextlib.contextmanager
def cuda_is_cpu(device: Device) -> Iterator[None]:
    """`device="cuda"` gives CPU tensors, and `torch.cuda` answers for `device`, inside of a `with` block."""
    told = device.properties
    unit = targets.target(device.arch)
    digits = device.arch.removeprefix("gfx")
    facts = SimpleNamespace(
        name=str(told["name"]),
        gcnArchName=str(told["gcnArchName"]),
        multi_processor_count=int(told["multiProcessorCount"]),
        total_memory=int(told["totalGlobalMem"]),
        warp_size=int(unit.wave_size),
        shared_memory_per_block=int(unit.lds_bytes),
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
        "device": lambda *_: contextlib.nullcontext(),
        "stream": lambda *_: contextlib.nullcontext(),
        "current_stream": lambda *_: _Stream(),
        "Stream": lambda *_, **__: _Stream(),
        "manual_seed": torch.manual_seed,
        "manual_seed_all": torch.manual_seed,
    }
    with contextlib.ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        stack.enter_context(mock.patch.object(torch.version, "hip", "emulated"))
        stack.enter_context(_HostTensors())
        yield
