"""Hardware counters of a GPU through rocprofv3: run it on a replay of a launch, read and write its files."""

from workbench.profile.rocprof.run import RocprofResult, collect, find_tool, groups
from workbench.profile.rocprof.tables import Agent, Dispatch, read_agents, read_counters, read_kernel_trace

__all__ = [
    "Agent",
    "Dispatch",
    "RocprofResult",
    "collect",
    "find_tool",
    "groups",
    "read_agents",
    "read_counters",
    "read_kernel_trace",
]
