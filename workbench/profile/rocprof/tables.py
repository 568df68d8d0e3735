"""Reads rocprofv3's CSV files by column name, whatever version wrote them.

ROCm 6 and 7 order and name the columns of kernel_trace.csv differently, write an agent as an integer or as
"Agent 2", and give counters in long form: one row for each dispatch and counter.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workbench.codeobject.names import instance_name
from workbench.errors import ProfilerError


@dataclass(frozen=True)
class Agent:
    """A processor of agent_info.csv.

    Attributes:
        node: id of the node, used by the other files.
        kind: "GPU" or "CPU".
        name: name, such as "gfx950".
        columns: every column by its name.
    """

    node: int
    kind: str
    name: str
    columns: Mapping[str, str] = field(repr=False, default_factory=dict)


@dataclass
class Dispatch:
    """One launch as the profiler recorded it.

    Attributes:
        dispatch: number of the dispatch in its process; its correlation id if the file has no other.
        agent: id of the agent, None if the file does not say.
        kernel: name of the kernel.
        grid: work-items, all dimensions multiplied.
        workgroup: work-items of a work-group, likewise.
        lds, scratch: bytes; None if the file does not say.
        vgprs, agprs, sgprs: registers; None if the file does not say.
        start, end: nanoseconds of the profiler's clock.
        counters: values by counter name; a counter with several rows (one per XCD or channel) is summed.
        process: id of the process; None if the file does not say.
        path: file that it was read from.
    """

    dispatch: int
    agent: int | None
    kernel: str
    grid: int
    workgroup: int
    lds: int | None
    scratch: int | None
    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    start: int
    end: int
    counters: dict[str, float] = field(default_factory=dict)
    process: int | None = None
    path: Path | None = None

    @property
    def microseconds(self) -> float:
        return (self.end - self.start) / 1e3


# Every name that a column has had; the first one in a file is used.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "dispatch": ("Dispatch_Id", "Correlation_Id"),
    "agent": ("Agent_Id", "GPU_ID", "gpu-id"),
    "kernel": ("Kernel_Name", "KernelName"),
    "grid": ("Grid_Size",),
    "workgroup": ("Workgroup_Size",),
    "lds": ("LDS_Block_Size", "Group_Segment_Size", "LDS_Per_Workgroup"),
    "scratch": ("Scratch_Size", "Private_Segment_Size", "Scratch_Per_Workitem"),
    "vgprs": ("VGPR_Count", "Arch_VGPR"),
    "agprs": ("Accum_VGPR_Count", "Accum_VGPR"),
    "sgprs": ("SGPR_Count", "SGPR"),
    "start": ("Start_Timestamp", "BeginNs"),
    "end": ("End_Timestamp", "EndNs"),
    "process": ("Process_Id",),
    "counter": ("Counter_Name",),
    "value": ("Counter_Value",),
    "node": ("Node_Id",),
    "kind": ("Agent_Type",),
    "name": ("Name",),
    "instruction": ("Instruction",),
    "address": ("Vaddr",),
    "hits": ("Hitcount",),
    "latency": ("Latency",),
    "stall": ("Stall",),
    "idle": ("Idle",),
}


class Row:
    """One row, with its values by meaning."""

    def __init__(self, path: Path, line: int, values: Mapping[str, str]) -> None:
        self.path, self.line, self.values = path, line, values

    def text(self, key: str) -> str:
        for column in _COLUMNS[key]:
            value = self.values.get(column)
            if value is not None:
                return value
        raise ProfilerError(
            f"{self.path}: no column {' or '.join(_COLUMNS[key])}; it has {', '.join(self.values)}. "
            "Was the file written with --output-format csv by rocprofv3 of ROCm 6.2 or later?"
        )

    def maybe(self, key: str) -> int | None:
        value = next((self.values[c] for c in _COLUMNS[key] if self.values.get(c)), None)
        return None if value is None else self._number(key, value)

    def number(self, key: str) -> int:
        return self._number(key, self.text(key))

    def _number(self, key: str, value: str) -> int:
        match = re.fullmatch(r"\s*(?:Agent\s+)?(-?\d+)(?:\.0*)?\s*", value)
        if match is None:
            raise ProfilerError(
                f"{self.path}, line {self.line}: {_COLUMNS[key][0]} is {value!r}; expected an integer"
            )
        return int(match.group(1))

    def float(self, key: str) -> float:
        try:
            return float(self.text(key))
        except ValueError:
            raise ProfilerError(
                f"{self.path}, line {self.line}: {_COLUMNS[key][0]} is {self.text(key)!r}; expected a number"
            ) from None

    def product(self, key: str) -> int:
        """Grid_Size, or Grid_Size_X * Grid_Size_Y * Grid_Size_Z if the file has those."""
        axes = [self.values.get(f"{_COLUMNS[key][0]}_{axis}") for axis in "XYZ"]
        if axes[0] is None:
            return self.number(key)
        total = 1
        for value in axes:
            total *= self._number(key, value or "1")
        return total


def rows(path: Path) -> Iterator[Row]:
    """Rows of a CSV file of rocprofv3.

    Raises:
        ProfilerError: the file cannot be read, or is empty.
    """
    try:
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is None:
                raise ProfilerError(f"{path} is empty; did the profiled process launch a kernel?")
            for values in reader:
                yield Row(path, reader.line_num, {k: v for k, v in values.items() if k is not None})
    except OSError as error:
        raise ProfilerError(f"{path} cannot be read: {error.strerror}") from error


def read_agents(path: str | Path) -> list[Agent]:
    """Processors of an agent_info.csv.

    Raises:
        ProfilerError: the file cannot be read, or lacks a column.
    """
    return [
        Agent(row.number("node"), row.text("kind"), row.text("name"), dict(row.values))
        for row in rows(Path(path))
    ]


def read_kernel_trace(path: str | Path) -> list[Dispatch]:
    """Dispatches of a kernel_trace.csv, in the file's order; both of rocprofv3's layouts.

    Raises:
        ProfilerError: the file cannot be read, lacks a column, or has text in place of a number.
    """
    return [_dispatch(row) for row in rows(Path(path))]


def read_counters(path: str | Path) -> list[Dispatch]:
    """Dispatches of a counter_collection.csv with their counters, in the file's order.

    Raises:
        ProfilerError: see `read_kernel_trace`.
    """
    dispatches: dict[tuple[int | None, int], Dispatch] = {}
    for row in rows(Path(path)):
        key = (row.maybe("process"), row.number("dispatch"))
        dispatch = dispatches.get(key)
        if dispatch is None:
            dispatch = dispatches[key] = _dispatch(row)
        name = row.text("counter")
        dispatch.counters[name] = dispatch.counters.get(name, 0.0) + row.float("value")
    return list(dispatches.values())


def _dispatch(row: Row) -> Dispatch:
    return Dispatch(
        row.number("dispatch"),
        row.maybe("agent"),
        row.text("kernel"),
        row.product("grid"),
        row.product("workgroup"),
        row.maybe("lds"),
        row.maybe("scratch"),
        row.maybe("vgprs"),
        row.maybe("agprs"),
        row.maybe("sgprs"),
        row.number("start"),
        row.number("end"),
        process=row.maybe("process"),
        path=row.path,
    )


def files(folder: str | Path, kind: str, form: str = "csv") -> list[Path]:
    """Files below a folder that rocprofv3 wrote of a kind: "counter_collection", "kernel_trace", ..."""
    return sorted(Path(folder).rglob(f"*{kind}.{form}"))


def of_kernel(dispatches: Iterable[Dispatch], *names: str) -> list[Dispatch]:
    """Dispatches whose kernel has one of the names: mangled, demangled with or without its parameters.

    The profiled process launches other kernels too, such as PyTorch's copies.
    """
    instances = {instance_name(name) for name in names}
    return [d for d in dispatches if d.kernel in names or instance_name(d.kernel) in instances]
