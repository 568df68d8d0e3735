"""`sweep`: times of an operator over shapes, in this process or on a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from workbench.bench.engine import Engine, Task
from workbench.events import hub
from workbench.kernel import resolve_device
from workbench.operators import KernelSpec, Shape, kernels, shape_text, spec_of
from workbench.profile import SweepResult, TimeResult, time, timing
from workbench.progress import bar
from workbench.runtime import Device
from workbench.runtime.registry import device as device_named


def sweep(
    target: KernelSpec | str,
    shapes: Sequence[Shape] | None = None,
    *,
    seed: int = 0,
    device: Device | str | None = None,
    each: Callable[[TimeResult], None] | None = None,
    cluster: Any = None,
    seconds: float = 1800.0,
) -> SweepResult:
    """Times a spec over several shapes, its own unless you give others.

    On a cluster, a shape that fails, hangs or kills its worker is left out with a warning, and the others
    continue; in this process it raises an error, as for `time`.

    Args:
        target: a spec, or its name; for a cluster one of the library.
        shapes: problems by parameter name; a missing parameter takes its default.
        seed, device: see `time`.
        each: called with each result as it comes, for live figures.
        cluster: None for this process; "local" for one worker process per core; a number of processes; the
            address of a Dask scheduler, "tcp://node1:8786"; or a cluster or client of `dask.distributed`. On
            GPUs, workers take one shape at a time by the resource "GPU".
        seconds: time limit of one shape on a cluster.

    Raises:
        ShapeError: the kernel does not support one of the shapes.
        UnknownKernel: no kernel has that name.
        UsageError: `target` is not a spec, or there are no shapes.
        WorkbenchError: no scheduler answers, or Dask is not installed.
    """
    if cluster is None:
        return timing.sweep(target, shapes, seed=seed, device=device, each=each)
    spec = spec_of(target, "sweep")
    name = kernels[spec.name].name
    where = resolve_device(device)
    full = [spec.shape(shape, arch=where.arch) for shape in (spec.shapes if shapes is None else shapes)]
    engine = Engine(cluster, seconds=seconds, resources={} if where.observes else {"GPU": 1})
    tasks = {shape_text(shape): Task(shape_text(shape), (name, shape, seed, where.name)) for shape in full}
    results: dict[str, TimeResult] = {}
    with bar(f"time {name}", len(tasks)) as advance:
        for outcome in engine.run(_timed, list(tasks.values())):
            advance(f"time {name}")
            hub.publish("progress", name, {"done": len(results) + 1, "total": len(tasks)})
            if outcome.failure:
                warnings.warn(f"sweep: {name} ({outcome.key}): {outcome.failure}", stacklevel=2)
                continue
            results[outcome.key] = outcome.value
            if each is not None:
                each(outcome.value)
    result = SweepResult(name, [results[key] for key in tasks if key in results], spec.published)
    hub.publish("sweep", name, result)
    return result


def _timed(name: str, shape: Shape, seed: int, device: str) -> TimeResult:
    """The time of one shape, without the parts that cannot be pickled."""
    return timing.compact(time(kernels[name], shape=shape, seed=seed, device=device_named(device)))
