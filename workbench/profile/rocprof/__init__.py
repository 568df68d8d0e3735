"""Hardware counters of a GPU through rocprofv3: run it on a replay of a launch, read and write its files."""

from workbench.profile.rocprof.instructions import InstructionCost, read_pc_samples, read_thread_trace
from workbench.profile.rocprof.run import RocprofResult, collect, find_tool, groups
from workbench.profile.rocprof.tables import Agent, Dispatch, read_agents, read_counters, read_kernel_trace

__all__ = [
    "Agent",
    "Dispatch",
    "InstructionCost",
    "RocprofResult",
    "collect",
    "find_tool",
    "groups",
    "read_agents",
    "read_counters",
    "read_kernel_trace",
    "read_pc_samples",
    "read_thread_trace",
]
