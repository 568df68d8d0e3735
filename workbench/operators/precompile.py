"""Instances compiled before they are called: in parallel, and stored in the compiler's cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from workbench.operators.implementation import PreparedStep
from workbench.operators.parameters import Shape, shape_text
from workbench.progress import track
from workbench.toolchain import cpu


@dataclass(frozen=True)
class Instance:
    """One compiled instance of an operator.

    Attributes:
        name: name of the operator.
        shape, arch: shape and target of the compilation.
        kernels: names of its kernels, in launch order.
        seconds: duration of the compilation; small if the result came from the cache.
    """

    name: str
    shape: Shape
    arch: str
    kernels: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        kernels = ", ".join(self.kernels)
        return f"{self.name} ({shape_text(self.shape)}) for {self.arch}: {kernels}, {self.seconds:.1f} s"


@dataclass(frozen=True)
class Job:
    """An instance that is to be compiled by `build`."""

    name: str
    shape: Shape
    arch: str
    build: Callable[[], Sequence[PreparedStep]]


def compile_all(jobs: Iterable[Job], workers: int | None) -> list[Instance]:
    """Compiles instances in parallel, in as many compilers as there are processors, or in `workers`.

    Raises:
        CompileError: one does not compile; the others have been compiled.
    """
    listed = list(jobs)

    def build(job: Job) -> Instance:
        started = time.perf_counter()
        kernels = tuple(step.kernel.name for step in job.build())
        return Instance(job.name, job.shape, job.arch, kernels, time.perf_counter() - started)

    processors = cpu.usable_processors()
    with ThreadPoolExecutor(
        workers or cpu.usable_cores(), initializer=cpu.use_processors, initargs=(processors,)
    ) as pool:
        futures = [pool.submit(build, job) for job in listed]
        for future in track(futures, "compile", total=len(futures)):
            future.exception()
    return [future.result() for future in futures]
