"""Runs of rocprofv3: a stand-in script for the tool, the real replay on the emulated device."""

from __future__ import annotations

import ctypes
import stat
import sys
import textwrap

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.errors import (
    CounterRejected,
    ProfilerError,
    ProfilerNotFound,
    ProfilerPermission,
    ProfilerTimeout,
)
from workbench.operators.launch_target import resolve
from workbench.profile import rocprof
from workbench.profile.profiler import _measured
from workbench.profile.rocprof import replay

# Acts as rocprofv3 as far as this project needs it: runs the program, then writes CSV files.
STAND_IN = """
#!{python}
import csv, json, pathlib, subprocess, sys
arguments = sys.argv[1:]
cut = arguments.index("--")
options, program = arguments[:cut], arguments[cut + 1:]
assert options[options.index("--output-format") + 1] == "csv", options
folder = pathlib.Path(options[options.index("-d") + 1]) / "host"
name = options[options.index("-o") + 1]
counters = []
if "--pmc" in options:
    for option in options[options.index("--pmc") + 1:]:
        if option.startswith("-"):
            break
        counters.append(option)
{before}
done = subprocess.run({program})
if done.returncode:
    sys.exit(done.returncode)
folder.mkdir(parents=True, exist_ok=True)
launch = json.loads((pathlib.Path(program[3]) / "launch.json").read_text())
common = dict(Dispatch_Id=2, Agent_Id="Agent 2", Kernel_Name="twice(float*, float const*, int)",
              Grid_Size=512,
              Workgroup_Size=256, LDS_Block_Size=0, Scratch_Size=0, VGPR_Count=4, Accum_VGPR_Count=0,
              SGPR_Count=16, Correlation_Id=2, Start_Timestamp=100, End_Timestamp=4100)
copy = dict(common, Dispatch_Id=1, Kernel_Name="__amd_rocclr_copyBuffer", End_Timestamp=200)
def write(kind, rows):
    with open(folder / (name + "_" + kind + ".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), quoting=csv.QUOTE_NONNUMERIC)
        writer.writeheader()
        writer.writerows(rows)
if "--kernel-trace" in options:
    repeat = int(program[program.index("--repeat") + 1])
    write("kernel_trace", [copy] + [dict(common, Dispatch_Id=2 + i, End_Timestamp=4100 + 1000 * (i % 3))
                                    for i in range(repeat)])
if counters:
    write("counter_collection", [dict(row, Counter_Name=c, Counter_Value=float(len(c)))
                                 for row in (copy, common) for c in counters])
write("agent_info", [dict(Node_Id=2, Agent_Type="GPU", Name="gfx950")])
"""


def install(folder, monkeypatch, *, before="", program="program", **tools):
    text = STAND_IN.format(python=sys.executable, before=textwrap.dedent(before), program=program)
    tools = {"rocprofv3": text, **tools}
    for name, source in tools.items():
        path = folder / name
        path.write_text(source.lstrip())
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("ROCM_PATH", raising=False)


def test_counters_in_passes(tmp_path, monkeypatch, target):
    install(tmp_path, monkeypatch)
    names = [f"TCC_{n}" for n in "ABCDEF"] + ["SQ_WAVES"]
    result = rocprof.collect(target, names, folder=tmp_path / "run")
    assert result.counters == {name: float(len(name)) for name in names}
    # Four of TCC at a time, and a pass for times alone.
    assert [p.counters for p in result.passes] == [(), (*names[:4], "SQ_WAVES"), tuple(names[4:6])]
    assert "--kernel-trace" in result.passes[0].command
    assert all("--output-format csv" in p.shown for p in result.passes)
    assert result.median == 5.0
    assert len(result.microseconds) == 20
    assert result.changed == []
    assert result.agent.name == "gfx950"
    assert (result.folder / "pass1" / "log.txt").exists()


def test_a_profile_of_a_gpu(tmp_path, monkeypatch, target):
    install(tmp_path, monkeypatch)
    result = _measured(target, ["SQ_WAVES", "TCC_HIT_sum", "TCC_MISS_sum"])
    assert result["SQ_WAVES"].origin is wb.Origin.MEASURED
    assert result.time.value == 5.0
    assert result.time.origin is wb.Origin.MEASURED
    hits = result.metrics["L2 hit rate"].figure
    assert hits.value == pytest.approx(100 * 11 / 23)
    assert hits.origin is wb.Origin.MEASURED
    assert result.metrics["LDS conflict rate"].figure is None
    assert "LDS conflict rate: not collected" in str(result)
    page = result._repr_html_()
    assert "not collected" in page
    assert "--pmc SQ_WAVES TCC_HIT_sum TCC_MISS_sum" in page
    assert result.timing.median.value == 5.0
    assert result.figure is not None


def test_groups_ask_the_tool(tmp_path, monkeypatch):
    install(
        tmp_path,
        monkeypatch,
        **{"rocprofv3-avail": f"#!{sys.executable}\nimport sys\nsys.exit(len(sys.argv) - 2 > 2)\n"},
    )
    assert rocprof.groups(["A", "B", "A", "C", "D", "E"]) == [["A", "B"], ["C", "D"], ["E"]]


def test_no_tool(tmp_path, monkeypatch, target):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    with pytest.raises(ProfilerNotFound, match=r"rocprofv3 was not found on PATH.*rocprofiler-sdk"):
        rocprof.collect(target, ["SQ_WAVES"])


@pytest.mark.parametrize(
    ("output", "error", "message"),
    [
        ("open /dev/kfd: Permission denied", ProfilerPermission, "perf_event_paranoid=1.*--device=/dev/kfd"),
        ("Unable to find counter SQ_WAVE", CounterRejected, r"refused SQ_WAVE: Unable.*rocprofv3-avail list"),
        ("Request exceeds the capabilities of the hardware", CounterRejected, "refused SQ_WAVE"),
        ("Segmentation fault", ProfilerError, "ended with code 3: Segmentation fault.*log.txt"),
    ],
)
def test_what_the_tool_says(tmp_path, monkeypatch, target, output, error, message):
    install(tmp_path, monkeypatch, before=f"print({output!r})\nsys.exit(3)")
    with pytest.raises(error, match=message) as caught:
        rocprof.collect(target, ["SQ_WAVE"], trace=False, folder=tmp_path / "run")
    assert type(caught.value) is error
    assert "--pmc SQ_WAVE" in str(caught.value)


def test_a_counter_without_a_value(tmp_path, monkeypatch, target):
    install(tmp_path, monkeypatch, before="counters = counters[:1]")
    with pytest.raises(CounterRejected, match="no value of SQ_BUSY"):
        rocprof.collect(target, ["SQ_WAVES", "SQ_BUSY"], trace=False, folder=tmp_path / "run")


def test_timeout(tmp_path, monkeypatch, target):
    install(tmp_path, monkeypatch, before="import time\ntime.sleep(60)")
    with pytest.raises(ProfilerTimeout, match=r"stopped after 0\.5 s.*timeout="):
        rocprof.collect(target, ["SQ_WAVES"], trace=False, folder=tmp_path / "run", timeout=0.5)


def test_counters_that_the_gpu_lacks_are_skipped(tmp_path, monkeypatch, target):
    refuse = """
        if "SQ_NOT" in counters:
            print("Unable to find counter")
            sys.exit(1)
        """
    install(tmp_path, monkeypatch, before=refuse)
    result = rocprof.collect(target, ["SQ_NOT"], trace=False, folder=tmp_path / "run", skip_rejected=True)
    assert (result.counters, result.rejected) == ({}, ["SQ_NOT"])


def test_a_tool_that_runs_nothing(tmp_path, monkeypatch, target):
    install(tmp_path, monkeypatch, program='[sys.executable, "-c", ""]')
    with pytest.raises(ProfilerError, match="did not run to its end"):
        rocprof.collect(target, ["SQ_WAVES"], trace=False, folder=tmp_path / "run")


def test_replay_of_a_kernel_that_reads_its_output(tmp_path, module):
    """The replay starts from the inputs of the original launch, not from its results."""
    values = torch.arange(64, dtype=torch.int32)
    target = resolve(module["count"][1, 64], (values,), device="emulated:gfx950")
    saved = replay.save(target, tmp_path)
    assert torch.equal(values, torch.arange(64, dtype=torch.int32) + 2)
    assert replay.main([str(tmp_path), "--repeat", "3"]) == 0
    assert replay.compare(saved) == []
    wrong = replay.Saved(tmp_path, saved.kernel, {"0": "another digest"})
    assert replay.compare(wrong) == ["0"]


def test_arguments_of_every_kind_are_replayed(tmp_path):
    class Pair(ctypes.Structure):
        _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float))

    source = """#include <hip/hip_runtime.h>
    struct pair { int a; float b; };
    struct box { int *out; int values[2]; };
    __global__ void all(box g, pair p, pair q, short s, double d, unsigned char c, bool flag, float *none) {
      if (threadIdx.x == 0 && !none) {
        g.out[0] = p.a + q.a + s + c + flag + g.values[0] * g.values[1];
        g.out[1] = int(p.b + q.b + d);
      }
    }"""
    out = torch.zeros(2, dtype=torch.int32)
    kernel = wb.compile(source, arch="gfx950")["all"]
    target = resolve(
        kernel[1, 64],
        (
            {"out": out, "values": np.array([6, 7])},
            Pair(1, 2.0),
            bytes(Pair(10, 20.0)),
            np.int16(100),
            np.float64(0.5),
            ctypes.c_uint8(200),
            True,
            None,
        ),
        device="emulated:gfx950",
    )
    saved = replay.save(target, tmp_path)
    assert out.tolist() == [1 + 10 + 100 + 200 + 1 + 42, 22]
    replay.replay(tmp_path)
    assert replay.compare(saved) == []


def test_a_folder_with_code_in_its_arguments_runs_none(tmp_path, module, capsys):
    class Code:
        def __reduce__(self):
            return exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",)

    values = torch.zeros(64, dtype=torch.int32)
    replay.save(resolve(module["count"][1, 64], (values,), device="emulated:gfx950"), tmp_path)
    torch.save({"args": [Code()], "kwargs": {}}, tmp_path / replay.ARGUMENTS)
    assert replay.main([str(tmp_path)]) == 1
    assert "holds no saved launch" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_an_argument_that_no_file_holds(target):
    with pytest.raises(ProfilerError, match="argument '0' is a object, which cannot be saved"):
        replay._kept(target.kernel, "0", object())


def test_replay_without_a_launch(tmp_path, capsys):
    assert replay.main([str(tmp_path)]) == 1
    assert "holds no saved launch" in capsys.readouterr().err


def test_round_trip_of_an_emulated_profile(tmp_path, target):
    result = wb.profile(target.kernel[2, 256], torch.zeros(512), torch.ones(512), 512)
    counters, trace, agents, origin = result.to_rocprof_csv(tmp_path, "x")
    (read,) = rocprof.read_counters(counters)
    assert read.counters == {k: f.value for k, f in result.counters.items() if k[0].isupper()}
    assert (read.grid, read.workgroup, read.agent) == (512, 256, 1)
    (traced,) = rocprof.read_kernel_trace(trace)
    assert traced.microseconds == pytest.approx(result.time.value, abs=1e-3)
    assert traced.kernel == read.kernel == result.record.kernel
    assert rocprof.read_agents(agents)[0].name == "gfx950"
    assert '"origin": "modelled"' in origin.read_text()


def test_counters_by_name_on_an_emulated_device(target):
    result = wb.profile(
        target.kernel[2, 256], torch.zeros(512), torch.ones(512), 512, counters=["SQ_WAVES", "GRBM_COUNT"]
    )
    assert list(result.counters) == ["SQ_WAVES"]
    assert result["SQ_WAVES"].value == 8
    assert result.missing == ("GRBM_COUNT",)
    assert "not collected: GRBM_COUNT" in str(result)
