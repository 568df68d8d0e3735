"""Verify, time, profile, panel and report on a small spec of the test's own, on both emulated targets."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

import workbench as wb
from workbench import kernel as kernel_module
from workbench.errors import ArgumentError, ShapeError, UsageError
from workbench.origin import Origin

SOURCE = """#include <hip/hip_runtime.h>
__global__ __launch_bounds__(64) void rowsum(const float *x, float *out, float factor) {
  float total = 0;
  for (int i = threadIdx.x; i < COLS; i += 64) total += x[blockIdx.x * COLS + i];
  __shared__ float kept[64];
  kept[threadIdx.x] = total;
  __syncthreads();
  for (int step = 32; step; step /= 2) {
    if (threadIdx.x < step) kept[threadIdx.x] += kept[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = kept[0] * factor;
}
"""
BROKEN = SOURCE.replace("* factor", "* factor + (blockIdx.x == 3)")
UNWRITTEN = SOURCE.replace("threadIdx.x == 0", "threadIdx.x == 0 && blockIdx.x != 2")
OVERWRITES = SOURCE.replace("const float *x", "float *x").replace(
    "float total = 0;", "float total = 0; x[0] = 0;"
)


def shape_of(x, factor):
    if x.dim() != 2:
        raise ShapeError(f"tests/rowsum: x has shape {tuple(x.shape)}; expected two dimensions")
    return {"rows": x.shape[0], "cols": x.shape[1]}


@pytest.fixture(scope="module")
def spec():
    return wb.KernelSpec(
        name="tests/rowsum",
        source=SOURCE,
        entry="rowsum",
        parameters={"rows": wb.Range(1, 512, doc="rows of x"), "cols": wb.Choice((64, 128, 512))},
        shapes=[{"rows": 8, "cols": 128}, {"rows": 3, "cols": 512}],
        inputs=lambda shape, generator: {"x": torch.randn(shape["rows"], shape["cols"], generator=generator)},
        outputs=lambda shape, inputs: {"out": ((shape["rows"],), torch.float32)},
        reference=lambda x, factor=0.5: x.sum(-1) * factor,
        launch=lambda shape, arch: wb.Launch(shape["rows"], 64),
        shape_of=shape_of,
        define=lambda shape, arch: {"COLS": shape["cols"]},
        flops=lambda shape: shape["rows"] * shape["cols"],
        bytes=lambda shape: 4 * shape["rows"] * (shape["cols"] + 1),
        published=[wb.Published({"rows": 8, "cols": 128}, 3.0, "us", "MI355X", "someone", "a page")],
        doc="Sums of rows.",
    )


def test_a_spec_is_called_on_tensors(spec):
    x = torch.randn(5, 128)
    out = spec(x)
    torch.testing.assert_close(out, x.sum(-1) * 0.5)
    buffer = torch.zeros(5)
    assert spec(x, factor=2.0, out=buffer) is buffer
    torch.testing.assert_close(buffer, x.sum(-1) * 2)
    with pytest.raises(ShapeError, match="cols is 100; supported is one of 64, 128, 512"):
        spec(torch.randn(5, 100))
    with pytest.raises(ShapeError, match="expected two dimensions"):
        spec(torch.randn(5))
    with pytest.raises(ArgumentError, match=r"output 'out' is \(4,\)"):
        spec(x, out=torch.zeros(4))
    with pytest.raises(ArgumentError, match="has no output 'uot'"):
        spec(x, uot=buffer)
    with pytest.raises(ArgumentError, match="'x' is a float64 tensor; expected float32"):
        spec(x.double())


def test_wrong_arguments_name_the_expected_ones(spec):
    shape = {"rows": 8, "cols": 64}
    for function in (wb.verify, wb.time, wb.profile, wb.sanitize):
        with pytest.raises(ShapeError, match=r"the shape is \(8, 64\); expected a dict such as {'rows': 1, "):
            function(spec, shape=(8, 64))
        with pytest.raises(UsageError, match="seed is 'x'; expected an integer of 64 bits"):
            function(spec, shape=shape, seed="x")
    with pytest.raises(ArgumentError, match=r"tests/rowsum\(x, factor=0.5\): there is no argument 'shap'"):
        wb.time(spec, shap=shape)
    with pytest.raises(UsageError, match=r"verify: shapes is \[\]; expected a list of at least one shape"):
        wb.verify(spec, shapes=[])
    with pytest.raises(UsageError, match=r"verify: shapes is {'rows': 8, 'cols': 64}; expected a list"):
        wb.verify(spec, shapes=shape)
    for other in ({"shape": shape}, {"inputs": {"x": torch.ones(8, 64)}}):
        with pytest.raises(UsageError, match=f"verify: shapes and {next(iter(other))} are given"):
            wb.verify(spec, shapes=[shape], **other)
    for shapes in ([], 3, shape, "all"):
        with pytest.raises(UsageError, match=r"sweep: shapes is .*; expected a list of at least one shape"):
            wb.sweep(spec, shapes)
    kernel = spec.kernel(shape)
    for function in (wb.sweep, wb.panel, wb.dashboard):
        with pytest.raises(UsageError, match="got a Kernel; expected a KernelSpec, or the name of one"):
            function(kernel)
    for got in ([1.0], None):
        with pytest.raises(UsageError, match=f"'got' is a {type(got).__name__}; expected a torch tensor"):
            wb.compare(got, torch.ones(1))
    with pytest.raises(UsageError, match="the path is a Kernel; expected a file's path, then the items"):
        wb.report(kernel)


def test_an_array_in_place_of_a_tensor():
    with pytest.raises(ArgumentError, match=r"'a' is a ndarray; expected a torch tensor; wrap .*from_numpy"):
        wb.kernels["gemm/bf16"](np.ones((4, 4)), np.ones((4, 4)))


def test_one_module_for_equal_macros(spec):
    assert spec.module({"rows": 1, "cols": 64}) is spec.module({"rows": 9, "cols": 64})
    assert spec.module({"cols": 64}) is not spec.module({"cols": 128})


def test_a_header_that_changed_is_compiled_anew(tmp_path, spec):
    (tmp_path / "sign.cuh").write_text("#pragma once\n#define SIGN 1\n")
    (tmp_path / "kernel.cpp").write_text(
        '#include "sign.cuh"\n' + SOURCE.replace("* factor", "* SIGN * factor")
    )
    here = dataclasses.replace(spec, source="kernel.cpp", folder=tmp_path)
    x = torch.ones(2, 64)
    assert here(x)[0] == 32
    module = here.module({"cols": 64})
    assert here.module({"cols": 64}) is module
    (tmp_path / "sign.cuh").write_text("#pragma once\n#define SIGN -1\n")
    assert here(x)[0] == -32
    assert here.module({"cols": 64}) is not module


@pytest.mark.parametrize("device", ["emulated:gfx950", "emulated:gfx942"])
def test_verify_all_shapes(spec, device):
    results = wb.verify(spec, shapes="all", device=device)
    assert results.passed, str(results)
    assert [r.device for r in results] == [device] * 2
    assert results[0].outputs["out"].flash_passed is True
    assert results[0].check() is results[0]
    assert "✓ passed" in results._repr_html_()


def test_verify_seeds(spec):
    first, again = wb.verify(spec, seed=5), wb.verify(spec, seed=5)
    assert first.max_error == again.max_error
    assert first.seed == 5


def test_verify_another_kernel_finds_what_is_wrong(spec):
    def check(source):
        return wb.verify(wb.compile(source, define={"COLS": 128}), spec)

    assert check(SOURCE).passed
    result = check(BROKEN)
    assert not result.passed
    assert result.first[0].index == (3,)
    assert result.mismatches == 1
    result = check(UNWRITTEN)
    assert result.outputs["out"].unwritten == 1
    assert not result.passed
    result = check(OVERWRITES)
    assert result.inputs_changed == ("x",)
    assert not result.passed
    with pytest.raises(UsageError, match="alone; expected a spec with it"):
        wb.verify(wb.compile(SOURCE, define={"COLS": 128}))


def test_profile_counts_exactly(spec):
    result = wb.profile(spec, shape={"rows": 8, "cols": 128})
    counters = {name: figure.value for name, figure in result.counters.items()}
    assert counters["SQ_WAVES"] == 8
    assert counters["SQ_INSTS_SENDMSG"] == 8
    assert counters["SQ_INSTS_MFMA"] == 0
    # Each wave reads 128 floats in two instructions of 64 lanes, and one lane writes one.
    assert result.record.counters["global_bytes_read"] == 8 * 128 * 4
    assert counters["bytes_written"] == 8 * 4
    assert counters["SQ_INSTS_VMEM_WR"] == 8
    assert counters["SQ_INSTS_LDS"] >= 8 * 13
    assert result["SQ_WAVES"].origin is Origin.COUNTED
    assert result.time.origin is Origin.MODELLED
    assert "counted" in result._repr_html_()
    assert {figure.text for figure in result.figure.layout.annotations} >= {"counted", "modelled"}
    # Counts grow with the rows, exactly.
    double = wb.profile(spec, shape={"rows": 16, "cols": 128})
    assert double["SQ_INSTS_VALU"].value == 2 * counters["SQ_INSTS_VALU"]


def test_lines_add_up(spec):
    result = wb.profile(spec)
    instructions = sum(sum(line.classes.values()) for line in result.lines.values())
    assert 0 < instructions <= result["SQ_INSTS"].value


def test_time_forms(spec):
    result = wb.time(spec)
    assert result.origin is Origin.MODELLED
    assert result.model.bound_text
    assert "modelled" in str(result)
    kernel = wb.compile(SOURCE, define={"COLS": 128})["rowsum"]
    x, out = torch.randn(8, 128), torch.zeros(8)
    assert wb.time(kernel[8, 64], x, out, 0.5).median.value == pytest.approx(result.median.value)
    torch.testing.assert_close(out, x.sum(-1) * 0.5)
    kernel[8, 64](x, out, 0.5)
    assert wb.time(kernel).median.value == pytest.approx(result.median.value)
    assert wb.time(kernel, spec=spec).shape == {"rows": 8, "cols": 128}
    assert wb.time(spec, x).shape == {"rows": 8, "cols": 128}
    with pytest.raises(UsageError, match="needs a grid and a block"):
        wb.time(wb.compile(SOURCE, define={"COLS": 64})["rowsum"])


def test_sweep_and_its_figure(spec):
    seen = []
    results = wb.sweep(spec, each=seen.append)
    assert list(results) == seen
    figure = results.figure
    assert {trace.name for trace in figure.data} == {
        "emulated:gfx950 (modelled)",
        "someone MI355X (published)",
    }


def test_panel_runs_and_updates_in_place(spec):
    panel = wb.panel(spec)
    assert set(panel.controls) == {"rows", "cols"}
    panel.run()
    assert len(panel.figures["timeline"].data[0].y) == 1
    assert max(panel.figures["breakdown"].data[0].x) > 0
    assert "modelled" in panel.status.value
    panel.controls["rows"].value = 300
    panel.controls["cols"].value = 512
    panel.run()
    timeline = panel.figures["timeline"].data[0]
    assert len(timeline.y) == 2
    assert timeline.marker.symbol == "circle"  # verified
    assert "rows=300, cols=512" in timeline.text[1]
    panel.close()


def test_wide_ranges_get_chosen_stops():
    from workbench.views.controls import slider_values

    assert slider_values(wb.Range(8, 100, step=8), [24, 7]) == [8, 16, 24, 32, 64, 96]


def test_panel_shows_errors(spec):
    import dataclasses

    def check(shape, arch):
        raise ShapeError("no shape is good enough")

    panel = wb.panel(dataclasses.replace(spec, check=check))
    panel.run()
    assert "no shape is good enough" in panel.status.value
    assert [f.text for f in panel.board.failures] == ["no shape is good enough"]
    assert panel.figures["timeline"].data[0].text[0].endswith("no shape is good enough")
    panel.close()


def test_report(spec, tmp_path):
    page = wb.report(tmp_path / "demo.html", wb.verify(spec), wb.sweep(spec), wb.profile(spec)).read_text()
    for text in (
        "verify: tests/rowsum",
        "time: tests/rowsum",
        "SQ_WAVES",
        "counted",
        "modelled",
        "published",
    ):
        assert text in page


def test_default_device_follows_the_environment(spec, monkeypatch):
    monkeypatch.setenv("HIPKITTENS_DEVICE", "emulated:gfx942")
    assert kernel_module.default_arch() == "gfx942"
    assert wb.verify(spec).device == "emulated:gfx942"


def test_the_version(capsys):
    from workbench.__main__ import main

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"{project['name']} {project['version']}\n"


def test_command_line(capsys):
    from workbench.__main__ import main

    assert main(["doctor"]) == 0
    assert "compiler" in capsys.readouterr().out
    assert main(["devices"]) == 0
    assert re.search(r"default +emulated:gfx950 ", capsys.readouterr().out)
    assert main(["run", "no/such"]) == 2
    assert "no kernel is named 'no/such'" in capsys.readouterr().err


def test_the_cache_from_a_shell(capsys, monkeypatch, tmp_path):
    from workbench import cache
    from workbench.__main__ import main

    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path))
    cache.Cache("things").put("a", bytes(3 << 20))
    assert main(["cache"]) == 0
    head, things, limit = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head == ["kept", "entries", "size"]
    assert things == ["things", "1", "3.0", "MiB"]
    assert limit == ["limit", "4,096", "MiB", "in", str(tmp_path)]
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == "freed 3.0 MiB\n"
    assert not cache.Cache("things").usage().entries
