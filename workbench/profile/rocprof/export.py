"""Writes a profile in rocprofv3's CSV layout, so that tools that read rocprofv3's files read ours."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.kernel import Resources
from workbench.launches import LaunchRecord
from workbench.origin import Figure, Origin
from workbench.targets import Product

COUNTER_COLUMNS = (
    "Correlation_Id",
    "Dispatch_Id",
    "Agent_Id",
    "Queue_Id",
    "Process_Id",
    "Thread_Id",
    "Grid_Size",
    "Kernel_Id",
    "Kernel_Name",
    "Workgroup_Size",
    "LDS_Block_Size",
    "Scratch_Size",
    "VGPR_Count",
    "Accum_VGPR_Count",
    "SGPR_Count",
    "Counter_Name",
    "Counter_Value",
    "Start_Timestamp",
    "End_Timestamp",
)
"""Columns of counter_collection.csv, as ROCm 7's rocprofv3 writes them."""

TRACE_COLUMNS = (
    "Kind",
    "Agent_Id",
    "Queue_Id",
    "Stream_Id",
    "Thread_Id",
    "Dispatch_Id",
    "Kernel_Id",
    "Kernel_Name",
    "Correlation_Id",
    "Start_Timestamp",
    "End_Timestamp",
    "LDS_Block_Size",
    "Scratch_Size",
    "VGPR_Count",
    "Accum_VGPR_Count",
    "SGPR_Count",
    "Workgroup_Size_X",
    "Workgroup_Size_Y",
    "Workgroup_Size_Z",
    "Grid_Size_X",
    "Grid_Size_Y",
    "Grid_Size_Z",
)
"""Columns of kernel_trace.csv."""

AGENT_COLUMNS = (
    "Node_Id",
    "Logical_Node_Id",
    "Agent_Type",
    "Simd_Count",
    "Lds_Size_In_Kb",
    "Wave_Front_Size",
    "Num_Xcc",
    "Cu_Count",
    "Simd_Per_Cu",
    "Max_Engine_Clk_Fcompute",
    "Max_Waves_Per_Simd",
    "Name",
    "Vendor_Name",
    "Product_Name",
    "Model_Name",
)
"""The part of agent_info.csv that is known for a modelled GPU."""

_AGENT = 1


def write(
    folder: str | Path,
    record: LaunchRecord,
    resources: Resources,
    counters: Mapping[str, Figure],
    time: Figure,
    machine: Product,
    name: str = "",
) -> list[Path]:
    """Writes NAME_counter_collection.csv, NAME_kernel_trace.csv, NAME_agent_info.csv and NAME_origin.json.

    On an emulated device the times of the trace are modelled; readers of CSV do not expect another column, so
    the JSON file has the origin of each figure.

    Args:
        folder: folder; it is created if missing.
        record, resources: the launch, and its kernel's resources.
        counters: figures by rocprof's names; lower-case ones, our own, appear only in the JSON file.
        time: time of the launch, in microseconds.
        machine: the GPU, emulated or not.
        name: prefix of the files; if empty, the process id as in rocprofv3.

    Returns:
        paths of the files.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    prefix = name or str(os.getpid())
    # A name in lower case is our own: readers of rocprofv3's files do not know it.
    official = {key: figure for key, figure in counters.items() if key[:1].isupper()}
    common = _dispatch(record, resources, time)
    rows = [{**common, "Counter_Name": k, "Counter_Value": float(f.value)} for k, f in official.items()]
    origin = {
        "note": "times and counters of a GPU kernel that ran on an emulated device, where the origin says so",
        "device": record.device,
        "time": {"origin": str(time.origin), "source": time.source},
        "counters": {k: {"origin": str(f.origin), "source": f.source} for k, f in official.items()},
        "not in the CSV": {
            k: {"value": f.value, "unit": f.unit, "origin": str(f.origin)}
            for k, f in counters.items()
            if k not in official
        },
    }
    agent = _agent(machine, record.device, time.origin)
    paths = [
        _table(place / f"{prefix}_counter_collection.csv", COUNTER_COLUMNS, rows),
        _table(place / f"{prefix}_kernel_trace.csv", TRACE_COLUMNS, [common]),
        _table(place / f"{prefix}_agent_info.csv", AGENT_COLUMNS, [agent]),
        place / f"{prefix}_origin.json",
    ]
    paths[-1].write_text(json.dumps(origin, indent=1))
    return paths


def _dispatch(record: LaunchRecord, resources: Resources, time: Figure) -> dict[str, Any]:
    """Columns of a launch by name, of both tables."""
    columns: dict[str, Any] = {
        "Correlation_Id": 1,
        "Dispatch_Id": 1,
        "Agent_Id": f"Agent {_AGENT}",
        "Queue_Id": 1,
        "Process_Id": os.getpid(),
        "Thread_Id": os.getpid(),
        "Stream_Id": 0,
        "Kernel_Id": 1,
        "Kernel_Name": record.kernel,
        "Kind": "KERNEL_DISPATCH",
        "LDS_Block_Size": resources.lds + record.dynamic_shared,
        "Scratch_Size": resources.scratch,
        "VGPR_Count": resources.vgprs,
        "Accum_VGPR_Count": resources.agprs,
        "SGPR_Count": resources.sgprs,
        "Workgroup_Size": math.prod(record.block),
        "Grid_Size": math.prod(record.block) * math.prod(record.grid),
        "Start_Timestamp": 0,
        "End_Timestamp": round(time.value * 1e3),
    }
    for axis, block, grid in zip("XYZ", record.block, record.grid, strict=True):
        columns[f"Workgroup_Size_{axis}"] = block
        columns[f"Grid_Size_{axis}"] = block * grid
    return columns


def _agent(machine: Product, device: str, origin: Origin) -> dict[str, Any]:
    return {
        "Node_Id": _AGENT,
        "Logical_Node_Id": _AGENT,
        "Agent_Type": "GPU",
        "Simd_Count": machine.compute_units * machine.target.simds,
        "Lds_Size_In_Kb": machine.target.lds_bytes >> 10,
        "Wave_Front_Size": machine.target.wave_size,
        "Num_Xcc": machine.xcds,
        "Cu_Count": machine.compute_units,
        "Simd_Per_Cu": machine.target.simds,
        "Max_Engine_Clk_Fcompute": machine.clock_hz // 10**6,
        "Max_Waves_Per_Simd": machine.target.waves_per_simd,
        "Name": machine.arch,
        "Vendor_Name": "AMD",
        "Product_Name": machine.name if origin is Origin.MEASURED else f"{machine.name}, emulated",
        "Model_Name": device,
    }


def _table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", quoting=csv.QUOTE_NONNUMERIC)
        writer.writeheader()
        writer.writerows(rows)
    return path
