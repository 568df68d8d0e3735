"""rocprofv3's files: real ones, and both layouts of the kernel trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import ProfilerError
from workbench.profile.rocprof.tables import (
    of_kernel,
    read_agents,
    read_counters,
    read_kernel_trace,
)

DATA = Path(__file__).parent / "data"

OLD = (
    '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp",'
    '"End_Timestamp","Private_Segment_Size","Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y",'
    '"Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
    '"KERNEL_DISPATCH",4,1,10,"void add<float>(float*, int)",7,1000,3500,16,512,64,2,1,640,4,1\n'
)
NEW = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count",'
    '"Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z",'
    '"Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
    '"KERNEL_DISPATCH","Agent 4",1,0,9,3,10,"void add<float>(float*, int)",7,1000,3500,512,16,24,4,32,'
    "64,2,1,640,4,1\n"
)


def test_real_counters():
    dispatches = read_counters(DATA / "ds_write_b64_counter_collection.csv")
    assert len(dispatches) == 3
    kernel = of_kernel(dispatches, "micro_tk")[0]
    assert kernel.counters == {"SQ_INSTS_LDS": 1.0, "SQ_LDS_BANK_CONFLICT": 60.0}
    assert (kernel.agent, kernel.grid, kernel.workgroup, kernel.vgprs, kernel.sgprs) == (2, 64, 64, 4, 16)
    assert kernel.microseconds == pytest.approx(1.799)
    assert kernel.process == 2334470
    other = of_kernel(read_counters(DATA / "ds_read_b64_phase_counter_collection.csv"), "micro_tk")
    assert [d.counters["SQ_LDS_BANK_CONFLICT"] for d in other] == [1.0]


def test_real_agents():
    agents = read_agents(DATA / "ds_write_b64_agent_info.csv")
    gpus = [a for a in agents if a.kind == "GPU"]
    assert len(gpus) == 8
    assert {a.name for a in gpus} == {"gfx950"}
    assert gpus[0].node == 2
    assert gpus[0].columns["Cu_Count"] == "256"


@pytest.mark.parametrize("text", [OLD, NEW], ids=["ROCm 6", "ROCm 7"])
def test_both_layouts_of_the_trace(tmp_path, text):
    path = tmp_path / "1_kernel_trace.csv"
    path.write_text(text)
    (dispatch,) = read_kernel_trace(path)
    assert (dispatch.agent, dispatch.kernel) == (4, "void add<float>(float*, int)")
    assert (dispatch.grid, dispatch.workgroup, dispatch.lds, dispatch.scratch) == (2560, 128, 512, 16)
    assert dispatch.microseconds == 2.5
    assert dispatch.dispatch == (7 if text is OLD else 3)
    assert dispatch.vgprs == (None if text is OLD else 24)


def test_rows_of_one_counter_are_summed(tmp_path):
    path = tmp_path / "x_counter_collection.csv"
    head = "Dispatch_Id,Agent_Id,Grid_Size,Kernel_Name,Workgroup_Size,Counter_Name,Counter_Value,"
    rows = [f"1,Agent 0,64,k,64,TCC_HIT,{v},5,6" for v in ("1.5", "2.500000e+00")]
    path.write_text(head + "Start_Timestamp,End_Timestamp\n" + "\n".join(rows))
    assert read_counters(path)[0].counters == {"TCC_HIT": 4.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; did the profiled process launch a kernel"),
        ("Dispatch_Id,Kernel_Name\n1,k\n", "no column Counter_Name|no column Grid_Size"),
        (OLD.replace(",7,1000", ",7,soon"), "line 2: Start_Timestamp is 'soon'; expected an integer"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, text, message):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(ProfilerError, match=message):
        read_kernel_trace(path)
    with pytest.raises(ProfilerError, match="cannot be read"):
        read_kernel_trace(tmp_path / "missing.csv")
