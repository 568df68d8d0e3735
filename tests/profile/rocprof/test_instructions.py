"""Costs of single instructions: files in the forms that rocprofv3 writes, made for a kernel's real code."""

from __future__ import annotations

import json
import stat
import sys

import pytest

from workbench.codeobject import printer
from workbench.errors import ProfilerError, UsageError
from workbench.profile import rocprof
from workbench.profile.profiler import _measured
from workbench.profile.rocprof.instructions import of_kernel, read_pc_samples, read_thread_trace

NAME = "twice(float*, float const*, int)"


def trace_of(module, head="CodeObj"):
    """A statistics file: an instruction's hits are its position in the kernel, its latency ten times that."""
    rows = [f"{head},Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source"]
    for name, signature in (("count", "count(int*)"), ("twice", NAME)):
        code = module[name].instructions
        rows.append(f'3,{code[0].address},"; {module[name].info.name}",0,0,0,0,"{signature}"')
        for i, instruction in enumerate(code, 1):
            rows.append(
                f'3,{instruction.address},"{printer.text(instruction)}",{i},{10 * i},{2 * i},{i},"k.cpp:{i}"'
            )
    return "\n".join(rows) + "\n"


def samples_of(module, method="stochastic"):
    """A PC sampling file: three samples at each instruction, two of them waiting, and one in other code."""
    code = module["twice"].instructions
    records = []
    for i, instruction in enumerate(code):
        for k in range(3):
            record = {
                "pc": {"code_object_id": 3, "code_object_offset": instruction.address},
                "dispatch_id": 2,
            }
            if method == "stochastic":
                reason = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT"
                record |= {"wave_issued": int(k == 0), "snapshot": {"stall_reason": reason}}
            records.append({"record": record, "inst_index": i})
    records.append(
        {"record": {"pc": {"code_object_id": 1, "code_object_offset": code[0].address}}, "inst_index": 0}
    )
    symbols = [
        {"code_object_id": 1, "kernel_name": "__amd_rocclr_copyBuffer.kd"},
        {"code_object_id": 3, "kernel_name": module["twice"].info.name + ".kd"},
    ]
    tool = {
        "kernel_symbols": symbols,
        "strings": {
            "pc_sample_instructions": [printer.text(instruction) for instruction in code],
            "pc_sample_comments": [],
        },
        "buffer_records": {f"pc_sample_{method}": records},
    }
    return json.dumps({"rocprofiler-sdk-tool": [tool]})


@pytest.mark.parametrize("head", ["CodeObj", "Codeobj"])
@pytest.mark.parametrize("mangled", [True, False])
def test_a_thread_trace(tmp_path, module, head, mangled):
    path = tmp_path / "stats_ui_output_agent_1_dispatch_2.csv"
    path.write_text(trace_of(module, head))
    kernel = module["twice"]
    costs = read_thread_trace(path, [kernel.info.name if mangled else "twice"])
    assert list(costs) == [instruction.address for instruction in kernel.instructions]
    second = costs[kernel.instructions[1].address]
    assert (second.hits, second.latency, second.stall, second.idle) == (2, 20, 4, 2)
    assert of_kernel(costs, kernel) == costs
    assert read_thread_trace(path, ["third"]) == {}


@pytest.mark.parametrize("method", ["stochastic", "host_trap"])
def test_samples(tmp_path, module, method):
    path = tmp_path / "pc_results.json"
    path.write_text(samples_of(module, method))
    kernel = module["twice"]
    costs = read_pc_samples(path, [kernel.info.name])
    assert list(costs) == [instruction.address for instruction in kernel.instructions]
    assert {cost.samples for cost in costs.values()} == {3}
    expected = {"WAITCNT": 2} if method == "stochastic" else {}
    assert all(cost.reasons == expected for cost in costs.values())


def test_files_of_other_forms(tmp_path):
    path = tmp_path / "x"
    for text, message in (
        ("[]", "TypeError"),
        ('{"rocprofiler-sdk-tool": [{}]}', "kernel_symbols"),
        ("", "JSON"),
    ):
        path.write_text(text)
        with pytest.raises(ProfilerError, match=message):
            read_pc_samples(path, ["twice"])
    path.write_text("CodeObj,Instruction\n1,; k\n1,s_nop 0\n")
    with pytest.raises(ProfilerError, match="no column Hitcount"):
        read_thread_trace(path, ["k"])
    path.write_text(
        "CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle\n1,0,; k,0,0,0,0\n1,8,s_nop 0,x,0,0,0\n"
    )
    with pytest.raises(ProfilerError, match="line 3: Hitcount is 'x'; expected an integer"):
        read_thread_trace(path, ["k"])


def test_costs_of_other_code(module):
    costs = {
        instruction.address: rocprof.InstructionCost("v_nop", hits=1)
        for instruction in module["twice"].instructions
    }
    with pytest.raises(ProfilerError, match=r"are not those of its code object.*recompiled"):
        of_kernel(costs, module["twice"])


def install(folder, monkeypatch, module, *, trace=None, samples=None, before=""):
    (folder / "stats.csv").write_text(trace if trace is not None else trace_of(module))
    (folder / "samples.json").write_text(samples if samples is not None else samples_of(module))
    tool = folder / "rocprofv3"
    tool.write_text(
        f"""#!{sys.executable}
import pathlib, shutil, subprocess, sys
options, program = sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
folder = pathlib.Path(options[options.index("-d") + 1]) / "host"
{before}
folder.mkdir(parents=True)
if done := subprocess.run(program).returncode:
    sys.exit(done)
here = pathlib.Path(__file__).parent
if "--att" in options:
    (folder / "ui_output_agent_1_dispatch_2").mkdir()
    shutil.copy(here / "stats.csv", folder / "stats_ui_output_agent_1_dispatch_2.csv")
if "--pc-sampling-method" in options:
    assert "json" in options
    shutil.copy(here / "samples.json", folder / "pc_results.json")
if "--kernel-trace" in options:
    (folder / "x_kernel_trace.csv").write_text("Dispatch_Id,Agent_Id,Kernel_Name,Grid_Size,Workgroup_Size,"
        "Start_Timestamp,End_Timestamp\\n2,2,twice,512,256,100,4100\\n")
"""
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("ROCM_PATH", raising=False)


def test_collected_together(tmp_path, monkeypatch, module, target):
    install(tmp_path, monkeypatch, module)
    result = _measured(target, [], thread_trace=True, pc_sampling=True)
    costs = result.rocprof.instructions
    assert list(costs) == [instruction.address for instruction in module["twice"].instructions]
    first = next(iter(costs.values()))
    assert (first.hits, first.latency, first.samples, first.reasons) == (1, 10, 3, {"WAITCNT": 2})
    assert [p.name for p in result.rocprof.thread_trace] == ["ui_output_agent_1_dispatch_2"]
    commands = [p.shown for p in result.rocprof.passes]
    assert any("--kernel-include-regex twice" in c for c in commands)
    assert any("--pc-sampling-method stochastic --pc-sampling-unit cycles" in c for c in commands)


@pytest.mark.parametrize(
    ("options", "overrides", "message"),
    [
        ({"thread_trace": True}, {"before": "sys.exit('rocprof-trace-decoder not found')"}, "/opt/rocm/lib"),
        (
            {"thread_trace": True},
            {"trace": "CodeObj,Vaddr,Instruction\n"},
            "no instruction of twice.*files: 1",
        ),
        ({"pc_sampling": True}, {"before": "sys.exit('PC sampling unsupported')"}, "'host_trap' ROCm 6.4"),
        (
            {"pc_sampling": "host_trap"},
            {"samples": '{"rocprofiler-sdk-tool": []}'},
            "no sample of twice.*larger shape",
        ),
    ],
)
def test_what_goes_wrong(tmp_path, monkeypatch, module, target, options, overrides, message):
    install(tmp_path, monkeypatch, module, **overrides)
    with pytest.raises(ProfilerError, match=message):
        rocprof.collect(target, trace=False, folder=tmp_path / "run", **options)


def test_an_unknown_method(target):
    with pytest.raises(
        UsageError, match="pc_sampling='often'; expected True or one of 'stochastic', 'host_trap'"
    ):
        rocprof.collect(target, pc_sampling="often")
