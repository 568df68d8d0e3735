"""What a call costs beside the device's work, in milliseconds: medians and 10% quantiles.

    python tests/benchmarks/call_overhead.py [--runs 300] [--device emulated:gfx950]

"call" is the whole call from Python, "HIP" the part of it from hipModuleLaunchKernel to the kernel's end. The
rest is ours: binding, allocating outputs, packing arguments.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence

import torch

import workbench as wb
from workbench.kernel import recording
from workbench.launches import LaunchRecord
from workbench.runtime import device

BARE = '#include "hip/hip_runtime.h"\n__global__ void nothing(float *x) {}\n'


def measure(
    call: Callable[[], object], record: Callable[[], Sequence[LaunchRecord]], runs: int
) -> tuple[list[float], list[float]]:
    """Seconds of each call, and of what HIP took in calls of the same kind."""
    for _ in range(20):
        call()
    calls, inside = [], []
    for _ in range(runs):
        started = time.perf_counter()
        call()
        calls.append(time.perf_counter() - started)
        inside.append(sum(each.wall_seconds for each in record()))
    return calls, inside


def row(name: str, calls: list[float], inside: list[float]) -> str:
    call, hip = statistics.median(calls) * 1e3, statistics.median(inside) * 1e3
    least = statistics.quantiles(calls, n=10)[0] * 1e3
    return f"{name:36} {call:8.3f} {least:8.3f} {hip:8.3f} {call - hip:8.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--device", default="emulated:gfx950")
    options = parser.parse_args()
    where = device(options.device)
    print(f"{'':36} {'call':>8} {'10%':>8} {'HIP':>8} {'between':>8}   ms, {options.runs} runs")

    kernel = wb.compile(BARE, arch=where.arch)["nothing"]
    x = torch.ones(64, device=where.torch_device)
    records: list[LaunchRecord] = []

    def bare() -> None:
        records[:] = [kernel[1, 64](x)]

    print(row("bare launch, one pointer", *measure(bare, lambda: records, options.runs)))
    for name, shape in (
        ("normalization/rmsnorm", {"rows": 64, "cols": 128}),
        ("activations/softmax", {"rows": 64, "cols": 128}),
        ("gemm/bf16", {"m": 64, "n": 64, "k": 64}),
    ):
        spec = wb.kernels[name]
        inputs = spec.make_inputs(shape, device=where)
        overload = spec.operator.overload
        for label, call in (
            (name, lambda spec=spec, inputs=inputs: spec(**inputs)),
            (f"{name}, torch.ops", lambda overload=overload, inputs=inputs: overload(**inputs)),
        ):
            again = lambda spec=spec, inputs=inputs: spec.run(inputs)[1]  # noqa: E731
            print(row(label, *measure(call, again, options.runs)))
    if importlib.util.find_spec("triton") is not None:
        print(row("Triton's launch, one pointer", *of_triton(where.name, options.runs)))


def of_triton(name: str, runs: int) -> tuple[list[float], list[float]]:
    """The same for a kernel of Triton that does nothing, launched through its driver of the device."""
    import triton

    @triton.jit
    def idle(x):  # type: ignore[no-untyped-def]
        pass

    with wb.triton(name), recording() as made:
        launch, x = idle[(1,)], torch.ones(64)
        return measure(lambda: launch(x), lambda: [made[-1][1].record], runs)


if __name__ == "__main__":
    main()
