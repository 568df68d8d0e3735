"""`torch.compile` inside `wb.triton(inductor=True)`: inductor's Triton code for CPU tensors, emulated.

Inductor can write Triton for tensors of the CPU (`cpu_backend = "triton"`). The emulated device answers its
queries, so the code is that of an AMD GPU.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from workbench.errors import WorkbenchError
from workbench.patches import Patches
from workbench.runtime import Device
from workbench.triton_driver.benchmark import quietly_modelled


@contextlib.contextmanager
def inductor_is_triton(device: Device) -> Iterator[None]:
    """Functions that `torch.compile` compiles in a `with` block launch Triton's kernels on `device`.

    Raises:
        WorkbenchError: this PyTorch's inductor lacks the setting.
    """
    import torch

    try:
        from torch._inductor import config
        from torch._inductor.runtime import triton_helpers
        from torch._inductor.runtime.benchmarking import Benchmarker
        from torch._inductor.runtime.hints import DeviceProperties
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner

        settings = config.patch(
            cpu_backend="triton",
            compile_threads=1,
            use_static_triton_launcher=False,
            # Keys of inductor's caches say that the device is a CPU, not which GPU it represents.
            force_disable_caches=True,
        )
        device_properties = _properties(DeviceProperties, device)
    except (ImportError, AttributeError, TypeError) as error:
        raise WorkbenchError(
            f"inductor of PyTorch {torch.__version__} cannot write Triton for an emulated device "
            f"({error}); expected PyTorch 2.13, or compile without inductor=True"
        ) from None

    def create(_class: type, asked: torch.device) -> Any:
        return device_properties if asked.type == "cpu" else original_create(asked)

    def benchmark(_self: Any, fn: Any, fn_args: Any = None, fn_kwargs: Any = None, **_: Any) -> float:
        milliseconds = quietly_modelled(functools.partial(fn, *(fn_args or ()), **(fn_kwargs or {})))
        # The time of PyTorch's own operator is unknown: it is never chosen as the fastest.
        return math.inf if math.isnan(milliseconds) else milliseconds

    def benchmark_cpu(_self: Any, fn: Any, *_: Any, **__: Any) -> float:
        return benchmark(_self, fn)

    original_create = DeviceProperties.create
    interface = SimpleNamespace(
        current_device=lambda: 0,
        set_device=lambda _: None,
        exchange_device=lambda _: 0,
        maybe_exchange_device=lambda _: 0,
        synchronize=lambda *_: None,
        get_raw_stream=lambda _: 0,
    )
    # Code compiled for another device must not be used for this one, nor this one's code afterwards.
    torch._dynamo.reset()
    with Patches() as patches:
        patches.callback(torch._dynamo.reset)
        patches.enter_context(settings)
        for owner, name, value in (
            (DeviceProperties, "create", classmethod(create)),
            (triton_helpers, "set_driver_to_gpu", lambda: None),
            (triton_helpers, "set_driver_to_cpu", lambda: None),
            (CachingAutotuner, "get_device_interface", lambda _: interface),
            (Benchmarker, "benchmark", benchmark),
            (Benchmarker, "benchmark_cpu", benchmark_cpu),
        ):
            patches.replace(owner, name, value)
        yield


def _properties(kind: Any, device: Device) -> Any:
    properties = device.properties
    return kind(
        type="hip",
        index=0,
        multi_processor_count=int(properties["multiProcessorCount"]),
        cc=device.arch,
        major=int(properties["major"]),
        regs_per_multiprocessor=2 * int(properties["regsPerBlock"]),
        max_threads_per_multi_processor=int(properties["maxThreadsPerMultiProcessor"]),
        max_threads_per_block=int(properties["maxThreadsPerBlock"]),
        warp_size=int(properties["warpSize"]),
    )
