"""Results of every kind survive pickling, as notebooks and other processes hand them on."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.bench.compare import Regressions  # noqa: E402
from workbench.bench.results import Result  # noqa: E402
from workbench.bench.run import BenchResult  # noqa: E402
from workbench.bench.tuning import TuneResult  # noqa: E402
from workbench.check.results import VerifyResults  # noqa: E402
from workbench.history.changes import Changes  # noqa: E402
from workbench.kernel.program import ProgramResult  # noqa: E402
from workbench.profile.rocprof import RocprofResult  # noqa: E402
from workbench.profile.timing import SweepResult  # noqa: E402
from workbench.toolchain.host import HostResult  # noqa: E402
from workbench.views.cell import CellResult  # noqa: E402

ROOT = Path(__file__).parent.parent
SOURCE = """__global__ void twice(const float *x, float *out) {
    __shared__ float store[64];
    store[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = 2 * store[63 - threadIdx.x];
}
"""


def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x.flip(0)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """One of each kind, by the name of its type."""
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
    found = (
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
        RocprofResult(Path("folder"), {"SQ_WAVES": 1.0}, [2.5], None, None, (), ()),
        launcher(x, out),
        Changes("1", "2", (None, None), (("device", "a", "b"),), (), (), ()),
        (bench := Result("a/b", {"n": 1}, "ours", device.name, "MI355X", us=1.0)),
        BenchResult([bench]),
        Regressions([], 0.03, ["a/b n=1"], []),
        TuneResult("a/b", device, (), {}, {}, 0.0),
        CellResult("twice", module, device, {"twice": module["twice"]}, [timed, verified]),
    )
    return {type(result).__name__: result for result in found}


def named() -> Iterator[str]:
    """Classes of the package that are results: by their name, or because a notebook shows them."""
    for path in (ROOT / "workbench").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                if node.name.endswith(("Result", "Results")) or bases & {"Shown", "Plotted"}:
                    yield node.name


def test_every_kind_is_here(results: dict[str, Any]) -> None:
    # Modules and kernels are no results; tests/kernel/test_module.py pickles them. The catalogue is of specs,
    # and the history is a file, which the other process opens itself.
    others = {"Plotted", "Presented", "Module", "Kernel", "Kernels", "KernelRegistry", "Selection"}
    others |= {"History", "RecordedRun"}
    assert {*results} == {*named()} - others


def test_results_survive_pickling(results: dict[str, Any]) -> None:
    for name, result in results.items():
        again = pickle.loads(pickle.dumps(result))
        assert type(again) is type(result), name
        if name == "CellResult":
            assert (again.device, again.results) == (result.device, result.results)
            assert again.module.code == result.module.code
        elif name == "SweepResult":
            assert list(again) == list(result)
        else:
            assert str(again) == str(result), name


def test_a_profile_keeps_what_its_launch_asked_of_memory(results: dict[str, Any]) -> None:
    traffic = results["ProfileResult"].record.traffic
    again = pickle.loads(pickle.dumps(traffic))
    assert again.sites() == traffic.sites()
    assert any(site.lds_bytes for site in again.sites().values())
    assert (again.group_total, again.waves) == (1, 1)
    with pytest.raises(wb.errors.UsageError, match="the lines of this launch are not there any more"):
        again.replay(None, 1)
