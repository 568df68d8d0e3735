"""What a call costs beside the device's work, in milliseconds: medians and 10% quantiles.

    python tests/benchmarks/call_overhead.py [--runs 300] [--device emulated:gfx950]
    python tests/benchmarks/call_overhead.py --beside TREE    # another checkout, in turns with this one

"call" is the whole call from Python, "HIP" the part of it from hipModuleLaunchKernel to the kernel's end. The
rest is ours: binding, allocating outputs, packing arguments. Goals on a quiet core: 0.1 ms for a bare launch,
0.2 ms for rmsnorm of 64 x 128.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

import workbench as wb
from workbench.kernel import recording
from workbench.launches import LaunchRecord
from workbench.runtime import Device, device

BARE = '#include "hip/hip_runtime.h"\n__global__ void nothing(float *x) {}\n'
TURNS = 12
"""How often each of two checkouts has its turn."""

Case = tuple[str, Callable[[], object], Callable[[], Sequence[LaunchRecord]]]
"""Its name, the call, and a call of the same kind that gives the records of its launches."""


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


def cases(where: Device) -> Iterator[Case]:
    """A bare launch, and operators as specs and as operators of PyTorch."""
    kernel = wb.compile(BARE, arch=where.arch)["nothing"]
    x = torch.ones(64, device=where.torch_device)
    records: list[LaunchRecord] = []

    def bare() -> None:
        records[:] = [kernel[1, 64](x)]

    yield "bare launch, one pointer", bare, lambda: records
    for name, shape in (
        ("normalization/rmsnorm", {"rows": 64, "cols": 128}),
        ("activations/softmax", {"rows": 64, "cols": 128}),
        ("gemm/bf16", {"m": 64, "n": 64, "k": 64}),
    ):
        spec = wb.kernels[name]
        inputs = spec.make_inputs(shape, device=where)
        overload = spec.operator.overload
        again = lambda spec=spec, inputs=inputs: spec.run(inputs)[1]  # noqa: E731
        yield name, lambda spec=spec, inputs=inputs: spec(**inputs), again
        yield f"{name}, torch.ops", lambda call=overload, inputs=inputs: call(**inputs), again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--device", default="emulated:gfx950")
    parser.add_argument("--beside", type=Path, help="root of another checkout")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.beside is not None:
        beside(options.beside, options.device, options.runs)
        return
    where = device(options.device)
    if options.serve:
        serve(where, options.runs)
        return
    print(f"{'':36} {'call':>8} {'10%':>8} {'HIP':>8} {'between':>8}   ms, {options.runs} runs")
    for name, call, record in cases(where):
        print(row(name, *measure(call, record, options.runs)))
    if importlib.util.find_spec("triton") is not None:
        print(row("Triton's launch, one pointer", *of_triton(where.name, options.runs)))


def serve(where: Device, runs: int) -> None:
    """For each line that comes, a line of seconds of each case's calls."""
    made = list(cases(where))
    for _ in sys.stdin:
        found = {name: measure(call, lambda: (), runs)[0] for name, call, _ in made}
        print(json.dumps(found), flush=True)


def beside(other: Path, name: str, runs: int) -> None:
    """Prints what calls cost in another checkout and here, measured in turns, and how often less here."""
    command = [sys.executable, str(Path(__file__).resolve()), "--serve", "--device", name]
    command += ["--runs", str(max(runs // TURNS, 10))]
    trees = (other.resolve(), Path(__file__).resolve().parents[2])
    servers = [
        subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for tree in trees
    ]
    seconds: list[dict[str, list[float]]] = [{}, {}]
    for _ in range(TURNS):
        for server, found in zip(servers, seconds, strict=True):
            assert server.stdin is not None
            assert server.stdout is not None
            print(file=server.stdin, flush=True)
            for case, calls in json.loads(server.stdout.readline()).items():
                found.setdefault(case, []).extend(calls)
    for server in servers:
        server.communicate()
    print(f"{'':36} {'there':>8} {'10%':>8} {'here':>8} {'10%':>8} {'times':>8}   ms, {TURNS} turns")
    for case in seconds[1]:
        (a, b), (c, d) = (
            (statistics.median(s[case]), statistics.quantiles(s[case], n=10)[0]) for s in seconds
        )
        print(f"{case:36} {a * 1e3:8.3f} {b * 1e3:8.3f} {c * 1e3:8.3f} {d * 1e3:8.3f} {b / d:8.2f}")


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
