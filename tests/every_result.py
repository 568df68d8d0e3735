"""A result of each type of the package, from a small kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

import workbench as wb
from workbench.bench.compare import Regressions
from workbench.bench.results import Result
from workbench.bench.run import BenchResult
from workbench.bench.tuning import TuneResult
from workbench.check.results import VerifyResults
from workbench.exercises.definition import Hint
from workbench.exercises.results import CheckResult
from workbench.history.changes import Changes
from workbench.kernel.program import ProgramResult
from workbench.kernel.show import ShownValues
from workbench.profile.rocprof import RocprofResult
from workbench.profile.timing import SweepResult
from workbench.toolchain.hipify import hipify
from workbench.toolchain.host import HostResult
from workbench.views.cell import CellResult

SOURCE = """#include <hip/hip_runtime.h>
__global__ void twice(const float *x, float *out) {
    __shared__ float store[64];
    store[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = 2 * store[63 - threadIdx.x];
}
"""


def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x.flip(0)


SHOWING = """#include "kittens.cuh"
__global__ void scale(const float *x, float *out) {
    const float scaled = 2 * x[threadIdx.x];
    kittens::show(scaled);
    out[threadIdx.x] = scaled;
}
"""


def _shown() -> ShownValues:
    kernel = wb.compile(SHOWING, arch="gfx950", name="scale.hip", show=True)["scale"]
    values = kernel[1, 64](torch.arange(64.0), torch.zeros(64)).shown
    assert values is not None
    return values


def every_result() -> dict[str, Any]:
    """Results by the name of their type."""
    module = wb.compile(SOURCE, arch="gfx950", name="twice.hip")
    compiled = module.result
    assert compiled is not None
    launcher, device = module["twice"][1, 64], wb.device("emulated:gfx950")
    x, out = torch.arange(64, dtype=torch.float32), torch.zeros(64)
    verified = wb.verify(twice, twice, inputs={"x": x})
    timed = wb.time(launcher, x, out, device=device)
    host = HostResult(
        library=Path("twice.so"),
        key="key",
        options=compiled.options,
        diagnostics=compiled.diagnostics,
        seconds=1.0,
        compile_seconds=2.0,
        cached=True,
        command=compiled.command,
        compiler=compiled.compiler,
        standard_library="the system's",
        source=SOURCE,
    )
    with wb.profile_step(device) as step:
        launcher(x, out)
    # Its times come from its launches, which a copy with replaced texts lacks.
    assert step.times
    results = (
        compiled,
        host,
        verified,
        VerifyResults([verified]),
        timed,
        SweepResult("twice", [timed, timed], ()),
        (profiled := wb.profile(launcher, x, out, device=device)),
        profiled.advice,
        profiled.stalls,
        wb.profile("normalization/rmsnorm_backward", shape={"rows": 4, "cols": 128}, device=device),
        wb.sanitize(launcher, x, out, device=device),
        wb.xcd_map(launcher, x, out, device=device),
        wb.view_layout("rt_bf<16, 32>", arch="gfx950"),
        wb.doctor(),
        ProgramResult("twice.cpp", "out", "", 0, 1.0, device.name),
        hipify("cudaError_t e;\n__nanosleep(1);\n"),
        RocprofResult(Path("folder"), {"SQ_WAVES": 1.0}, [2.5], None, None, (), ()),
        launcher(x, out),
        CheckResult("04.1", False, "the keys behind the last whole block are missing", {"keys": 70}),
        Hint(1, "How many blocks does the loop see?"),
        (values := _shown()),
        values.of("scaled"),
        Changes("1", "2", (None, None), (("device", "a", "b"),), (), (), ()),
        (bench := Result("a/b", {"n": 1}, "ours", device.name, "MI355X", us=1.0)),
        BenchResult([bench]),
        Regressions([], 0.03, ["a/b n=1"], []),
        TuneResult("a/b", device, (), {}, {}, 0.0),
        CellResult("twice", module, device, {"twice": module["twice"]}, [timed, verified]),
        step,
    )
    return {type(result).__name__: result for result in results}
